"""The matrix side of a core, wired as in the core: engine and its three memories."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.accumulator import Accumulator
from systolith.hw.activation_memory import ActivationMemory
from systolith.hw.interfaces import (
    AccumulatorReadPort,
    ActivationWritePort,
    EnginePort,
    SystemPort,
    WeightWritePort,
    command_layout,
)
from systolith.hw.isa import Product
from systolith.hw.matrix import MatrixEngine
from systolith.hw.weight_memory import WeightMemory


class MatrixSide(wiring.Component):
    """Matrix engine with activation, weight and accumulator memory.

    Members: ``engine``; ``act``, ``wgt`` (writes of the vector unit), ``acc`` (its reads); and
    the system ports ``act_system``, ``wgt_system``, ``acc_system``.
    """

    def __init__(self, *, config):
        self._config = config
        self.matrix = MatrixEngine(config=config)
        system = SystemPort(bus_bytes=config.bus_bytes)
        super().__init__({
            "engine": In(EnginePort(command_layout(Product))),
            "act": In(ActivationWritePort(config)), "act_system": In(system),
            "wgt": In(WeightWritePort(config)), "wgt_system": In(system),
            "acc": In(AccumulatorReadPort(config)), "acc_system": In(system),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.matrix = matrix = self.matrix
        m.submodules.act_memory = act = ActivationMemory(config=self._config)
        m.submodules.wgt_memory = wgt = WeightMemory(config=self._config)
        m.submodules.acc_memory = acc = Accumulator(config=self._config)
        connect(m, flipped(self.engine), matrix.engine)
        connect(m, matrix.activations, act.array)
        connect(m, matrix.weights, wgt.array)
        connect(m, matrix.accumulators, acc.array)
        connect(m, flipped(self.act), act.write)
        connect(m, flipped(self.act_system), act.system)
        connect(m, flipped(self.wgt), wgt.write)
        connect(m, flipped(self.wgt_system), wgt.system)
        connect(m, flipped(self.acc), acc.read)
        connect(m, flipped(self.acc_system), acc.system)
        return m
