"""One row of the array: an activation times the two weights of the row."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: An ``SB_MAC16`` as two multipliers of 8 x 8 bits, operands and products in its own registers.
#: ``synth_ice40 -dsp`` would rewrite it into an unregistered one of 16 x 16.
PARAMETERS = {
    "A_REG": 1, "B_REG": 1, "TOP_8x8_MULT_REG": 1, "BOT_8x8_MULT_REG": 1,
    "TOPOUTPUT_SELECT": 2, "BOTOUTPUT_SELECT": 2, "MODE_8x8": 1, "A_SIGNED": 1, "B_SIGNED": 1,
}
#: Its inputs that are not used.
_TIED = {"C": 16, "D": 16, "AHOLD": 1, "CHOLD": 1, "DHOLD": 1, "IRSTTOP": 1, "IRSTBOT": 1,
         "ORSTTOP": 1, "ORSTBOT": 1, "OLOADTOP": 1, "OLOADBOT": 1, "ADDSUBTOP": 1, "ADDSUBBOT": 1,
         "OHOLDTOP": 1, "OHOLDBOT": 1, "CI": 1, "ACCUMCI": 1, "SIGNEXTIN": 1}


class RowMultiplier(wiring.Component):
    """Two signed products a cycle, two cycles after their operands.

    Parameters
    ----------
    vendor : bool
        Take the part of the iCE40 UP5K; else its function, for simulation.

    Members
    -------
    activation : In(signed(8))
        A new one each cycle.
    weights : In(16)
        The row's weights, column 0 in the lower byte.
    load : In(1)
        Take the weights, for the activation of this cycle and the following ones.
    products : Out(32)
        Column 0 in the lower half, signed.
    """

    def __init__(self, *, vendor=False):
        self._vendor = vendor
        super().__init__({"activation": In(signed(8)), "weights": In(16), "load": In(1),
                          "products": Out(32)})

    def elaborate(self, platform):
        m = Module()
        if self._vendor:
            m.submodules.part = self._part()
            return m
        activation = Signal(signed(8))
        weights = Signal(16)
        m.d.sync += activation.eq(self.activation)
        with m.If(self.load):
            m.d.sync += weights.eq(self.weights)
        for column in range(2):
            product = Signal(signed(16), name=f"product_{column}")
            m.d.sync += product.eq(activation * weights.word_select(column, 8).as_signed())
            m.d.comb += self.products.word_select(column, 16).eq(product)
        return m

    def _part(self):
        tied = {f"i_{name}": Const(0, width) for name, width in _TIED.items()}
        parameters = {f"p_{name}": Const(value, 2 if name.endswith("SELECT") else 1)
                      for name, value in PARAMETERS.items()}
        return Instance("SB_MAC16", **parameters, **tied, i_CLK=ClockSignal(), i_CE=Const(1),
                        i_A=self.activation.as_unsigned().replicate(2), i_B=self.weights,
                        i_BHOLD=~self.load, o_O=self.products)
