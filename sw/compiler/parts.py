"""Which products of a program belong to which part of its model."""
from collections.abc import Mapping, Sequence

from systolith.hw.isa import Command, Product

#: The note of a program that says so: products by part, in order.
PRODUCTS = "products"


def count_products(parts: Mapping[str, Sequence[Command]]) -> dict[str, int]:
    """Products of each part. A program's MATRIX stream has them in this order, for the scheduler
    keeps it."""
    return {name: sum(isinstance(command, Product) for command in commands)
            for name, commands in parts.items()}
