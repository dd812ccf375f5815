"""A product signals only after its last accumulator is written, and reads nothing before it starts.

Together with the proofs of sequencers and semaphores: who waits for the signal of a product sees
all of its results.
"""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.accumulator import Accumulator
from systolith.hw.interfaces import EnginePort, command_layout
from systolith.hw.isa import Product
from systolith.hw.matrix import MatrixEngine
from tests.formal.history import history
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, prove, refute
from tests.formal.sizes import CONFIG


class MatrixProof(wiring.Component):
    """Engine and accumulators together; commands, data, and all other readers are free."""

    def __init__(self):
        self._engine, self._accumulator = (MatrixEngine(config=CONFIG), Accumulator(config=CONFIG))
        super().__init__({"engine": In(EnginePort(command_layout(Product)))})

    @property
    def depth(self):
        """Cycles in which all that a beat does is over."""
        return self._engine.latency + 2

    def elaborate(self, platform):
        m = Module()
        engine = self._engine
        inside, memory = Inside(engine), Inside(self._accumulator)
        m.submodules.engine, m.submodules.accumulator = inside.fragment, memory.fragment
        connect(m, flipped(self.engine), engine.engine)
        connect(m, engine.accumulators, self._accumulator.array)
        beat = {name: inside.signal("loops", f"beat__{name}")
                for name in ("valid", "last", "acc", "load")}
        m.d.comb += holds(implies(inside.signal("loops", "sound"), engine.engine.active))
        self._writes(m, beat, memory)
        self._commands(m, beat)
        m.d.comb += [
            # Operands are read for beats alone.
            holds(implies(engine.activations.valid | engine.weights.load, beat["valid"])),
            holds(implies(engine.accumulators.valid,
                          history(m, beat["valid"], engine._address_delay))),
        ]
        return m

    def _writes(self, m, beat, memory):
        """Each beat writes its word ``latency`` cycles later; the last one's write retires."""
        latency = self._engine.latency
        masks = Cat(memory.signal(f"half_{half}", "write__mask") for half in range(2))
        address = history(m, beat["acc"], latency)
        written = history(m, beat["valid"], latency)
        m.d.comb += [
            holds(masks == Mux(written, Mux(address[-1], 0b10, 0b01), 0)),
            holds(self._engine.engine.retire
                  == history(m, beat["valid"] & beat["last"], latency)),
        ]
        for half in range(2):
            m.d.comb += holds(implies(masks[half], address[:-1] == memory.signal(
                f"half_{half}", "write__address")))

    def _commands(self, m, beat):
        """Beats belong to a command that was taken; each has one last beat unless at fault."""
        port = self._engine.engine
        taken, last = port.command.valid & port.command.ready, beat["valid"] & beat["last"]
        open_ = Signal()
        m.d.sync += open_.eq(taken | (open_ & ~last & ~port.error))
        m.d.comb += [
            holds(implies(beat["valid"], open_ & ~port.halt)),
            holds(implies(taken, (~open_ | last) & ~port.halt)),
            holds(implies(port.error, ~beat["valid"])),
            holds(port.active == open_),
        ]


def test_matrix_engine():
    proof = MatrixProof()
    prove(proof, "matrix", depth=proof.depth)


@pytest.mark.parametrize(("name", "module", "old", "new"), [
    ("retires_early", "matrix", "self.engine.retire.eq(lasts[-1])",
     "self.engine.retire.eq(lasts[-2])"),
    ("retires_every_beat", "matrix", "lasts.eq(Cat(beat.valid & beat.last,",
     "lasts.eq(Cat(beat.valid,"),
    ("writes_late", "accumulator", "valid, address = stages[-1]",
     "valid, address = (Signal(), Signal(4)); m.d.sync += Cat(valid, address).eq("
     "Cat(*stages[-1]))"),
    ("runs_when_stopped", "product_loops", "issue.eq(sound & ~self.halt &",
     "issue.eq(sound &"),
])
def test_a_broken_matrix_engine_is_found(name, module, old, new, monkeypatch):
    break_design(monkeypatch, module, old, new)
    proof = MatrixProof()
    refute(proof, f"matrix_{name}", depth=proof.depth + 4)
