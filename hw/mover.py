"""The mover: copies between external memory and the memories of the core."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.buffer import Buffer
from systolith.hw.bus import BusMaster
from systolith.hw.config import BEATS_IN_FLIGHT, Region
from systolith.hw.external import ExternalAccess
from systolith.hw.interfaces import EnginePort
from systolith.hw.isa import Cause
from systolith.hw.mesh.interface import RemoteBeat, remote_layout
from systolith.hw.move_walk import MoveWalk, mover_layout
from systolith.hw.queue import Queue


class Mover(wiring.Component):
    """Runs loads, stores and sends, one beat of ``bus_bytes`` a cycle, no gap between commands.

    The source of each beat is asked for it, and its destination goes into a queue; when the beat
    comes, it is sent there. So many beats are on their way at once, and a command starts while
    the beats of the one before are under way; only between a load, a store and a send all beats
    are awaited, because the bus serves one direction at a time and commands retire in order.
    Addresses do not wrap: beyond the memory's end they are an error. All checks are made before the
    beat at fault is asked for.

    Parameters
    ----------
    config : :class:`Config`
        Sizes of the memories.

    Members
    -------
    port : In(EnginePort)
        Commands. ``active``: beats are left to move, ``stall``: and none was moved this cycle.
        A load retires when its last beat was accepted by the memory of the core, a store when
        its last beat was accepted by external memory, a send and a notify when ``remote`` accepted
        it. Causes: ``ZERO_LOOP``; ``ILLEGAL`` for an address, stride or length that is no multiple
        of ``bus_bytes``, a region that cannot be moved, no external memory, or no other cores;
        ``ADDRESS`` for a beat beyond the end of either memory or targets outside of the mesh.
    bus : Out(BusMaster)
        The memories of the core.
    access : Out(stream of ExternalAccess), answer, answered, written : In
        External memory, see :class:`ExternalPort`.
    remote : Out(stream of RemoteBeat)
        Other cores, see :class:`NetworkInterface`; only where there are some.
    moved : Out(1)
        A beat of data was moved.
    """

    def __init__(self, *, config):
        self._config = config
        width = config.bus_bytes
        super().__init__({
            "port": In(EnginePort(mover_layout())),
            "bus": Out(BusMaster(bus_bytes=width)),
            "access": Out(stream.Signature(ExternalAccess(bus_bytes=width))),
            "answer": In(8 * width), "answered": In(1), "written": In(1),
            "moved": Out(1),
            **({"remote": Out(stream.Signature(RemoteBeat(bus_bytes=width)))}
               if config.cores > 1 else {}),
        })

    def elaborate(self, platform):
        m = Module()
        mesh = self._config.cores > 1
        destination = data.StructLayout({"address": 32, "region": Region, "last": 1,
                                         **({"remote": remote_layout()} if mesh else {})})
        m.submodules.destinations = destinations = Queue(shape=destination, depth=BEATS_IN_FLIGHT)
        # Each beat has a destination, so the beats never exceed the room for destinations.
        m.submodules.beats = beats = Queue(shape=8 * self._config.bus_bytes, depth=BEATS_IN_FLIGHT)
        m.submodules.walk = walk = MoveWalk(config=self._config)
        wiring.connect(m, wiring.flipped(self.port.command), walk.command)
        idle, storing, store, ask, sent, arrived = (
            Signal(name=name) for name in ("idle", "storing", "store", "ask", "sent", "arrived"))
        target = Signal(destination)
        send, turned = (self._turn(m, walk, idle, sent, store, target) if mesh
                        else (Const(0), Const(1)))
        m.d.comb += [
            idle.eq(destinations.empty & ~arrived),
            # The direction changes when no beat is under way.
            store.eq(Mux(idle, walk.store, storing)),
            ask.eq(walk.valid & destinations.i.ready & (store == walk.store) & turned),
            destinations.i.valid.eq(walk.next),
            destinations.i.payload.region.eq(walk.region),
            destinations.i.payload.last.eq(walk.last),
        ]
        m.d.sync += storing.eq(store)
        beat = Signal(8 * self._config.bus_bytes)
        self._meet(m, destinations, beats, target, beat, arrived, sent)
        m.d.comb += self.moved.eq(sent & ~target.remote.notify if mesh else sent)
        with m.If(store):
            self._store(m, walk, destinations, beats, target, beat, ask, arrived, sent)
        if mesh:
            with m.Elif(send):
                self._send(m, walk, destinations, beats, target, beat, ask, arrived, sent)
        with m.Else():
            self._load(m, walk, destinations, beats, target, beat, ask, arrived, sent)
        self._report(m, walk, idle, sent)
        m.d.sync += self.port.retire.eq(self.written | (sent & ~store & target.last))
        return m

    def _turn(self, m, walk, idle, sent, store, target):
        """Whether beats are sent, and whether one of the walk may be asked for: a send waits for
        the store before it to be written, as it would retire first."""
        sending, send, owed = (Signal(name=name) for name in ("sending", "send", "owed"))
        m.d.comb += send.eq(Mux(idle, walk.send, sending))
        m.d.sync += [sending.eq(send),
                     owed.eq((sent & store & target.last) | (owed & ~self.written))]
        return send, (send == walk.send) & ~(send & owed)

    def _meet(self, m, destinations, beats, target, beat, arrived, sent):
        """A beat and its destination leave their queues for registers: block RAM answers late."""
        pair = data.StructLayout({"target": target.shape(), "beat": beat.shape()})
        m.submodules.meeting = meeting = Buffer(shape=pair, depth=1 + self._config.port_cycles)
        meet = Signal()
        m.d.comb += [
            meeting.i.valid.eq(destinations.o.valid & beats.o.valid),
            meeting.i.p.target.eq(destinations.o.payload), meeting.i.p.beat.eq(beats.o.payload),
            meet.eq(meeting.i.valid & meeting.i.ready),
            destinations.o.ready.eq(meet), beats.o.ready.eq(meet),
            arrived.eq(meeting.o.valid), meeting.o.ready.eq(sent),
            target.eq(meeting.o.p.target), beat.eq(meeting.o.p.beat),
        ]

    def _load(self, m, walk, destinations, beats, target, beat, ask, arrived, sent):
        m.d.comb += [
            self.access.valid.eq(ask), self.access.payload.address.eq(walk.external),
            walk.next.eq(ask & self.access.ready),
            destinations.i.payload.address.eq(walk.offset),
            beats.i.valid.eq(self.answered), beats.i.payload.eq(self.answer),
            self.bus.valid.eq(arrived), self.bus.write.eq(1), self.bus.region.eq(target.region),
            self.bus.address.eq(target.address), self.bus.mask.eq(~0),
            self.bus.data.eq(beat),
            sent.eq(arrived & self.bus.ready),
        ]

    def _read(self, m, walk, destinations, beats, ask):
        """Ask the core for beats that go out of it."""
        m.d.comb += [
            self.bus.valid.eq(ask), self.bus.region.eq(walk.region),
            self.bus.address.eq(walk.offset),
            walk.next.eq(ask & self.bus.ready),
            destinations.i.payload.address.eq(walk.external),
            beats.i.valid.eq(self.bus.answer), beats.i.payload.eq(self.bus.read_data),
        ]

    def _send(self, m, walk, destinations, beats, target, beat, ask, arrived, sent):
        self._read(m, walk, destinations, beats, ask)
        m.d.comb += [
            destinations.i.payload.remote.eq(walk.remote),
            self.remote.valid.eq(arrived), self.remote.p.remote.eq(target.remote),
            self.remote.p.address.eq(target.address), self.remote.p.last.eq(target.last),
            self.remote.p.data.eq(beat), sent.eq(arrived & self.remote.ready),
        ]

    def _store(self, m, walk, destinations, beats, target, beat, ask, arrived, sent):
        self._read(m, walk, destinations, beats, ask)
        m.d.comb += [
            self.access.valid.eq(arrived), self.access.payload.write.eq(1),
            self.access.payload.address.eq(target.address),
            self.access.payload.last.eq(target.last),
            self.access.payload.data.eq(beat),
            sent.eq(arrived & self.access.ready),
        ]

    def _report(self, m, walk, idle, sent):
        m.d.comb += [
            walk.halt.eq(self.port.halt),
            self.port.error.eq(walk.cause != Cause.NONE), self.port.cause.eq(walk.cause),
            self.port.active.eq(walk.busy | ~idle), self.port.stall.eq(self.port.active & ~sent),
        ]
