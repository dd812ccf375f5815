"""A row of cells. Each cell multiplies and adds once a cycle.

The row, not the cell, is the component: hundreds of modules as small as a cell would make the
Verilog long and the simulator slow to build.
"""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

#: Cycles from an activation at a row's input to the sum that holds its product, in column group 0.
CELL_LATENCY = 3

#: Bits of a product: from 255 * -128 = -32640 to 255 * 127 = 32385, and -128 * -128 = 16384.
PRODUCT_WIDTH = 16


class CellRow(wiring.Component):
    """``below[c] = above[c] + activation * weight[c]`` for every column, every cycle.

    A cell has an operand register for the weight, a product register and a sum register; the
    register of the activation is shared by ``hop`` columns. All run freely. Latency
    ``CELL_LATENCY`` from ``activation``, 1 from ``above``. Column group ``g`` is ``g`` cycles
    later than group 0, at ``above`` and ``below`` as well.

    Parameters
    ----------
    cols : int
        Cells in the row, at least 1.
    hop : int
        Columns that share an activation register; 0: all. A divisor of ``cols``.
    chain_width : int
        Bits of a sum, at least ``PRODUCT_WIDTH``; wide enough that no sum wraps.

    Members
    -------
    activation : In(8)
        Left operand.
    left_unsigned : In(1)
        ``activation`` is unsigned.
    weights : In(ArrayLayout(8, cols))
        Right operands, signed, taken together with the activation of the same cycle where ``load``.
    load : In(1)
        Takes ``weights``; otherwise the former ones stay.
    above : In(signed(chain_width)).array(cols)
        Sums of the row above.
    below : Out(signed(chain_width)).array(cols)
        Sums for the row below.

    Raises
    ------
    ValueError
        When a parameter is outside its limit.
    """

    def __init__(self, *, cols, hop, chain_width):
        if not isinstance(cols, int) or cols < 1:
            raise ValueError(f"cols must be a positive integer, not {cols!r}")
        if not isinstance(hop, int) or hop < 0 or (hop and cols % hop):
            raise ValueError(f"hop must be 0 or a divisor of cols ({cols}), not {hop!r}")
        if not isinstance(chain_width, int) or chain_width < PRODUCT_WIDTH:
            raise ValueError(f"chain_width must be an integer of at least {PRODUCT_WIDTH}, "
                             f"not {chain_width!r}")
        self._cols, self._hop, self._chain_width = cols, hop or cols, chain_width
        super().__init__({
            "activation": In(8),
            "left_unsigned": In(1),
            "weights": In(data.ArrayLayout(8, cols)),
            "load": In(1),
            "above": In(signed(chain_width)).array(cols),
            "below": Out(signed(chain_width)).array(cols),
        })

    def elaborate(self, platform):
        m = Module()
        # A ninth bit makes both kinds of left operand signed.
        sign = self.activation[7] & ~self.left_unsigned
        left = Cat(self.activation, sign).as_signed()
        for group in range(self._cols // self._hop):
            operand = Signal(signed(9), name=f"activation_{group}", reset_less=True)
            m.d.sync += operand.eq(left)
            self._cells(m, group, operand)
            left = operand
        return m

    def _cells(self, m, group, operand):
        """The cells that share the activation register of one group."""
        first = group * self._hop
        width = 8 * self._hop
        arriving = self.weights.as_value()[8 * first:8 * first + width]
        arriving, load = self._delayed(m, group, arriving)
        weights = Signal(width, name=f"weights_{group}", reset_less=True)
        with m.If(load):
            m.d.sync += weights.eq(arriving)
        for place in range(self._hop):
            column = first + place
            # As wide as the sum, so that the Verilog adds equal widths; copies of the sign merge.
            product = Signal(signed(self._chain_width), name=f"product_{column}", reset_less=True)
            total = Signal.like(product, name=f"sum_{column}", reset_less=True)
            weight = weights[8 * place:8 * place + 8].as_signed()
            m.d.sync += [
                product.eq((operand * weight)[:PRODUCT_WIDTH].as_signed()),
                total.eq((self.above[column] + product)[:self._chain_width].as_signed()),
            ]
            m.d.comb += self.below[column].eq(total)

    def _delayed(self, m, group, weights):
        """Weights and load bit of a group, as late as its activation is."""
        load = self.load
        for hop in range(group):
            name = f"_{group}_hop_{hop}"
            later_weights = Signal(len(weights), name="arriving" + name, reset_less=True)
            later_load = Signal(name="load" + name, reset_less=True)
            m.d.sync += [later_weights.eq(weights), later_load.eq(load)]
            weights, load = later_weights, later_load
        return weights, load
