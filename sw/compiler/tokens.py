"""Look-up of tokens: the mover fetches their rows; only their addresses come from the driver."""
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from systolith.hw.config import Region
from systolith.hw.isa import Command, Engine, Load
from systolith.sw.compiler.errors import CompileError


def token_loads(table: int, count: int, row_bytes: int, base: int) -> Iterator[Command]:
    """``count`` loads of one row each, of token 0, to vector memory from byte ``base`` on.

    They must be the first loads of a program. ``table`` is the external address of all tokens'
    rows, ``row_bytes`` each.
    """
    for row in range(count):
        yield Load(region=int(Region.VEC), rows=1, row_bytes=row_bytes, ext_base=table,
                   base=base + row * row_bytes)


def with_tokens(commands: Mapping[Engine, Sequence[Command]], ids: Sequence[int],
                table: int | None = None) -> dict[Engine, list[Command]]:
    """The commands of a program, its :func:`token_loads` moved to the rows of ``ids``. With the
    ``table`` that they were made of, other loads may be between them."""
    streams = {engine: list(stream) for engine, stream in commands.items()}
    moves = streams[Engine.MOVE]
    # Between them a core of a mesh may tell others that a row is there.
    loads = [place for place, move in enumerate(moves) if isinstance(move, Load)
             and table in (None, move.ext_base)]
    for place, token in zip(loads, ids, strict=False):
        move = moves[place]
        assert isinstance(move, Load)
        moves[place] = dataclasses.replace(move, ext_base=move.ext_base + token * move.row_bytes)
    return streams


def check_tokens(ids: Sequence[int], vocabulary: int, name: str) -> None:
    """Raise :class:`CompileError` for the first token that a model does not have."""
    for place, token in enumerate(ids):
        if not 0 <= token < vocabulary:
            raise CompileError(f"token {token} at place {place} is outside the vocabulary of "
                               f"{name}, which has tokens 0 to {vocabulary - 1}")
