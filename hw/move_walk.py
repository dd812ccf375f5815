"""The address generator of the mover."""
from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.buffer import Buffer
from systolith.hw.config import MEMORIES, OFFSET_BITS, Region
from systolith.hw.interfaces import command_layout
from systolith.hw.isa import Cause, Load, Opcode, Send
from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.interface import remote_layout
from systolith.hw.mesh.packet import in_mesh

#: What can be loaded, stored, written by other cores, and sent to them.
LOADED = (Region.ACT, Region.WGT, Region.VEC, Region.CONST)
STORED = (*LOADED, Region.ACC)
RECEIVED = (*LOADED, Region.ROW)
SENT = (*STORED, Region.ROW)

EXTERNAL_BITS = 32


def mover_layout():
    """What the mover sees of a command: the operation code, and the same words read as the fields
    of a move and as those of a send."""
    return data.StructLayout({"opcode": 4, "load": command_layout(Load),
                              "send": command_layout(Send)})


def move_layout():
    """A command of the mover as a move; the far side of a send is the external one."""
    return data.StructLayout({"opcode": 4, "load": command_layout(Load)})


class MoveWalk(wiring.Component):
    """Walks through the beats of a move, one a cycle, without a gap between commands.

    A send is a move whose far side is a memory of other cores. A notify is a send of one beat whose
    data nobody looks at. Both are ILLEGAL where there is one core.

    Parameters
    ----------
    config : :class:`Config`
        Sizes of the memories.

    Members
    -------
    command : In(stream)
        Taken when the last beat of the one before is.
    halt : In(1)
        No beat is offered.
    busy : Out(1)
        Beats are left.
    valid : Out(1), next : In(1)
        A checked beat is offered, and taken. It comes from registers, one cycle after its check.
    store, region, offset, external, last : Out
        The beat: direction, memory of the core, byte offset in it, byte address in external
        memory (or, of a send, in the remote one), and whether it is the command's last.
    send : Out(1), remote : Out(remote_layout())
        The beat goes to other cores, and where. Only where there are some.
    cause : Out(Cause)
        Why the command, or its present beat, cannot be executed; the walk stops there.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({
            "command": In(stream.Signature(mover_layout())),
            "halt": In(1), "busy": Out(1), "valid": Out(1), "next": In(1),
            "store": Out(1), "region": Out(Region), "offset": Out(OFFSET_BITS),
            "external": Out(EXTERNAL_BITS), "last": Out(1), "cause": Out(Cause),
            **({"send": Out(1), "remote": Out(remote_layout())} if config.cores > 1 else {}),
        })

    @property
    def beat_layout(self):
        """What is known of a beat: the members of that name."""
        fields = ("store", "region", "offset", "external", "last",
                  *(("send", "remote") if self._config.cores > 1 else ()))
        return data.StructLayout({name: self.signature.members[name].shape for name in fields})

    def elaborate(self, platform):
        m = Module()
        command = Signal(move_layout())
        new = Signal(move_layout())
        remote, coming = (Signal(remote_layout(), name=name) for name in ("remote", "coming"))
        move = command.load
        # Addresses have a carry: beyond the end is an error, not the beginning.
        offset, run_offset = Signal(OFFSET_BITS + 1), Signal(OFFSET_BITS + 1)
        external, run_external = Signal(EXTERNAL_BITS + 1), Signal(EXTERNAL_BITS + 1)
        rows = Signal(16)  # left, the present one included
        row_bytes = Signal(16)  # left of the present row, the present beat included
        run_end, move_end = Signal(), Signal()
        walking = Signal()  # beats are left to be checked
        refused = Signal(Cause)  # why the command cannot be executed, known as it comes
        refuses = Signal()  # it is refused: the same in one bit
        wide = Signal(OFFSET_BITS + 1)  # bits of an offset that no address of its region has
        beyond = Signal()
        cause = Signal(Cause)
        offered = self._offer(m)
        failed = Signal()  # a beat was beyond an end
        # The next state is that of a new command, or the next beat's; and there is a next state.
        # Whether a beat is beyond an end is known late: the addresses go on all the same.
        fresh, goes = Signal(), Signal()
        step = Signal()
        m.d.comb += [
            run_end.eq(row_bytes == self._config.bus_bytes), move_end.eq(run_end & (rows == 1)),
            self.busy.eq(walking | offered.o.valid),
            goes.eq(walking & ~refuses & ~failed & offered.i.ready),
            fresh.eq(~walking | move_end),
            offered.i.valid.eq(walking & ~refuses & ~failed & ~beyond),
            step.eq(goes & ~beyond),
            # A fault is told when all beats before it have been taken.
            self.cause.eq(Mux(offered.o.valid, Cause.NONE, cause)),
            self.command.ready.eq(~walking | (step & move_end)),
        ]
        beat = offered.i.p
        m.d.comb += [
            beat.store.eq(command.opcode == Opcode.STORE), beat.region.eq(move.region),
            beat.offset.eq(offset), beat.external.eq(external), beat.last.eq(move_end),
        ]
        if self._config.cores > 1:
            m.d.comb += [beat.send.eq(self._sends(command)), beat.remote.eq(remote)]
        self._enter(m, new, coming)
        with m.If(goes & beyond):
            m.d.sync += failed.eq(1)
        refusal = self.refusal(new, coming)
        new_offset = (run_offset + move.stride)[:len(offset)]
        new_external = (run_external + move.ext_stride)[:len(external)]
        size = self._config.bus_bytes
        with m.If(goes | ~walking):
            with m.If(fresh):
                # After a fault nothing goes on, whatever command is there.
                m.d.sync += [
                    walking.eq(self.command.valid | (walking & beyond)), command.eq(new),
                    offset.eq(new.load.base), run_offset.eq(new.load.base),
                    external.eq(new.load.ext_base), run_external.eq(new.load.ext_base),
                    rows.eq(new.load.rows), row_bytes.eq(new.load.row_bytes), remote.eq(coming),
                    refused.eq(refusal), refuses.eq(refusal != Cause.NONE),
                    wide.eq(self.wide(new.load.region))]
            with m.Elif(run_end):
                m.d.sync += [offset.eq(new_offset), run_offset.eq(new_offset),
                             external.eq(new_external), run_external.eq(new_external),
                             rows.eq(rows - 1), row_bytes.eq(move.row_bytes)]
            with m.Else():
                m.d.sync += [offset.eq(offset + size), external.eq(external + size),
                             row_bytes.eq(row_bytes - size)]
        m.d.comb += beyond.eq((offset & wide).any() | self._far_beyond(command, remote, external))
        with m.If(walking):
            m.d.comb += cause.eq(Mux(failed, Cause.ADDRESS, Mux(refuses, refused, Cause.NONE)))
        return m

    def _offer(self, m):
        """The registers of checked beats."""
        m.submodules.offered = offered = Buffer(shape=self.beat_layout,
                                                depth=1 + self._config.port_cycles)
        m.d.comb += [
            self.valid.eq(offered.o.valid & ~self.halt), offered.o.ready.eq(self.next),
            *(getattr(self, name).eq(offered.o.p[name]) for name, _ in self.beat_layout),
        ]
        return offered

    def _enter(self, m, new, coming):
        """The next command as a move, and where it goes if it is a send."""
        payload, config = self.command.payload, self._config
        send, notify = payload.send, payload.opcode == Opcode.NOTIFY
        m.d.comb += [
            new.opcode.eq(payload.opcode), new.load.eq(payload.load),
            coming.eq(Cat(Mux(notify, Region.ACT, send.remote_region), send.x_first, send.x_last,
                          send.y_first, send.y_last, send.remote_signal, notify)),
        ]
        if config.cores == 1:
            return
        with m.If(payload.opcode == Opcode.SEND):
            m.d.comb += [new.load.ext_base.eq(send.remote_base),
                         new.load.ext_stride.eq(send.remote_stride)]
        with m.If(notify):
            # Row constants, because the array does not read them.
            m.d.comb += new.eq(move_layout().const({
                "opcode": Opcode.NOTIFY, "load": {"region": Region.ROW, "rows": 1,
                                                  "row_bytes": config.bus_bytes}}))

    def refusal(self, command, remote):
        """The cause why a command cannot be executed wherever its beats lie, else ``NONE``.

        Parameters
        ----------
        command : View of move_layout()
            The command as a move.
        remote : View of remote_layout()
            Where it goes, if it is a send.
        """
        config, move = self._config, command.load
        store, sends = command.opcode == Opcode.STORE, self._sends(command)
        aligned = ~Cat(field[:exact_log2(config.bus_bytes)] for field in (
            move.row_bytes, move.base, move.stride, move.ext_base, move.ext_stride)).any()
        allowed = Cat((move.region == region)
                      & (int(region in LOADED) | (store & int(region in STORED)) | sends)
                      for region in SENT).any()
        moves = (store | (command.opcode == Opcode.LOAD)) & int(config.ext_bytes > 0)
        received = sends & Cat(remote.region == region for region in RECEIVED).any()
        empty = (move.rows == 0) | (move.row_bytes == 0)
        return Mux(empty & (command.opcode != Opcode.NOTIFY), Cause.ZERO_LOOP,
                   Mux(allowed & aligned & (moves | received), Cause.NONE, Cause.ILLEGAL))

    def wide(self, region):
        """The bits of an offset that are set only beyond the region's end. Sizes are powers of two.

        Parameters
        ----------
        region : Value of Region
            A memory; without one, there are none.
        """
        ends = [(region == one).replicate(OFFSET_BITS + 1)
                & -self._config.region_bytes(one) for one in MEMORIES]
        return reduce(or_, ends)

    def _far_beyond(self, command, remote, external):
        """Whether the far side of a beat is."""
        config = self._config
        beyond = external[exact_log2(config.ext_bytes or 1):].any()
        if config.cores == 1:
            return beyond
        outside = ~in_mesh(remote.target, MeshConfig.of(config))
        return Mux(self._sends(command),
                   outside | self._beyond_one(RECEIVED, remote.region, external), beyond)

    def _beyond_one(self, regions, region, offset):
        return Cat((region == one) & offset[exact_log2(self._config.region_bytes(one)):].any()
                   for one in regions).any()

    def _sends(self, command):
        """Whether a command goes to other cores, if there are some."""
        if self._config.cores == 1:
            return Const(0)
        return (command.opcode == Opcode.SEND) | (command.opcode == Opcode.NOTIFY)
