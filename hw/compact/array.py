"""The array: eight rows of two columns, and the accumulators below it."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.compact.multiplier import RowMultiplier
from systolith.hw.config import Config

#: Cycles from a beat's issue to the read of its accumulators; their write is one later.
ACCUMULATOR_CYCLE = 4


class CompactArray(wiring.Component):
    """Sums the products of all rows, the upper four rows one cycle ahead of the others.

    A beat is issued in cycle 0. In cycle 1 the memories show the upper rows' activations and, where
    it loads, weights; in cycle 2 those of the lower rows. In cycle ``ACCUMULATOR_CYCLE + 1`` the
    beat's sums are there.

    Unsigned activations have their sign bit inverted, which takes 128 off; 128 times the sum of
    the column's weights comes back beside the first products.

    Parameters
    ----------
    config : Config
        Sizes.
    vendor : bool
        See :class:`RowMultiplier`.

    Members
    -------
    activations : In(64)
        Bytes of the rows: the lower 32 bits in cycle 1, the upper in cycle 2.
    weights : In(64)
        Two bytes a row: of the upper four rows in cycle 1, of the others in cycle 2.
    load : In(2)
        Bit i: weights come in this cycle, which is cycle ``i + 1`` of their beat.
    unsigned : In(1)
        The activations have no sign; constant while beats are under way.
    sums : Out(signed(20)) of each column
        As ``sums_0`` and ``sums_1``.
    """

    def __init__(self, *, config, vendor=False):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config, self._vendor = config, vendor
        super().__init__({
            "activations": In(64), "weights": In(64), "load": In(2), "unsigned": In(1),
            **{f"sums_{column}": Out(signed(config.chain_width))
               for column in range(config.cols)}})

    def elaborate(self, platform):
        m = Module()
        half = self._config.rows // 2
        products = [self._row(m, row, row // half) for row in range(self._config.rows)]
        for column in range(self._config.cols):
            parts = [product.word_select(column, 16).as_signed() for product in products]
            upper = Signal(signed(self._config.chain_width), name=f"upper_{column}")
            m.d.sync += [
                upper.eq(_sum(parts[:half]) + (self._correction(m, column) << 7)),
                getattr(self, f"sums_{column}").eq(upper + _sum(parts[half:])),
            ]
        return m

    def _row(self, m, row, half):
        m.submodules[f"row_{row}"] = multiplier = RowMultiplier(vendor=self._vendor)
        activation = self.activations.word_select(row, 8)
        m.d.comb += [
            multiplier.activation.eq(activation ^ (self.unsigned << 7)),
            multiplier.weights.eq(self.weights.word_select(row % 4, 16)),
            multiplier.load.eq(self.load[half]),
        ]
        return multiplier.products

    def _correction(self, m, column):
        """The sum of the column's weights, where activations have no sign; from cycle 3 on."""
        shown = _sum([self.weights.word_select(2 * row + column, 8).as_signed()
                      for row in range(4)])
        upper = Signal(signed(10), name=f"upper_weights_{column}")
        total = Signal(signed(11), name=f"weights_{column}")
        with m.If(self.load[0]):
            m.d.sync += upper.eq(shown)
        with m.If(~self.unsigned):
            m.d.sync += total.eq(0)
        with m.Elif(self.load[1]):
            m.d.sync += total.eq(upper + shown)
        return total


def _sum(parts):
    """Of four numbers, in pairs."""
    return (parts[0] + parts[1]) + (parts[2] + parts[3])
