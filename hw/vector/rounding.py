"""Rounding and saturation of signed numbers, as expressions that the pipelines are built of."""
from amaranth import *


def saturate(x, bits):
    """``x`` clamped to the range of a signed number of ``bits`` bits, which is its shape."""
    if len(x) <= bits:
        return x.as_signed()
    top, sign = x[bits - 1:], x[-1]
    # The ends are constants: repeating the sign bit would write its expression out as often.
    limit = Mux(sign, Const(1 << bits - 1, bits), Const((1 << bits - 1) - 1, bits))
    return Mux(top.all() | ~top.any(), x[:bits], limit).as_signed()


def round_up(quotient, guard, sticky):
    """Whether a quotient must be incremented: half to even.

    ``guard`` is the bit below the quotient's last, ``sticky`` whether any bit below that is set.
    """
    return guard & (sticky | quotient[0])


def rounding_shift(x, shift):
    """``x / 2**shift`` for a constant ``shift`` of at least 1, ties to even.

    The shape is that of ``x`` without ``shift - 1`` bits: rounding can carry into one more bit.
    """
    quotient = x[shift:].as_signed()
    sticky = x[:shift - 1].any() if shift > 1 else Const(0)
    return (quotient + round_up(quotient, x[shift - 1], sticky))[:len(quotient) + 1].as_signed()


def shift_stage(m, x, sticky, amount, step, name):
    """Arithmetic right shift by ``amount * step`` and the OR of ``sticky`` with all bits lost.

    One stage of a barrel shifter; the shape of ``x`` is kept. Each bit's result is a signal of
    its own: an expression that is used several times would be written out as often.
    """
    width = len(x)
    for bit, selected in enumerate(amount):
        places = min(step << bit, width - 1)
        lost = x[:places].any()
        shifted = Signal(signed(width), name=f"{name}_{bit}")
        m.d.comb += shifted.eq(Mux(selected, Cat(x[places:], x[-1].replicate(places)), x))
        x, sticky = shifted, sticky | (selected & lost)
    return x, sticky
