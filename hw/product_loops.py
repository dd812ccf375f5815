"""Address generator of the matrix engine: turns a product command into one beat a cycle."""
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import Config
from systolith.hw.interfaces import command_layout
from systolith.hw.isa import Cause, Product

#: Bits of an address and of a stride in a command. The address of a beat has one more, so a step
#: from an address inside a memory never wraps, and one outside is always seen when it is used.
_ADDRESS = 16

_LOOPS = 3


class ProductLoops(wiring.Component):
    """Walks through the three loops of a product, one beat a cycle, without a gap between commands.

    A command is taken when none is active, or in the cycle of the active one's last beat; its
    first beat is issued in the cycle after. A beat with an address outside a memory is not issued,
    nor is any after it until the next reset; the same goes for all beats of a command with a
    zero count.

    Parameters
    ----------
    config : Config
        Depths of the memories.

    Members
    -------
    command : In(stream of command_layout(Product))
        Commands.
    halt : In(1)
        Nothing is issued and no command is taken.
    active : Out(1)
        A command is being issued.
    stall : Out(1)
        Active, but without a beat: halted or at fault.
    error : Out(1)
        One cycle: the active command is at fault.
    cause : Out(4)
        Number of the ``Cause`` of the error, else 0.
    beat : Out
        ``valid``, ``first`` (set the accumulators rather than add), ``last`` (of its command),
        ``load`` (new weights), ``left_unsigned``, and the addresses ``act``, ``wgt`` and ``acc``.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._depths = {"act": config.act_depth, "wgt": config.wgt_depth, "acc": config.acc_depth}
        super().__init__({
            "command": In(stream.Signature(command_layout(Product))),
            "halt": In(1), "active": Out(1), "stall": Out(1), "error": Out(1), "cause": Out(4),
            "beat": Out(wiring.Signature({
                "valid": Out(1), "first": Out(1), "last": Out(1), "load": Out(1),
                "left_unsigned": Out(1),
                **{name: Out(range(depth)) for name, depth in self._depths.items()},
            })),
        })

    def elaborate(self, platform):
        m = Module()
        issue, busy, failed, last = Signal(), Signal(), Signal(), Signal()
        sound = Signal()  # busy, and no count is zero
        outside = Signal()  # the beat is at fault
        # The next state is that of a new command, or the next beat's; and there is a next state.
        # Whether a beat is issued is known last: it only decides whether registers go on.
        fresh, goes = Signal(), Signal()
        flags, ends = self._loops(m, fresh, goes)
        payload, ready = self.command.payload, Signal()
        m.d.comb += [
            last.eq(ends.all()), fresh.eq(~busy | last),
            issue.eq(sound & ~self.halt & ~outside),
            self.error.eq(busy & ~self.halt & (~sound | outside)),
            self.cause.eq(Mux(self.error, Mux(sound, Cause.ADDRESS, Cause.ZERO_LOOP), Cause.NONE)),
            ready.eq(~self.halt & ~failed & ~busy),
            self.command.ready.eq(ready | (issue & last)),
            goes.eq(issue | (ready & self.command.valid)),
            self.active.eq(busy),
            self.stall.eq(busy & ~issue),
            self.beat.valid.eq(issue),
            self.beat.last.eq(last),
            self.beat.first.eq(flags.first),
            self.beat.load.eq(issue & flags.load),
            self.beat.left_unsigned.eq(flags.left_unsigned),
        ]
        beyond = [self._address(m, name, fresh, goes, ends) for name in self._depths]
        m.d.comb += outside.eq(Cat(beyond).any())
        counts = [payload[f"count{loop}"] for loop in range(_LOOPS)]
        with m.If(self.error):
            m.d.sync += [busy.eq(0), sound.eq(0), failed.eq(1)]
        with m.Elif(goes):
            with m.If(fresh):
                m.d.sync += [busy.eq(self.command.valid), sound.eq(
                    self.command.valid & Cat(count.any() for count in counts).all())]
        return m

    def _loops(self, m, fresh, goes):
        """Counters of the loops. Gives the flags of the beat, and which loops end with it."""
        payload = self.command.payload
        flags = Signal(data.StructLayout({"first": 1, "load": 1, "left_unsigned": 1}))
        # Bits that are set in time: a beat's issue depends on the ends.
        ends, once = Signal(_LOOPS, reset_less=True), Signal(_LOOPS, reset_less=True)
        starts, resets = Signal(_LOOPS), Signal(_LOOPS)
        left_unsigned, accumulate = Signal(reset_less=True), Signal(reset_less=True)
        # Which strides are not zero: of the accumulators in each loop, of the weights in loop 0.
        moves, reloads = Signal(_LOOPS, reset_less=True), Signal(reset_less=True)
        with m.If(goes & fresh):
            m.d.sync += [
                left_unsigned.eq(payload.left_unsigned), accumulate.eq(payload.accumulate),
                moves.eq(Cat(payload[f"acc{loop}_stride"].any() for loop in range(_LOOPS))),
                reloads.eq(payload.wgt0_stride.any()),
            ]
        m.d.comb += [
            flags.first.eq(~accumulate & (starts | moves).all()),
            flags.load.eq(starts[0] | reloads),
            flags.left_unsigned.eq(left_unsigned),
        ]
        for loop in range(_LOOPS):
            count = Signal(16, name=f"count_{loop}", reset_less=True)
            remaining = Signal(16, name=f"remaining_{loop}", reset_less=True)
            start = Signal(name=f"start_{loop}", reset_less=True)
            inner_end = ends[:loop].all()
            m.d.comb += [starts[loop].eq(start), resets[loop].eq(inner_end & ends[loop])]
            new = payload[f"count{loop}"]
            with m.If(goes):
                with m.If(fresh):
                    m.d.sync += [count.eq(new), remaining.eq(new), start.eq(1),
                                 ends[loop].eq(new == 1), once[loop].eq(new == 1)]
                with m.Elif(resets[loop]):
                    m.d.sync += [remaining.eq(count), start.eq(1), ends[loop].eq(once[loop])]
                with m.Elif(inner_end):
                    m.d.sync += [remaining.eq((remaining - 1)[:16]), start.eq(0),
                                 ends[loop].eq(remaining == 2)]
        return flags, ends

    def _address(self, m, name, fresh, goes, ends):
        """Address of one memory; gives a register: whether it is outside of it.

        ``now`` is the beat's; ``start_1`` and ``start_2`` are where the present rounds of loop 1
        and loop 2 started. The next one is a stride further than the one of these that belongs to
        the innermost loop that goes on.
        """
        payload, port = self.command.payload, getattr(self.beat, name)
        now = Signal(_ADDRESS + 1, name=f"{name}_now", reset_less=True)
        following = Signal(_ADDRESS + 1, name=f"{name}_next")
        start_1 = Signal(_ADDRESS, name=f"{name}_start_1", reset_less=True)
        start_2 = Signal(_ADDRESS, name=f"{name}_start_2", reset_less=True)
        strides = [Signal(_ADDRESS, name=f"{name}_stride_{loop}", reset_less=True)
                   for loop in range(_LOOPS)]
        # The operands are chosen, not the sums: one adder. A beat is issued only where the top bit
        # of its address is 0, so the origins need none.
        origin = Mux(ends[0], Mux(ends[1], start_2, start_1), now[:_ADDRESS])
        stride = Mux(ends[0], Mux(ends[1], strides[2], strides[1]), strides[0])
        m.d.comb += following.eq(origin + stride)
        beyond = Signal(name=f"{name}_beyond", reset_less=True)
        base = payload[f"{name}_base"]
        with m.If(goes):
            with m.If(fresh):
                m.d.sync += [register.eq(base) for register in (now, start_1, start_2)]
                m.d.sync += beyond.eq(base[len(port):].any())
                m.d.sync += [stride.eq(payload[f"{name}{loop}_stride"])
                             for loop, stride in enumerate(strides)]
            with m.Else():
                m.d.sync += [now.eq(following), beyond.eq(following[len(port):].any())]
                with m.If(ends[0]):
                    m.d.sync += start_1.eq(following[:_ADDRESS])
                with m.If(ends[:2].all()):
                    m.d.sync += start_2.eq(following[:_ADDRESS])
        m.d.comb += port.eq(now[:len(port)])
        return beyond
