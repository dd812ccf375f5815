"""Orders of a product's loops that leave the ports of memories to others.

The lowerings write a row's whole contraction innermost: the array then reads a tile of weights in
every cycle, and accumulators never, for it still has the sum. The sums are the same in any order.
"""
from collections.abc import Iterator
from dataclasses import replace

from systolith.hw.isa import Command, Product

#: Rows between which the array still has the sums, and that share a read of weights.
PAIR = 2


def stationary(command: Command) -> Command:
    """A product with its rows innermost: weight memory is read once for all of them, so what is
    sent out of it does not wait for the array; but accumulators are read in every cycle. Any other
    command, or one in another order already, as it is."""
    if not isinstance(command, Product) or not _is_plain(command):
        return command
    return _rows_innermost(command)


def paired(command: Command) -> Iterator[Command]:
    """A product in pairs of rows: weight memory is read in every other cycle, accumulators never.
    Costs a command for each pair."""
    if not isinstance(command, Product) or not _is_plain(command):
        yield command
        return
    for row in range(0, command.count1, PAIR):
        yield _rows_innermost(replace(
            command, count1=min(PAIR, command.count1 - row),
            act_base=command.act_base + row * command.act1_stride,
            acc_base=command.acc_base + row * command.acc1_stride))


def _is_plain(command: Product) -> bool:
    """Whether the innermost loop is the contraction, and the next one the rows."""
    return not command.wgt1_stride and not command.acc0_stride and bool(command.acc1_stride)


def _rows_innermost(command: Product) -> Product:
    return replace(
        command, count0=command.count1, act0_stride=command.act1_stride, wgt0_stride=0,
        acc0_stride=command.acc1_stride, count1=command.count0, act1_stride=command.act0_stride,
        wgt1_stride=command.wgt0_stride, acc1_stride=0)
