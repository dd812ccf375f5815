"""Which commands of a program belong to which part of its model."""
from collections.abc import Iterator, Mapping, Sequence

from systolith.hw.isa import ENGINES, Command, Engine
from systolith.sw.runtime.program import Program

#: The note of a program that says so: commands of each engine by part, in order.
PARTS = "parts"


def count_commands(parts: Mapping[str, Sequence[Command]]) -> dict[str, dict[Engine, int]]:
    """Commands of each engine in each part. A program's streams have them in this order, for the
    scheduler keeps each engine's."""
    return {name: {engine: sum(command.ENGINE == engine for command in commands)
                   for engine in ENGINES} for name, commands in parts.items()}


def products_by_layer(program: Program) -> dict[str, int]:
    """Products by layer, in order; what is in no layer has a name of its own. Empty where the
    compiler noted nothing."""
    result: dict[str, int] = {}
    for name, counts in _noted(program).items():
        layer = " ".join(name.split()[:2])
        result[layer] = result.get(layer, 0) + counts[Engine.MATRIX]
    return result


def names(program: Program, engine: Engine) -> Iterator[str]:
    """The part of each command of an engine; the program's own name where none was noted."""
    noted = _noted(program)
    for name, counts in noted.items():
        yield from [name] * counts[engine]
    if not noted:
        yield from [program.model] * len(program.commands.get(engine, ()))


def _noted(program: Program) -> Mapping[str, Mapping[Engine, int]]:
    found = program.notes.get(PARTS, {})
    assert isinstance(found, Mapping)
    return found
