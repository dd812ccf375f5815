"""The systolic array: rows of cells, sums that flow down, activations skewed to meet them."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.cell import CELL_LATENCY, CellRow
from systolith.hw.config import Config


class SystolicArray(wiring.Component):
    """``sums = activations @ weights``, one product of a row and a tile a cycle.

    Row ``r`` works ``r`` cycles after row 0. ``activations`` come at once and are delayed here;
    ``weights[r]`` come from the bank of the row ``r`` cycles after those of row 0. Latency
    ``latency`` from ``activations`` to ``sums``; a new beat and a new tile every cycle. Exact:
    ``config.chain_width`` bits hold any sum of ``rows`` products.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    activations : In(ArrayLayout(8, rows))
        Left operands.
    left_unsigned : In(1)
        They are unsigned.
    load : In(1)
        This beat takes new weights.
    weights : In(ArrayLayout(8, cols)).array(rows)
        Tile of weights, row ``r`` being ``r`` cycles late.
    sums : Out(signed(chain_width)).array(cols)
        Result, all columns together.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        super().__init__({
            "activations": In(data.ArrayLayout(8, config.rows)),
            "left_unsigned": In(1),
            "load": In(1),
            "weights": In(data.ArrayLayout(8, config.cols)).array(config.rows),
            "sums": Out(signed(config.chain_width)).array(config.cols),
        })

    @property
    def groups(self):
        """Column groups, each one cycle behind its left neighbour."""
        return self._config.column_groups

    @property
    def latency(self):
        """Cycles from ``activations`` to ``sums``."""
        return self._config.rows - 1 + CELL_LATENCY + self.groups - 1

    def elaborate(self, platform):
        m = Module()
        config = self._config
        chain = [Const(0, signed(config.chain_width))] * config.cols
        load, left_unsigned = self.load, self.left_unsigned
        for index in range(config.rows):
            row = CellRow(cols=config.cols, hop=config.hop, chain_width=config.chain_width)
            m.submodules[f"row_{index}"] = row
            m.d.comb += [
                row.activation.eq(self._skewed(m, index)),
                row.left_unsigned.eq(left_unsigned), row.load.eq(load),
                row.weights.eq(self.weights[index]),
                *(row.above[column].eq(chain[column]) for column in range(config.cols)),
            ]
            chain = row.below
            if index + 1 < config.rows:
                load = self._register(m, load, f"load_{index + 1}")
                left_unsigned = self._register(m, left_unsigned, f"left_unsigned_{index + 1}")
        for column in range(config.cols):
            m.d.comb += self.sums[column].eq(self._aligned(m, column, chain[column]))
        return m

    def _skewed(self, m, row):
        """The activation of a row, as many cycles late as there are rows above it."""
        arriving = self.activations[row]
        if row == 0:
            return arriving
        # One wide register, oldest byte on top: far cheaper to simulate than ``row`` narrow ones.
        skew = Signal(8 * row, name=f"skew_{row}", reset_less=True)
        m.d.sync += skew.eq(Cat(arriving, skew)[:8 * row])
        return skew[-8:]

    def _aligned(self, m, column, total):
        """A column's sum, late enough to meet the last column group."""
        group = column // self._config.hop if self._config.hop else 0
        for step in range(self.groups - 1 - group):
            total = self._register(m, total, f"sum_{column}_late_{step}")
        return total

    @staticmethod
    def _register(m, value, name):
        later = Signal(value.shape(), name=name, reset_less=True)
        m.d.sync += later.eq(value)
        return later
