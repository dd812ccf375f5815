"""Fetches, decodes and starts the commands of one engine."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from systolith.hw.config import IN_FLIGHT
from systolith.hw.counters import EngineActivity
from systolith.hw.faults import FaultReport
from systolith.hw.interfaces import EnginePort
from systolith.hw.isa import COMMANDS, WORDS, Cause, Command, Engine


def decode_field(words, field):
    """The bits of one field of the ISA in an array of 32-bit words."""
    return words[field.word][field.lsb:field.lsb + field.width]


class Sequencer(wiring.Component):
    """Brings the commands of one engine's queue to the engine, in order.

    One word a cycle is fetched, also while earlier commands run. When a command is complete its
    fence is checked, then its semaphores are taken, and from the next cycle on it is offered to
    the engine until the engine takes it. So a command that the engine can take at once starts two
    cycles after its last word came, and when the engine runs longer than a command's words, the
    next command starts without a bubble. Its fields are shown a cycle before it is offered. Once
    semaphores are taken, the command starts even if ``run`` falls.

    Parameters
    ----------
    engine : :class:`Engine`
        Whose commands these are.
    layout : :class:`data.StructLayout`
        What the engine wants to see of a command. A member ``opcode`` is the operation code; one
        named as a command (in lower case) holds all fields of that command; any other is the
        field of that name, which all commands of the engine must have at the same place.

    Members
    -------
    words : In(stream of 32 bits)
        The queue.
    port : Out(EnginePort)
        The engine.
    run, halt : In(1)
        Nothing starts unless ``run`` is set and ``halt`` is not. ``halt`` is handed on.
    request, wait, grant, signal
        To the semaphores, see :class:`Semaphores`.
    report : Out(FaultReport)
        Errors of the engine, in the command it took last; an unknown operation code is reported
        when all earlier commands have retired.
    activity : Out(EngineActivity)
        For the counters. ``waiting``: a command waits for its semaphores; ``fenced``: for earlier
        ones to retire.
    pending : Out(1)
        A command is in flight or offered to the engine.
    empty : Out(1)
        No word of a command is here.

    Raises
    ------
    ValueError
        When ``layout`` has a member that is no field of this engine's commands, or whose place
        differs between them.
    """

    def __init__(self, *, engine, layout):
        self._engine = Engine(engine)
        self._commands = {opcode: command for opcode, command in COMMANDS.items()
                          if command.ENGINE == self._engine}
        for name, _ in layout:
            self._field(name)
        self._layout = layout
        super().__init__({
            "words": In(stream.Signature(32)),
            "port": Out(EnginePort(layout)),
            "run": In(1), "halt": In(1),
            "request": Out(1), "wait": Out(16), "grant": In(1), "signal": Out(16),
            "report": Out(FaultReport()), "activity": Out(EngineActivity()),
            "pending": Out(1), "empty": Out(1),
        })

    @property
    def engine(self):
        """Whose commands these are."""
        return self._engine

    def _field(self, name):
        """The :class:`FieldLayout` of a member, or the command class it is named after."""
        for command in self._commands.values():
            if name == command.__name__.lower():
                return command
        places = {field[1:4]: field for command in self._commands.values()
                  for field in command.layout() if field.name == name}
        shared = all(name in (field.name for field in command.layout())
                     for command in self._commands.values())
        if len(places) != 1 or not shared:
            raise ValueError(f"{name!r} is not one field of all commands of the "
                             f"{self._engine.name} engine")
        return next(iter(places.values()))

    def elaborate(self, platform):
        m = Module()
        size = WORDS[self._engine]
        words = Signal(data.ArrayLayout(32, size))
        following = Signal.like(words)
        fetched = Signal(range(size + 1))
        # What decides on a start is in registers, set in time: the command is complete, it waits
        # for its start, its operation code is known.
        complete, held, known = (Signal(name=name) for name in ("complete", "held", "known"))
        m.d.comb += [self.words.ready.eq(~complete), self.empty.eq(fetched == 0),
                     following.eq(words)]
        with m.If(self.words.valid & self.words.ready):
            m.d.comb += following.eq(Cat(words.as_value()[32:], self.words.payload))
            m.d.sync += [words.eq(following), fetched.eq(fetched + 1),
                         complete.eq(fetched == size - 1), held.eq(fetched == size - 1),
                         known.eq(self._known(following))]
        self._offer(m, words)
        in_flight = self._retire(m, words)
        self._start(m, words, following, held, known, in_flight)
        with m.If(self.port.command.valid & self.port.command.ready):
            m.d.sync += [self.port.command.valid.eq(0), fetched.eq(0), complete.eq(0),
                         self.report.started.eq(self.report.started + 1)]
        self._report(m)
        return m

    def _offer(self, m, words):
        """Show the fields of the command to the engine."""
        payload = self.port.command.payload
        for name, _ in self._layout:
            field = self._field(name)
            if isinstance(field, type) and issubclass(field, Command):
                places = {place.name: place for place in field.layout()}
                for member, _ in payload[name].shape():
                    m.d.comb += payload[name][member].eq(decode_field(words, places[member]))
            else:
                m.d.comb += payload[name].eq(decode_field(words, field))

    def _retire(self, m, words):
        """Keep the signals of the commands in flight; returns how many there are."""
        m.submodules.signals = signals = Memory(shape=16, depth=IN_FLIGHT, init=[])
        write = signals.write_port()
        # The signals of the oldest are read ahead. No command retires in the cycle after its grant,
        # in which they may not be there yet.
        read = signals.read_port()
        following = Signal(range(IN_FLIGHT))
        in_flight = Signal(range(IN_FLIGHT + 1))
        first, last = (Signal(range(IN_FLIGHT), name=name) for name in ("first", "last"))
        m.d.comb += [
            following.eq(first + self.port.retire),
            write.addr.eq(last), write.data.eq(decode_field(words, self._common("signal"))),
            write.en.eq(self.grant), read.addr.eq(following),
            self.signal.eq(Mux(self.port.retire, read.data, 0)),
            self.pending.eq(in_flight != 0),
        ]
        m.d.sync += [
            last.eq(last + self.grant), first.eq(following),
            in_flight.eq(in_flight + self.grant - self.port.retire),
            self.report.retired.eq(self.report.retired + self.port.retire),
        ]
        return in_flight

    def _common(self, name):
        return next(field for field in Command.layout() if field.name == name)

    def _known(self, words):
        opcode = decode_field(words, self._common("opcode"))
        return Cat(opcode == code for code in self._commands).any()

    def _start(self, m, words, following, held, known, in_flight):
        """Check operation code, fence and semaphores of the command that is held back."""
        fence, next_fence = (decode_field(each, self._common("fence"))
                             for each in (words, following))
        ready, more, less = Signal(), Signal(), Signal()
        # Registers: there are none in flight, or as many as may be.
        drained, full = Signal(name="drained", init=1), Signal(name="full")
        m.d.comb += [more.eq(self.grant & ~self.port.retire),
                     less.eq(self.port.retire & ~self.grant)]
        m.d.sync += [drained.eq(~more & (drained | (less & (in_flight == 1)))),
                     full.eq(~less & (full | (more & (in_flight == IN_FLIGHT - 1))))]
        # A register as well: whatever may be in flight, this command may start. A grant that makes
        # it wrong also ends ``held``.
        free, retire = Signal(name="free"), self.port.retire
        m.d.sync += free.eq(self._known(following)
                            & (~next_fence | (drained | (retire & (in_flight == 1))))
                            & (~full | retire))
        m.d.comb += [
            ready.eq(held & self.run & ~self.halt),
            self.wait.eq(decode_field(words, self._common("wait"))),
            self.activity.fenced.eq(ready & known & fence & ~drained),
            self.request.eq(ready & free),
            self.activity.waiting.eq(self.request & ~self.grant),
        ]
        with m.If(self.grant):
            m.d.sync += [self.port.command.valid.eq(1), held.eq(0)]
        with m.If(ready & ~known & drained):
            self._fault(m, Cause.UNKNOWN_OPCODE, self.report.started)

    def _report(self, m):
        m.d.comb += [
            self.port.halt.eq(self.halt),
            self.activity.active.eq(self.port.active), self.activity.stall.eq(self.port.stall),
            self.activity.retire.eq(self.port.retire),
        ]
        with m.If(self.port.error):
            self._fault(m, self.port.cause, self.report.started - 1)

    def _fault(self, m, cause, index):
        m.d.comb += [self.report.error.eq(1), self.report.cause.eq(cause),
                     self.report.index.eq(index)]
