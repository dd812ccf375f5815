"""A move's beats lie inside of both memories, and each of its commands has one last beat."""
import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from systolith.hw.config import MEMORIES
from systolith.hw.isa import Cause
from systolith.hw.mesh.interface import remote_layout
from systolith.hw.move_walk import LOADED, STORED, MoveWalk, move_layout
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import holds, implies, not_proven, past, prove
from tests.formal.sizes import CONFIG


class MoveWalkProof(wiring.Component):
    """Commands are free; who takes the beats takes only what is offered.

    Parameters
    ----------
    port_cycles : int
        One register for checked beats, or two.
    """

    def __init__(self, *, port_cycles=0):
        self._two = port_cycles == 1
        self._walk = MoveWalk(config=CONFIG.replace(port_cycles=port_cycles))
        super().__init__(self._walk.signature)

    def elaborate(self, platform):
        m = Module()
        walk = self._walk
        inside = Inside(walk)
        m.submodules.walk = inside.fragment
        connect(m, flipped(self.command), walk.command)
        m.d.comb += [walk.halt.eq(self.halt), walk.next.eq(self.next & walk.valid)]
        walking, failed, refuses = (inside.signal(name) for name in (
            "walking", "failed", "refuses"))
        offered = inside.signal("offered", "o__valid")
        self._waits, self._second = Const(0), None
        if self._two:
            self._waits = inside.signal("offered", "waits")
            self._second = data.View(self._walk.beat_layout, inside.signal("offered", "second"))
            m.d.comb += holds(implies(self._waits, offered))
        self._inside_both(m, offered)
        command = data.View(move_layout(), inside.signal("command"))
        refusal = walk.refusal(command, data.View(remote_layout(), inside.signal("remote")))
        m.d.comb += [
            holds(implies(walking & ~failed, (inside.signal("refused") == refusal)
                          & (refuses == (refusal != Cause.NONE))
                          & (inside.signal("wide") == walk.wide(command.load.region)))),
            holds(implies(failed, walking)),
        ]
        self._commands(m, walking, offered)
        self._beats(m, inside, walking & ~failed)
        return m

    def _good(self, beat):
        return Cat((beat.region == region) & (beat.offset < CONFIG.region_bytes(region))
                   & (beat.store & int(region in STORED) | int(region in LOADED))
                   for region in MEMORIES).any() & (beat.external < CONFIG.ext_bytes)

    def _inside_both(self, m, offered):
        walk = self._walk
        if self._two:
            m.d.comb += holds(implies(self._waits, self._good(self._second)))
        m.d.comb += [
            holds(implies(walk.valid, offered & ~walk.halt)),
            holds(implies(offered, self._good(walk))),
            # A fault is told after the beats before it, stays, and offers no more.
            holds(implies(walk.cause != Cause.NONE, ~walk.valid & ~walk.command.ready)),
            holds(implies(past(m, walk.cause != Cause.NONE), walk.cause != Cause.NONE)),
        ]

    def _commands(self, m, walking, offered):
        """Commands under way are those whose beats are still walked, and that of a last beat."""
        walk = self._walk
        taken, ended = walk.command.valid & walk.command.ready, walk.next & walk.last
        commands = Signal(2)
        m.d.sync += commands.eq(commands + taken - ended)
        waits = self._waits & self._second.last if self._two else Const(0)
        newest = Mux(self._waits, self._second.last, walk.last) if self._two else walk.last
        m.d.comb += [
            holds(commands == walking + (offered & walk.last) + waits),
            holds(implies(offered & ~newest, walking)),
            holds(walk.busy == (commands != 0)),
        ]

    def _beats(self, m, inside, walking):
        """Each row has all of its bytes, each move all of its rows: the last beat ends both."""
        command = data.View(move_layout(), inside.signal("command")).load
        step, rows, row_bytes = (inside.signal(name) for name in ("step", "rows", "row_bytes"))
        newest = self._walk.last
        if self._two:
            newest = Mux(self._waits, self._second.last, newest)
        row, done = Signal(16), Signal(16)
        row_ends = done + CONFIG.bus_bytes == command.row_bytes
        with m.If(self._walk.command.valid & self._walk.command.ready):
            m.d.sync += [row.eq(0), done.eq(0)]
        with m.Elif(step):
            m.d.sync += [row.eq(row + row_ends),
                         done.eq(Mux(row_ends, 0, done + CONFIG.bus_bytes))]
        part = (CONFIG.bus_bytes - 1).bit_length()
        sized = (command.rows != 0) & (command.row_bytes != 0) & (command.row_bytes[:part] == 0)
        m.d.comb += [
            holds(implies(past(m, step), newest
                          == past(m, row_ends & (row + 1 == command.rows)))),
            holds(implies(walking & sized, (row_bytes + done == command.row_bytes)
                          & (row_bytes != 0) & (row_bytes[:part] == 0)
                          & (row + rows == command.rows) & (rows != 0))),
        ]


@pytest.mark.parametrize("port_cycles", [0, 1])
def test_move_walk(port_cycles):
    prove(MoveWalkProof(port_cycles=port_cycles), f"move_walk_{port_cycles}", depth=2)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("reaches_beyond", "-self._config.region_bytes(one)", "-2 * self._config.region_bytes(one)"),
    ("reads_beyond", "external[exact_log2(config.ext_bytes or 1):].any()", "Const(0)"),
    ("loads_sums", "(store & int(region in STORED))", "int(region in STORED)"),
    ("ends_every_run", "move_end.eq(run_end & (rows == 1))", "move_end.eq(run_end)"),
    ("forgets_a_command", "walking.eq(self.command.valid | (walking & beyond)), command.eq(new)",
     "walking.eq(self.command.valid & ~offered.o.valid), command.eq(new)"),
])
def test_a_broken_walk_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "move_walk", old, new)
    not_proven(MoveWalkProof(), f"move_walk_{name}", depth=2)
