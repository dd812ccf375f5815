"""Decoding of a number into one bit for each of its values."""
from amaranth import *


def one_hot(m, select, count, *, name):
    """A signal of ``count`` bits in which only bit ``select`` is set, in the same cycle.

    Parameters
    ----------
    m : Module
        Gets the decoder.
    select : Value
        Number below ``count``.
    count : int
        Number of values, at least 1.
    name : str
        Name of the signal.
    """
    hot = Signal(count, name=name)
    with m.Switch(select):
        for index in range(count):
            with m.Case(index) if index + 1 < count else m.Default():
                m.d.comb += hot.eq(1 << index)
    return hot


def placed(mask, hot):
    """The mask of a wide word: ``mask`` in the part whose bit of ``hot`` is set, 0 elsewhere."""
    return Cat(mask & part.replicate(len(mask)) for part in hot)
