"""Values of some cycles ago, which proofs compare with what a pipeline does."""
from amaranth import *


def history(m, value, cycles):
    """``value`` a number of cycles ago, 0 before there was one."""
    value = Value.cast(value)
    line = Signal(len(value) * cycles, name="history")
    m.d.sync += line.eq(Cat(value, line)[:len(line)])
    return line[-len(value):]
