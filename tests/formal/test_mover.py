"""Each beat that is asked for is sent once, in order, with its own data, to its own place.

A move retires in the cycle after its last beat was accepted; its queues never overflow.
"""
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.config import BEATS_IN_FLIGHT
from systolith.hw.mover import Mover
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import given, holds, implies, not_proven, past, prove
from tests.formal.sizes import CONFIG


def count(m, more, less, name):
    """A counter of what is under way."""
    value = Signal(range(4 * BEATS_IN_FLIGHT), name=name)
    m.d.sync += value.eq(value + more - less)
    return value


class MoverProof(wiring.Component):
    """Both memories answer an accepted read once, in order, whenever they want.

    ``follow`` decides which beat is followed from its request to its destination; as it may be
    any, all arrive unchanged and in order: before the followed one are those asked for before it.

    Parameters
    ----------
    port_cycles : int
        One register for beats that have come, or two.
    """

    def __init__(self, *, port_cycles=0):
        self._two = port_cycles == 1
        self._mover = Mover(config=CONFIG.replace(port_cycles=port_cycles))
        super().__init__({**self._mover.signature.members, "follow": In(1)})

    def elaborate(self, platform):
        m = Module()
        mover = self._mover
        self._inside = Inside(mover)
        m.submodules.mover = self._inside.fragment
        for name in ("port", "bus", "access"):
            connect(m, flipped(getattr(self, name)), getattr(mover, name))
        m.d.comb += [mover.answer.eq(self.answer), mover.answered.eq(self.answered),
                     mover.written.eq(self.written)]
        bus, access = mover.bus, mover.access
        external, memory = access.valid & access.ready, bus.valid & bus.ready
        self._loads, self._reads = external & ~access.p.write, memory & ~bus.write
        self._asked, self._sent, self._answered = (Signal(name=name) for name in (
            "asked", "sent", "answer_comes"))
        m.d.comb += [self._asked.eq(self._loads | self._reads),
                     self._sent.eq((external & access.p.write) | (memory & bus.write)),
                     self._answered.eq(self.answered | bus.answer)]
        self._flying(m)
        self._follow(m)
        self._retire(m, external & access.p.write & access.p.last)
        return m

    def _level(self, m, queue):
        """Elements of a queue; its counts are right, and it is never pushed when full."""
        level, produced, consumed, ready, pushed, shown, empty, full = (
            self._inside.signal(queue, name) for name in (
                "level", "produced", "consumed", "i__ready", "i__valid", "o__valid", "empty",
                "full"))
        m.d.comb += [holds(level <= BEATS_IN_FLIGHT), holds(implies(pushed, ready)),
                     holds(level == (produced - consumed)[:len(level)]),
                     holds(empty == (level == 0)), holds(full == (level == BEATS_IN_FLIGHT)),
                     holds(implies(shown, level != 0))]
        return level

    def _flying(self, m):
        """Where the beats are: asked for, in the queue, in the register; in one direction."""
        mover = self._mover
        storing, self._arrived = (self._inside.signal(name) for name in ("storing", "arrived"))
        self._waits = self._inside.signal("meeting", "waits") if self._two else Const(0)
        # Beats in the registers.
        self._met = Signal(2, name="met")
        m.d.comb += [self._met.eq(self._arrived + self._waits),
                     holds(implies(self._waits, self._arrived))]
        loads_due = count(m, self._loads, self.answered, "loads_due")
        reads_due = count(m, self._reads, mover.bus.answer, "reads_due")
        self._flight = count(m, self._asked, self._sent, "flight")
        destinations, self._beats = self._level(m, "destinations"), self._level(m, "beats")
        m.d.comb += [
            given(implies(self.answered, loads_due != 0)),
            given(implies(mover.bus.answer, reads_due != 0)),
            # At most BEATS_IN_FLIGHT between request and register.
            holds(destinations == loads_due + reads_due + self._beats),
            holds(self._flight == destinations + self._met),
            holds(implies(loads_due, ~storing)), holds(implies(reads_due, storing)),
            holds(implies(self._sent, self._arrived)),
            holds(~(self._loads & self._reads)),
            holds(implies(self._asked, ~mover.port.halt)),
            holds(mover.moved == self._sent),
            holds(implies(self._flight, mover.port.active)),
        ]

    def _follow(self, m):
        mover, inside = self._mover, self._inside
        bus, access = mover.bus, mover.access
        following, ahead, got, answers = (Signal(name="following"), Signal.like(self._flight),
                                          Signal(name="got"), Signal.like(self._flight))
        store, region, last, offset, external = (
            inside.signal("walk", name) for name in ("store", "region", "last", "offset",
                                                     "external"))
        to, word = Signal(36, name="to"), Signal(8 * CONFIG.bus_bytes, name="word")
        start = self._asked & self.follow & ~following
        # Before it are the beats that are under way; of its answer those that are due.
        due = (self._flight - self._met - self._beats)[:len(answers)]
        with m.If(start):
            m.d.sync += [following.eq(1), ahead.eq(self._flight - self._sent), got.eq(0),
                         answers.eq(due - self._answered),
                         to.eq(Cat(Mux(store, external[:32], offset[:32]), region, last))]
        with m.Elif(following):
            with m.If(self._sent):
                m.d.sync += [ahead.eq(ahead - 1), following.eq(ahead != 0)]
            with m.If(self._answered & ~got):
                m.d.sync += [answers.eq(answers - 1), got.eq(answers == 0),
                             word.eq(Mux(self.answered, self.answer, bus.read_data))]
        place = (ahead - self._met)[:len(ahead)]
        here, second = self._arrived & (ahead == 0), self._waits & (ahead == 1)
        met = here | second
        self._stored(m, "destinations", following & ~met, place, to)
        self._stored(m, "beats", following & ~met & got, place, word)
        if self._two:
            m.d.comb += holds(implies(following & second, inside.signal(
                "meeting", "second") == Cat(to, word)))
        arrives = following & self._sent & (ahead == 0)
        loaded = Cat(bus.address, bus.region) == Cat(to[:len(bus.address)], to[32:35])
        stored = Cat(access.p.address, access.p.last) == Cat(to[:32], to[35])
        m.d.comb += [
            holds(implies(following, ahead < self._flight)),
            holds(implies(following, got == (met | (place < self._beats)))),
            holds(implies(following & ~got, answers == (place - self._beats)[:len(answers)])),
            holds(implies(following & here, (inside.signal("target") == to)
                          & (inside.signal("beat") == word))),
            holds(implies(arrives & ~access.p.write, loaded & (bus.data == word) & bus.mask.all())),
            holds(implies(arrives & access.p.write, stored & (access.p.data == word))),
        ]

    def _stored(self, m, queue, followed, place, element):
        """The followed element is in its place of the queue, and on its output when it is first."""
        consumed = self._inside.signal(queue, "consumed")
        word = self._inside.word(queue, "words", address=(consumed + place)[:len(consumed) - 1])
        shown, payload = (self._inside.signal(queue, name) for name in ("o__valid", "o__payload"))
        m.d.comb += [holds(implies(followed, word == element)),
                     holds(implies(followed & shown & (place == 0), payload == element))]

    def _retire(self, m, last_write):
        """A load retires after the memory has its last beat, a store after it was written."""
        mover, bus = self._mover, self._mover.bus
        due = Signal(name="write_due")
        m.d.sync += due.eq(last_write | (due & ~self.written))
        last = self._inside.signal("target")[35]
        loaded = bus.valid & bus.ready & bus.write & last
        m.d.comb += [
            given(implies(self.written, due)),
            # The external port holds one access; the next one enters when it is done.
            given(implies(mover.access.ready & due, self.written)),
            holds(mover.port.retire == past(m, loaded | self.written)),
            # A store is retired before a load that came after it: both never are at once.
            holds(implies(due & (self._flight != 0), self._inside.signal("storing"))),
            holds(~(due & loaded)),
        ]


@pytest.mark.parametrize("port_cycles", [0, 1])
def test_mover(port_cycles):
    prove(MoverProof(port_cycles=port_cycles), f"mover_{port_cycles}", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("asks_for_too_many", "walk.valid & destinations.i.ready & (", "walk.valid & ("),
    ("turns_too_early", "idle.eq(destinations.empty & ~arrived)", "idle.eq(destinations.empty)"),
    ("sends_twice", "meeting.o.ready.eq(sent)", "meeting.o.ready.eq(sent & beats.o.valid)"),
    ("loses_a_beat", "meeting.o.ready.eq(sent)", "meeting.o.ready.eq(1)"),
    ("place_of_another", "destinations.o.ready.eq(meet),",
     "destinations.o.ready.eq(meeting.i.ready),"),
    ("retires_every_beat", "(sent & ~store & target.last)", "(sent & ~store)"),
    ("retires_when_it_asks", "(sent & ~store & target.last)", "(walk.next & ~store & walk.last)"),
])
def test_a_broken_mover_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "mover", old, new)
    not_proven(MoverProof(), f"mover_{name}", depth=3)
