"""Commands start in order, once, after their semaphores; they signal in order when they retire."""
import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from systolith.hw.control import LAYOUTS
from systolith.hw.isa import COMMANDS, ENGINES, WORDS, Command, Engine
from systolith.hw.sequencer import IN_FLIGHT, Sequencer, decode_field
from tests.formal.inside import Inside
from tests.formal.mutant import break_design
from tests.formal.prove import constant, given, holds, implies, not_proven, past, prove


class SequencerProof(wiring.Component):
    """Words, engine and semaphores are free, except that an engine retires only what it has taken.

    ``follow`` decides which command's signals are followed, ``place`` which of its words.
    """

    def __init__(self, engine):
        self._engine = engine
        self._sequencer = Sequencer(engine=engine, layout=LAYOUTS[engine])
        super().__init__({
            "words": In(stream.Signature(32)), "run": In(1), "halt": In(1), "allow": In(1),
            "take": In(1), "retire": In(1), "follow": In(1),
            "place": In(range(WORDS[engine])),
        })

    def elaborate(self, platform):
        m = Module()
        self._inside = Inside(self._sequencer)
        m.submodules.sequencer = self._inside.fragment
        sequencer = self._sequencer
        port = sequencer.port
        connect(m, flipped(self.words), sequencer.words)
        m.d.comb += [
            sequencer.run.eq(self.run), sequencer.halt.eq(self.halt),
            sequencer.grant.eq(sequencer.request & self.allow),
            port.command.ready.eq(self.take), port.retire.eq(self.retire),
        ]
        taken = port.command.valid & port.command.ready
        offered, running = Signal(), Signal(range(IN_FLIGHT + 2))
        m.d.sync += [offered.eq(Mux(sequencer.grant, 1, offered & ~taken)),
                     running.eq(running + taken - port.retire)]
        m.d.comb += given(implies(port.retire, running != 0))
        flying = Signal(range(4 * IN_FLIGHT))
        m.d.comb += flying.eq(running + offered)
        self._start(m, flying, offered)
        self._words(m)
        self._signals(m, flying)
        return m

    def _start(self, m, flying, offered):
        sequencer = self._sequencer
        inside, words = self._inside.signal, self._inside.signal("words").word_select
        opcode, fence = (next(field for field in Command.layout() if field.name == name)
                         for name in ("opcode", "fence"))
        opcode, fence = (words(field.word, 32)[field.lsb:field.lsb + field.width]
                         for field in (opcode, fence))
        known = Cat(opcode == code for code, command in COMMANDS.items()
                    if command.ENGINE == self._engine).any()
        activity = sequencer.activity
        m.d.comb += [
            holds(self._inside.signal("in_flight") == flying), holds(flying <= IN_FLIGHT),
            holds(sequencer.pending == (flying != 0)),
            # A command is offered from the grant of its semaphores until it is taken: once.
            holds(sequencer.port.command.valid == offered),
            holds(implies(sequencer.request, ~offered & known & self.run & ~self.halt)),
            holds(implies(sequencer.request, flying != IN_FLIGHT)),
            holds(implies(sequencer.request & fence, flying == 0)),
            holds(~(activity.waiting & activity.fenced)),
            holds(implies(offered, known)),
            # Registers that are set in time.
            holds(inside("drained") == (flying == 0)),
            holds(inside("full") == (flying == IN_FLIGHT)),
            holds(inside("complete") == (inside("fetched") == WORDS[self._engine])),
            holds(implies(inside("complete"), inside("known") == known)),
            holds(inside("held") == (inside("complete") & ~offered)),
            holds(implies(inside("held"), inside("free") == (
                known & (~fence | (flying == 0)) & (flying != IN_FLIGHT)))),
        ]

    def _words(self, m):
        """A command consists of the words that were fetched since the one before was taken."""
        sequencer, size = self._sequencer, WORDS[self._engine]
        place = constant(m, self.place)
        count, chosen = Signal(range(size + 1)), Signal(32)
        with m.If(sequencer.port.command.valid & sequencer.port.command.ready):
            m.d.sync += count.eq(0)
        with m.Elif(sequencer.words.valid & sequencer.words.ready):
            m.d.sync += count.eq(count + 1)
            with m.If(count == place):
                m.d.sync += chosen.eq(sequencer.words.payload)
        words = self._inside.signal("words")
        # While words come, the last one is on top.
        shown = Signal(range(size))
        m.d.comb += [
            shown.eq(place + size - count),
            given(place < size), holds(count <= size), holds(sequencer.empty == (count == 0)),
            holds(sequencer.words.ready == (count != size)),
            holds(self._inside.signal("fetched") == count),
            holds(implies(count > place, words.word_select(shown, 32) == chosen)),
            holds(implies(sequencer.request, count == size)),
            holds(implies(sequencer.port.command.valid, count == size)),
            # What is offered was shown the cycle before.
            holds(implies(sequencer.port.command.valid, words == past(m, words))),
        ]

    def _signals(self, m, flying):
        """The followed command's signals are given when it retires, and nothing else is."""
        sequencer, inside = self._sequencer, self._inside
        field = next(field for field in Command.layout() if field.name == "signal")
        own = decode_field({field.word: inside.signal("words").word_select(field.word, 32)}, field)
        following, ahead, mask = Signal(), Signal(range(IN_FLIGHT)), Signal(16)
        with m.If(sequencer.grant & self.follow & ~following):
            m.d.sync += [following.eq(1), mask.eq(own), ahead.eq(flying - self.retire)]
        with m.Elif(following & self.retire):
            m.d.sync += [following.eq(ahead != 0), ahead.eq(ahead - 1)]
        first, last = inside.signal("first"), inside.signal("last")
        word = inside.word("signals", address=(first + ahead)[:len(first)])
        m.d.comb += [
            holds((last - first)[:len(first)] == flying[:len(first)]),
            holds(implies(following, (ahead < flying) & (word == mask))),
            holds(implies(following & self.retire & (ahead == 0), sequencer.signal == mask)),
            holds(implies(~self.retire, sequencer.signal == 0)),
        ]


@pytest.mark.parametrize("engine", ENGINES)
def test_sequencer(engine):
    prove(SequencerProof(engine), f"sequencer_{engine.name.lower()}", depth=3)


@pytest.mark.parametrize(("name", "old", "new"), [
    ("one_too_many", "& (~full | retire))", ")"),
    ("ignores_the_fence", "(~next_fence | (drained |", "(1 | (drained |"),
    ("fence_with_two_in_flight", "(retire & (in_flight == 1))", "retire"),
    ("starts_when_stopped", "ready.eq(held & self.run & ~self.halt)",
     "ready.eq(held & self.run)"),
    ("takes_semaphores_again", ".eq(1), held.eq(0)]", ".eq(1)]"),
    ("signals_of_another", "read.addr.eq(following)", "read.addr.eq(last)"),
    ("signals_too_early", "Mux(self.port.retire, read.data, 0)", "read.data"),
    ("starts_the_unknown", "free.eq(self._known(following)", "free.eq(1"),
])
def test_a_broken_sequencer_is_found(name, old, new, monkeypatch):
    break_design(monkeypatch, "sequencer", old, new)
    not_proven(SequencerProof(Engine.MOVE), f"sequencer_{name}", depth=3)
