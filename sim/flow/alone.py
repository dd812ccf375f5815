"""A block alone in an FPGA: all its ports end in registers, so only its own paths are timed."""
from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Name of the top module.
TOP = "alone"


class Alone(wiring.Component):
    """Two chains of registers around a block, as an FPGA has fewer pins than a block has ports.

    Nothing of the block is optimized away: each input bit comes from a register of one chain, and
    each output bit changes, a register later, a bit of the other chain.

    Parameters
    ----------
    block : wiring.Component
        The block; works in the domain ``sync``.

    Members
    -------
    i : In(1)
        Start of both chains.
    o : Out(1)
        End of the chain of outputs.
    """

    def __init__(self, *, block):
        self._block = block
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self._block
        ports = {In: [], Out: []}
        for _, member, value in block.signature.flatten(block):
            ports[member.flow].append(Value.cast(value))
        inputs, outputs = Cat(ports[In]), Cat(ports[Out])
        given, taken, mixed = (Signal(len(bits), name=name, reset_less=True) for name, bits in (
            ("given", inputs), ("taken", outputs), ("mixed", outputs)))
        m.d.comb += [inputs.eq(given), self.o.eq(mixed[-1])]
        m.d.sync += [given.eq(Cat(self.i, given)), taken.eq(outputs),
                     mixed.eq(Cat(self.i, mixed) ^ taken)]
        return m
