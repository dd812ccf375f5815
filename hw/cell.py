"""A row of cells. Each cell multiplies and adds once a cycle.

The row, not the cell, is the component: hundreds of modules as small as a cell would make the
Verilog long and the simulator slow to build.
"""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.lut_multiplier import LATENCY, LutMultipliers

#: Bits of a product: from 255 * -128 = -32640 to 255 * 127 = 32385, and -128 * -128 = 16384.
PRODUCT_WIDTH = 16


def cell_latency(multiply_cycles):
    """Cycles from an activation at a row's input to the sum that holds its product, in column group
    0: an operand register, those of the multiplication, a sum register."""
    return multiply_cycles + 2


class CellRow(wiring.Component):
    """``below[c] = above[c] + activation * weight[c]`` for every column, every cycle.

    A cell has an operand register for the weight, ``multiply_cycles`` registers of a product and a
    sum register; the register of the activation is shared by ``hop`` columns. All run freely.
    Latency ``cell_latency(multiply_cycles)`` from ``activation``, 1 from ``above``. Column group
    ``g`` is ``g`` cycles later than group 0, at ``above`` and ``below`` as well.

    Parameters
    ----------
    cols : int
        Cells in the row, at least 1.
    hop : int
        Columns that share an activation register; 0: all. A divisor of ``cols``.
    chain_width : int
        Bits of a sum, at least ``PRODUCT_WIDTH``; wide enough that no sum wraps.
    multiply_cycles : int
        Cycles from operands to product, 1 or 2.
    lut_columns : int
        Columns, the last ones, that multiply by :class:`LutMultipliers`; none where
        ``multiply_cycles`` is 1.

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

    def __init__(self, *, cols, hop, chain_width, multiply_cycles=1, lut_columns=0):
        if not isinstance(cols, int) or cols < 1:
            raise ValueError(f"cols must be a positive integer, not {cols!r}")
        if not isinstance(hop, int) or hop < 0 or (hop and cols % hop):
            raise ValueError(f"hop must be 0 or a divisor of cols ({cols}), not {hop!r}")
        if not isinstance(chain_width, int) or chain_width < PRODUCT_WIDTH:
            raise ValueError(f"chain_width must be an integer of at least {PRODUCT_WIDTH}, "
                             f"not {chain_width!r}")
        if multiply_cycles not in (1, LATENCY):
            raise ValueError(f"multiply_cycles must be 1 or {LATENCY}, not {multiply_cycles!r}")
        most = cols if multiply_cycles == LATENCY else 0
        if not isinstance(lut_columns, int) or not 0 <= lut_columns <= most:
            raise ValueError(f"lut_columns must be an integer from 0 to {most} where "
                             f"multiply_cycles is {multiply_cycles}, not {lut_columns!r}")
        self._cols, self._hop, self._chain_width = cols, hop or cols, chain_width
        self._multiply_cycles, self._dsp_columns = multiply_cycles, cols - lut_columns
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
        for place, product in enumerate(self._products(m, group, operand, weights)):
            column = first + place
            total = Signal.like(product, name=f"sum_{column}", reset_less=True)
            m.d.sync += total.eq((self.above[column] + product)[:self._chain_width].as_signed())
            m.d.comb += self.below[column].eq(total)

    def _products(self, m, group, operand, weights):
        """Products of a group, as wide as a sum, so that the Verilog adds equal widths; copies of
        the sign merge."""
        first = group * self._hop
        multipliers = min(max(self._dsp_columns - first, 0), self._hop)
        products = [Signal(signed(self._chain_width), name=f"product_{first + place}",
                           reset_less=True) for place in range(self._hop)]
        for place, product in enumerate(products[:multipliers]):
            weight = weights.word_select(place, 8).as_signed()
            result = (operand * weight)[:PRODUCT_WIDTH].as_signed()
            if self._multiply_cycles == LATENCY:
                # The register that is part of the FPGA's multiplier; the next is near the sum.
                early = Signal.like(result, name=f"early_{first + place}", reset_less=True)
                m.d.sync += early.eq(result)
                result = early
            m.d.sync += product.eq(result)
        if multipliers < self._hop:
            luts = LutMultipliers(cols=self._hop - multipliers)
            m.submodules[f"multipliers_{group}"] = luts
            m.d.comb += [luts.left.eq(operand), luts.rights.eq(weights[8 * multipliers:])]
            m.d.comb += [product.eq(result) for product, result in zip(
                products[multipliers:], luts.products, strict=True)]
        return products

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
