"""The array with its weight memory alone, to compare with one written by hand."""
from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.array import SystolicArray
from systolith.hw.config import Config
from systolith.hw.weight_memory import WeightMemory


class ArrayWithWeights(wiring.Component):
    """What the matrix engine has without its address generator: a beat and a tile every cycle.

    Parameters
    ----------
    config : Config
        Sizes; as many lanes as columns.

    Members
    -------
    activations : In(8 * rows), left_unsigned, load : In(1), address : In
        A beat, and the address of its tile where ``load``.
    write_banks : In(rows), write_address : In, write_data : In(8 * cols)
        Writes the word of the chosen banks.
    sums : Out(chain_width * cols)
        Of the beat ``rows + 3`` cycles before.
    """

    def __init__(self, *, config: Config):
        self._config = config
        address = range(config.wgt_depth)
        super().__init__({
            "activations": In(8 * config.rows), "left_unsigned": In(1), "load": In(1),
            "address": In(address), "write_banks": In(config.rows), "write_address": In(address),
            "write_data": In(8 * config.cols), "sums": Out(config.chain_width * config.cols),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = SystolicArray(config=self._config)
        m.submodules.weights = weights = WeightMemory(config=self._config)
        # As in the engine: both memories answer one cycle after the beat.
        m.d.sync += [array.activations.eq(self.activations), array.load.eq(self.load),
                     array.left_unsigned.eq(self.left_unsigned)]
        m.d.comb += [
            weights.array.load.eq(self.load), weights.array.address.eq(self.address),
            weights.write.valid.eq(self.write_banks.any()),
            weights.write.bank_mask.eq(self.write_banks), weights.write.lane_mask.eq(~0),
            weights.write.address.eq(self.write_address), weights.write.data.eq(self.write_data),
            *(array.weights[row].eq(word) for row, word in enumerate(weights.array.data)),
            self.sums.eq(Cat(array.sums)),
        ]
        return m
