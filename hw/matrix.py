"""The matrix engine: executes product commands, one beat (``rows x cols`` MACs) a cycle."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from systolith.hw.accumulator import AccumulatorUpdate, sums_delay
from systolith.hw.array import SystolicArray
from systolith.hw.config import Config
from systolith.hw.interfaces import EnginePort, command_layout
from systolith.hw.isa import Product
from systolith.hw.memory import MemoryRead, operand_latency
from systolith.hw.product_loops import ProductLoops
from systolith.hw.weight_memory import WeightRead


class MatrixEngine(wiring.Component):
    """Loops, array, and the pipeline that leads each beat's address to the accumulators.

    A beat's activations and first row of weights are read in the cycle in which it is issued; its
    accumulators are written ``latency`` cycles later, and ``engine.retire`` pulses in the cycle of
    a command's last write, so the result is readable in the cycle after. There is no gap between
    beats, nor between commands. Errors: ``Cause.ZERO_LOOP``, ``Cause.ADDRESS``; beats issued
    before still complete.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    engine : In(EnginePort(command_layout(Product)))
        Commands from the sequencer.
    activations : Out(MemoryRead(act_depth, ArrayLayout(8, rows)))
        To :class:`ActivationMemory`.
    weights : Out(WeightRead)
        To :class:`WeightMemory`.
    accumulators : Out(AccumulatorUpdate)
        To :class:`Accumulator`.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        self._array = SystolicArray(config=config)
        super().__init__({
            "engine": In(EnginePort(command_layout(Product))),
            "activations": Out(MemoryRead(config.act_depth, data.ArrayLayout(8, config.rows))),
            "weights": Out(WeightRead(config)),
            "accumulators": Out(AccumulatorUpdate(config)),
        })

    @property
    def latency(self):
        """Cycles from a beat's issue to the write of its accumulators."""
        return self._config.matrix_latency

    @property
    def _address_delay(self):
        """Cycles from a beat's issue to its presentation to the accumulators."""
        return operand_latency(self._config) + self._array.latency - sums_delay(self._config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = self._array
        m.submodules.loops = loops = ProductLoops(config=self._config)
        connect(m, flipped(self.engine.command), loops.command)
        beat = loops.beat
        m.d.comb += [
            loops.halt.eq(self.engine.halt),
            self.engine.active.eq(loops.active), self.engine.stall.eq(loops.stall),
            self.engine.error.eq(loops.error), self.engine.cause.eq(loops.cause),
            self.activations.valid.eq(beat.valid), self.activations.address.eq(beat.act),
            self.weights.load.eq(beat.load), self.weights.address.eq(beat.wgt),
            array.activations.eq(self.activations.data),
        ]
        # Both memories answer so many cycles after the beat.
        late = operand_latency(self._config)
        loads, unsigned = (Signal(late, name=name, reset_less=name == "unsigned")
                           for name in ("loads", "unsigned"))
        m.d.sync += [loads.eq(Cat(beat.load, loads[:-1])),
                     unsigned.eq(Cat(beat.left_unsigned, unsigned[:-1]))]
        m.d.comb += [array.load.eq(loads[-1]), array.left_unsigned.eq(unsigned[-1])]
        for row, weights in enumerate(self.weights.data):
            m.d.comb += array.weights[row].eq(weights)
        for column, total in enumerate(array.sums):
            m.d.comb += self.accumulators.sums[column].eq(total)
        self._delay(m, beat)
        return m

    def _delay(self, m, beat):
        """Delay lines, each one wide register with the oldest beat on top."""
        port, delay = self.accumulators, self._address_delay
        valids, lasts = Signal(delay), Signal(self.latency)
        firsts = Signal(delay, reset_less=True)
        addresses = Signal(delay * len(beat.acc), reset_less=True)
        m.d.sync += [
            valids.eq(Cat(beat.valid, valids[:-1])),
            firsts.eq(Cat(beat.first, firsts[:-1])),
            lasts.eq(Cat(beat.valid & beat.last, lasts[:-1])),
            addresses.eq(Cat(beat.acc, addresses[:-len(beat.acc)])),
        ]
        m.d.comb += [
            port.valid.eq(valids[-1]), port.first.eq(firsts[-1]),
            port.address.eq(addresses[-len(beat.acc):]),
            self.engine.retire.eq(lasts[-1]),
        ]
