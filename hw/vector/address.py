"""Address generator of a pass."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

#: Bits of a word address, one more than a command can give: an address past the end of the largest
#: memory is seen as such and does not wrap around.
ADDRESS_BITS = 17


class AddressGenerator(wiring.Component):
    """Word address and place in the word of each beat: rows of tiles of beats.

    ``base + row * row_step + tile * tile_step`` by additions alone. Since each address is checked
    before it is used, one addition never leaves :data:`ADDRESS_BITS`.

    Parameters
    ----------
    place_bits : int
        Bits of the place, at least 1.
    depths : sequence of int
        Depths of memories, powers of two, that the address may be for.

    Members
    -------
    advance : In(1)
        Go on to the next beat.
    load : In(1)
        Start at ``base`` instead.
    base : In(16)
        First word.
    row_end : In(1)
        The present beat is the last of its row.
    row_step, tile_step : In(16)
        Words from row to row (for this row) and from tile to tile.
    last_place : In(place_bits)
        Beats in a tile, minus 1.
    address : Out(17)
        Word of the present beat.
    place : Out(place_bits)
        Which beat of its tile it is.
    relevant : In(len(depths))
        Bit i: the address is for that memory; with ``load``, from then on.
    past : Out(1)
        The address is past the end of a relevant memory. A register: what decides whether a beat
        starts must be short.
    """

    def __init__(self, *, place_bits, depths=()):
        if place_bits < 1:
            raise ValueError(f"place_bits must be at least 1, not {place_bits}")
        self._depths = tuple(depths)
        super().__init__({
            "load": In(1), "base": In(16), "advance": In(1), "row_end": In(1),
            "row_step": In(16), "tile_step": In(16), "last_place": In(place_bits),
            "address": Out(ADDRESS_BITS), "place": Out(place_bits),
            "relevant": In(len(self._depths)), "past": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        row = Signal(ADDRESS_BITS, reset_less=True)
        following = Signal(ADDRESS_BITS)
        tile_end = self.place == self.last_place
        m.d.comb += following.eq(Mux(self.row_end, row, self.address)
                                 + Mux(self.row_end, self.row_step, self.tile_step))
        with m.If(self.advance):
            with m.If(self.load):
                m.d.sync += [row.eq(self.base), self.address.eq(self.base), self.place.eq(0),
                             self.past.eq(self._past(self.base))]
            with m.Else():
                m.d.sync += self.place.eq(Mux(self.row_end | tile_end, 0, self.place + 1))
                with m.If(self.row_end):
                    m.d.sync += row.eq(following)
                with m.If(self.row_end | tile_end):
                    m.d.sync += [self.address.eq(following), self.past.eq(self._past(following))]
        return m

    def _past(self, address):
        return (self.relevant
                & Cat(address[exact_log2(depth):].any() for depth in self._depths)).any()
