"""Products that keep their weights: the rows go through a tile of them before the next is read."""
from dataclasses import replace

from systolith.hw.isa import Command, Product


def stationary(command: Command) -> Command:
    """A product of rows inside of output tiles with the loops over rows and contraction swapped;
    any other command as it is.

    The sums are the same. But weight memory is read once for all rows, so what is sent out of it
    does not wait for the array.
    """
    if (not isinstance(command, Product) or command.wgt1_stride or command.acc0_stride
            or not command.acc1_stride):
        return command
    return replace(
        command, count0=command.count1, act0_stride=command.act1_stride, wgt0_stride=0,
        acc0_stride=command.acc1_stride, count1=command.count0, act1_stride=command.act0_stride,
        wgt1_stride=command.wgt0_stride, acc1_stride=0)
