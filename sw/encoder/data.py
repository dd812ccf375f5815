"""Weights and constants of an encoder as the bytes of memory words."""
from collections.abc import Sequence

import numpy as np

from systolith.hw.config import Config
from systolith.sw.compiler.layout import (
    column_constants,
    pad,
    pad_columns,
    pad_rows,
    vector_words,
    weight_tiles,
)
from systolith.sw.encoder.plan import Tiles
from systolith.sw.reference.attention import Projection
from systolith.sw.reference.encoder import (
    POSITION_HIGH,
    Biased,
    Group,
    QuantizedEncoderLayer,
    QuantizedNorm,
)
from systolith.sw.reference.numerics import Ints

#: Bytes of weights, of column constants and of vectors of a product.
ProductBytes = tuple[bytes, bytes, bytes]


class EncoderData:
    """Bytes of everything that products and passes of an encoder read, for one configuration.

    Parameters
    ----------
    tiles : Tiles
    head_dim : int
    config : Config
    """

    def __init__(self, tiles: Tiles, head_dim: int, config: Config):
        self.tiles, self._head, self._config = tiles, head_dim, config

    def positions(self, high: Ints, low: Ints) -> bytes:
        """(n, units, upper and lower, unit) INT8."""
        tiles = self.tiles
        units = [pad(part, len(part), tiles.units * tiles.unit).reshape(-1, tiles.units, tiles.unit)
                 for part in (high, low)]
        return np.stack(units, axis=2).astype(np.int8).tobytes()

    def identity(self) -> bytes:
        """Weights that put upper and lower bytes of a unit together."""
        one = np.eye(self.tiles.unit, dtype=np.int64)
        return weight_tiles(np.concatenate([POSITION_HIGH * one, one]), self._config)

    def norm(self, norm: QuantizedNorm) -> bytes:
        """Gains and biases, then smoothing, then measures."""
        beats = self.tiles.width_beats
        return b"".join(column_constants(words, bias, self._config, beats) for words, bias in (
            (norm.words, norm.bias), (norm.smooth, None), (norm.measure, None)))

    def pool(self, words: Ints) -> bytes:
        """Scale words of the width's columns."""
        return column_constants(words, None, self._config, self.tiles.width_beats)

    def product(self, name: str, layers: Sequence[QuantizedEncoderLayer],
                beats: int) -> ProductBytes:
        """What a product of the layers reads, by its name: ``q0``, ``k0``, ``v0``, ``out0``,
        ``up0.0``, ``down0.0`` and so on, the layer first, then the group. ``beats`` is the width of
        what goes to the residual."""
        kind = name.rstrip("0123456789.")
        index, _, group = name[len(kind):].partition(".")
        layer = layers[int(index)]
        if kind == "q":
            return self.queries(layer.q)
        if kind == "k":
            return self.queries(layer.k)
        if kind == "v":
            return self.values(layer.v)
        if kind == "out":
            return self.output(layer.out, beats)
        each = layer.groups[int(group)]
        return self.up(each) if kind == "up" else self.down(each.down, beats)

    def queries(self, layer: Biased | Projection) -> ProductBytes:
        """Queries or keys: columns of each head padded to whole contraction tiles."""
        return self._heads(layer, self.tiles.head_in * self._config.rows, self.tiles.query_beats)

    def values(self, layer: Projection) -> ProductBytes:
        """Values: columns of each head padded to whole tiles."""
        return self._heads(layer, self.tiles.head_out * self._config.cols, self.tiles.value_beats)

    def output(self, layer: Projection, beats: int) -> ProductBytes:
        """The output: rows of each head padded to whole contraction tiles."""
        weight = pad_rows(layer.weight, self._head, self.tiles.head_in * self._config.rows)
        return (weight_tiles(weight, self._config),
                column_constants(layer.words, layer.bias, self._config, beats), b"")

    def up(self, group: Group) -> ProductBytes:
        """The first product of a group; its biases and its function table as vectors."""
        beats = self.tiles.group_beats
        vectors = vector_words(group.up.bias[None], self._config, beats)
        return (weight_tiles(group.up.weight, self._config),
                column_constants(group.up.words, None, self._config, beats),
                vectors + group.gelu.astype("<i2").tobytes())

    def down(self, layer: Projection, beats: int) -> ProductBytes:
        """The second product of a group."""
        return (weight_tiles(layer.weight, self._config),
                column_constants(layer.words, layer.bias, self._config, beats), b"")

    def _heads(self, layer: Biased | Projection, size: int, beats: int) -> ProductBytes:
        def padded(x: Ints) -> Ints:
            return pad_columns(x, self._head, size)

        vectors = (vector_words(padded(layer.bias)[None], self._config, beats)
                   if isinstance(layer, Biased) else b"")
        return (weight_tiles(padded(layer.weight), self._config),
                column_constants(padded(layer.words), None, self._config, beats), vectors)
