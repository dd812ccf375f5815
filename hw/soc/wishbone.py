"""The signals of a Wishbone B4 bus."""
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Wishbone(wiring.Signature):
    """A Wishbone B4 bus, seen from its master, with the names of the specification.

    Parameters
    ----------
    data_bits : int
        Width of the data, a power of two of at least 8.
    address_bits : int
        Width of *byte* addresses. ``adr`` counts words of ``data_bits`` and has no bits for the
        place within a word.
    stall : bool
        Whether pipelined masters are served.

    Members
    -------
    cyc, stb, we : Out(1), adr : Out, sel : Out(data_bits // 8), dat_w : Out(data_bits)
        The access. ``sel`` says which bytes are meant.
    dat_r : In(data_bits), ack : In(1), err : In(1)
        The end of an access: done, or refused. ``dat_r`` is valid with ``ack``.
    stall : In(1)
        Pipelined masters keep ``stb`` while it is 1; classic ones leave it open. Only with
        ``stall``.
    """

    def __init__(self, *, data_bits, address_bits, stall=False):
        lanes = data_bits // 8
        super().__init__({
            "cyc": Out(1), "stb": Out(1), "we": Out(1),
            "adr": Out(address_bits - (lanes - 1).bit_length()), "sel": Out(lanes),
            "dat_w": Out(data_bits), "dat_r": In(data_bits),
            "ack": In(1), "err": In(1), **({"stall": In(1)} if stall else {}),
        })
