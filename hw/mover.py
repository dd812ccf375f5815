"""The mover: copies between external memory and the memories of the core."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.bus import BusMaster
from systolith.hw.config import BEATS_IN_FLIGHT, Region
from systolith.hw.external import ExternalAccess
from systolith.hw.interfaces import EnginePort
from systolith.hw.isa import Cause
from systolith.hw.move_walk import MoveWalk, mover_layout
from systolith.hw.queue import Queue


class Mover(wiring.Component):
    """Runs loads and stores, one beat of ``bus_bytes`` a cycle, without a gap between commands.

    The source of each beat is asked for it, and its destination goes into a queue; when the beat
    comes, it is sent there. So many beats are on their way at once, and a command starts while
    the beats of the one before are under way; only between a load and a store all beats are
    awaited, because the bus serves one direction at a time. Addresses do not wrap: beyond the
    memory's end they are an error. All checks are made before the beat at fault is asked for.

    Parameters
    ----------
    config : :class:`Config`
        Sizes of the memories.

    Members
    -------
    port : In(EnginePort)
        Commands. ``active``: beats are left to move, ``stall``: and none was moved this cycle.
        A load retires when its last beat was accepted by the memory of the core, a store when
        its last beat was accepted by external memory. Causes: ``ZERO_LOOP``; ``ILLEGAL`` for an
        address, stride or length that is no multiple of ``bus_bytes``, a region that cannot be
        moved, or no external memory; ``ADDRESS`` for a beat beyond the end of either memory.
    bus : Out(BusMaster)
        The memories of the core.
    access : Out(stream of ExternalAccess), answer, answered, written : In
        External memory, see :class:`ExternalPort`.
    moved : Out(1)
        A beat was moved.
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
        })

    def elaborate(self, platform):
        m = Module()
        destination = data.StructLayout({"address": 32, "region": Region, "last": 1})
        m.submodules.destinations = destinations = Queue(shape=destination, depth=BEATS_IN_FLIGHT)
        # Each beat has a destination, so the beats never exceed the room for destinations.
        m.submodules.beats = beats = Queue(shape=8 * self._config.bus_bytes, depth=BEATS_IN_FLIGHT)
        m.submodules.walk = walk = MoveWalk(config=self._config)
        wiring.connect(m, wiring.flipped(self.port.command), walk.command)
        idle, storing, store, ask, sent, arrived = (
            Signal(name=name) for name in ("idle", "storing", "store", "ask", "sent", "arrived"))
        m.d.comb += [
            idle.eq((destinations.space == BEATS_IN_FLIGHT) & ~arrived),
            # The direction changes when no beat is under way.
            store.eq(Mux(idle, walk.store, storing)),
            ask.eq(walk.valid & destinations.i.ready & (store == walk.store)),
            destinations.i.valid.eq(walk.next),
            destinations.i.payload.region.eq(walk.region),
            destinations.i.payload.last.eq(walk.last),
        ]
        m.d.sync += storing.eq(store)
        target = Signal(destination, reset_less=True)
        beat = Signal(8 * self._config.bus_bytes, reset_less=True)
        self._meet(m, destinations, beats, target, beat, arrived, sent)
        with m.If(store):
            self._store(m, walk, destinations, beats, target, beat, ask, arrived, sent)
        with m.Else():
            self._load(m, walk, destinations, beats, target, beat, ask, arrived, sent)
        m.d.comb += self.moved.eq(sent)
        self._report(m, walk, idle, sent)
        m.d.sync += self.port.retire.eq(self.written | (sent & ~store & target.last))
        return m

    def _meet(self, m, destinations, beats, target, beat, arrived, sent):
        """A beat and its destination leave their queues for registers: block RAM answers late."""
        meet, free = Signal(), Signal()
        m.d.comb += [
            free.eq(~arrived | sent), meet.eq(destinations.o.valid & beats.o.valid & free),
            destinations.o.ready.eq(meet), beats.o.ready.eq(meet),
        ]
        with m.If(free):
            m.d.sync += [arrived.eq(meet), target.eq(destinations.o.payload),
                         beat.eq(beats.o.payload)]

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

    def _store(self, m, walk, destinations, beats, target, beat, ask, arrived, sent):
        m.d.comb += [
            self.bus.valid.eq(ask), self.bus.region.eq(walk.region),
            self.bus.address.eq(walk.offset),
            walk.next.eq(ask & self.bus.ready),
            destinations.i.payload.address.eq(walk.external),
            beats.i.valid.eq(self.bus.answer), beats.i.payload.eq(self.bus.read_data),
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
