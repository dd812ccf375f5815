"""The address generator of the mover."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import MEMORIES, OFFSET_BITS, Region
from systolith.hw.interfaces import command_layout
from systolith.hw.isa import Cause, Load, Opcode

#: What can be loaded, and stored.
LOADED = (Region.ACT, Region.WGT, Region.VEC, Region.CONST)
STORED = (*LOADED, Region.ACC)

EXTERNAL_BITS = 32


def mover_layout():
    """What the mover sees of a command: the operation code, and the fields of a load, which stand
    where those of a store stand."""
    return data.StructLayout({"opcode": 4, "load": command_layout(Load)})


class MoveWalk(wiring.Component):
    """Walks through the beats of a move, one a cycle, without a gap between commands.

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
        memory, and whether it is the command's last.
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
        })

    def elaborate(self, platform):
        m = Module()
        command = Signal(mover_layout())
        move = command.load
        # Addresses have a carry: beyond the end is an error, not the beginning.
        offset, run_offset = Signal(OFFSET_BITS + 1), Signal(OFFSET_BITS + 1)
        external, run_external = Signal(EXTERNAL_BITS + 1), Signal(EXTERNAL_BITS + 1)
        rows = Signal(16)  # left, the present one included
        row_bytes = Signal(16)  # left of the present row, the present beat included
        run_end, move_end = Signal(), Signal()
        walking = Signal()  # beats are left to be checked
        offered = Signal()  # a checked one is in the registers
        cause = Signal(Cause)
        free = Signal()
        step = Signal()
        m.d.comb += [
            run_end.eq(row_bytes == self._config.bus_bytes), move_end.eq(run_end & (rows == 1)),
            self.valid.eq(offered & ~self.halt), self.busy.eq(walking | offered),
            free.eq(~offered | self.next), step.eq(walking & free & (cause == Cause.NONE)),
            # A fault is told when all beats before it have been taken.
            self.cause.eq(Mux(offered, Cause.NONE, cause)),
            self.command.ready.eq(~walking | (step & move_end)),
        ]
        with m.If(free):
            m.d.sync += [
                offered.eq(step), self.store.eq(command.opcode == Opcode.STORE),
                self.region.eq(move.region), self.offset.eq(offset),
                self.external.eq(external), self.last.eq(move_end),
            ]
        with m.If(step & run_end):
            new_offset = (run_offset + move.stride)[:len(offset)]
            new_external = (run_external + move.ext_stride)[:len(external)]
            m.d.sync += [offset.eq(new_offset), run_offset.eq(new_offset),
                         external.eq(new_external), run_external.eq(new_external),
                         rows.eq(rows - 1), row_bytes.eq(move.row_bytes)]
        with m.Elif(step):
            size = self._config.bus_bytes
            m.d.sync += [offset.eq(offset + size), external.eq(external + size),
                         row_bytes.eq(row_bytes - size)]
        new = self.command.p.load
        with m.If(self.command.ready):
            m.d.sync += [walking.eq(self.command.valid), command.eq(self.command.payload),
                         offset.eq(new.base), run_offset.eq(new.base),
                         external.eq(new.ext_base), run_external.eq(new.ext_base),
                         rows.eq(new.rows), row_bytes.eq(new.row_bytes)]
        self._check(m, command, offset, external, walking, cause)
        return m

    def _check(self, m, command, offset, external, walking, cause):
        config, move = self._config, command.load
        aligned = ~Cat(field[:config.bus_bytes.bit_length() - 1] for field in (
            move.row_bytes, move.base, move.stride, move.ext_base,
            move.ext_stride)).any()
        beyond, allowed = Signal(), Signal()
        for region in MEMORIES:
            with m.If(move.region == region):
                m.d.comb += [
                    beyond.eq(offset >= config.region_bytes(region)),
                    allowed.eq(int(region in LOADED)
                               | ((command.opcode == Opcode.STORE) & int(region in STORED))),
                ]
        remote = (command.opcode == Opcode.SEND) | (command.opcode == Opcode.NOTIFY)
        with m.If(~walking):
            m.d.comb += cause.eq(Cause.NONE)
        with m.Elif(command.opcode == Opcode.NOTIFY):
            m.d.comb += cause.eq(Cause.ILLEGAL)
        with m.Elif((move.rows == 0) | (move.row_bytes == 0)):
            m.d.comb += cause.eq(Cause.ZERO_LOOP)
        with m.Elif(remote | ~(allowed & aligned) | int(not config.ext_bytes)):
            m.d.comb += cause.eq(Cause.ILLEGAL)
        with m.Elif(beyond | (external >= max(config.ext_bytes, 1))):
            m.d.comb += cause.eq(Cause.ADDRESS)
