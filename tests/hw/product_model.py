"""What a product command does to the accumulators, beat by beat, in NumPy."""
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from systolith.hw.isa import Product
from systolith.sw.reference import numerics


class Beat(NamedTuple):
    """Addresses and flags of one beat."""

    act: int
    wgt: int
    acc: int
    first: bool
    load: bool


def beats(command: Product) -> Iterator[Beat]:
    """The beats of a command in order."""
    counts = [command.count2, command.count1, command.count0]
    for i2, i1, i0 in itertools.product(*map(range, counts)):
        indices = (i0, i1, i2)

        def address(name, indices=indices):
            return getattr(command, f"{name}_base") + sum(
                index * getattr(command, f"{name}{loop}_stride")
                for loop, index in enumerate(indices))

        contraction = [index for loop, index in enumerate(indices)
                       if getattr(command, f"acc{loop}_stride") == 0]
        yield Beat(address("act"), address("wgt"), address("acc"),
                   first=not command.accumulate and not any(contraction),
                   load=i0 == 0 or command.wgt0_stride != 0)


def execute(command: Product, act, wgt, acc) -> None:
    """Change ``acc``, shape (words, cols), as the command does.

    ``act`` has shape (words, rows) and any bytes as INT8; ``wgt`` (words, rows, cols), INT8.
    """
    for beat in beats(command):
        left = act[beat.act].astype(np.uint8 if command.left_unsigned else np.int8)
        before = 0 if beat.first else acc[beat.acc]
        acc[beat.acc] = numerics.wrap32(before + numerics.matmul(left, wgt[beat.wgt]))
