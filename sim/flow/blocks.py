"""The blocks whose timing can be measured alone."""
from collections.abc import Callable

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.accumulator import Accumulator
from systolith.hw.activation_memory import ActivationMemory
from systolith.hw.array import SystolicArray
from systolith.hw.bus import Bus
from systolith.hw.chip import Chip
from systolith.hw.config import Config
from systolith.hw.control import Control
from systolith.hw.host import HostPort
from systolith.hw.interfaces import SystemPort, WeightWritePort
from systolith.hw.matrix import MatrixEngine
from systolith.hw.mover import Mover
from systolith.hw.vector.issue import Issue
from systolith.hw.vector.pipeline import Pipeline
from systolith.hw.vector.unit import VectorUnit
from systolith.hw.weight_memory import WeightMemory


class ArrayWithWeights(wiring.Component):
    """The array and the weight memory along it: where the multiply-accumulates are.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    activations, left_unsigned, load, sums
        Those of :class:`SystolicArray`.
    address : In(range(wgt_depth))
        Tile of weights, with ``load``.
    write, system
        Those of :class:`WeightMemory`.
    """

    def __init__(self, *, config):
        self._config = config
        self._array = SystolicArray(config=config)
        members = self._array.signature.members
        super().__init__({
            **{name: members[name] for name in ("activations", "left_unsigned", "load", "sums")},
            "address": In(range(config.wgt_depth)), "write": In(WeightWritePort(config)),
            "system": In(SystemPort(bus_bytes=config.bus_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = self._array
        m.submodules.weights = weights = WeightMemory(config=self._config)
        connect(m, flipped(self.write), weights.write)
        connect(m, flipped(self.system), weights.system)
        m.d.comb += [
            array.activations.eq(self.activations), array.left_unsigned.eq(self.left_unsigned),
            array.load.eq(self.load), weights.array.load.eq(self.load),
            weights.array.address.eq(self.address),
            *(array.weights[row].eq(word) for row, word in enumerate(weights.array.data)),
            *(ours.eq(theirs) for ours, theirs in zip(self.sums, array.sums, strict=True)),
        ]
        return m


#: Constructors of the blocks by the names that ``systolith timing`` knows.
BLOCKS: dict[str, Callable[[Config], wiring.Component]] = {
    "array": lambda config: ArrayWithWeights(config=config),
    "matrix": lambda config: MatrixEngine(config=config),
    "weights": lambda config: WeightMemory(config=config),
    "activations": lambda config: ActivationMemory(config=config),
    "accumulator": lambda config: Accumulator(config=config),
    "vector": lambda config: VectorUnit(config=config),
    "pipeline": lambda config: Pipeline(config=config),
    "issue": lambda config: Issue(config=config),
    "control": lambda config: Control(config=config),
    "mover": lambda config: Mover(config=config),
    "bus": lambda config: Bus(bus_bytes=config.bus_bytes,
                              read_latency=config.system_read_latency),
    "host": lambda config: HostPort(config=config),
    "chip": lambda config: Chip(config=config),
}
