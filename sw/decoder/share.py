"""What each core of a chip does of a decoder: its heads, and its columns of the linear layers.

Every core holds the whole residual, and the weights of its share. Nothing is added across cores:
each column has its whole contraction in one core, so all integers are those of a single core.
"""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.fields import Span
from systolith.sw.compiler.layout import ceil_div
from systolith.sw.compiler.sharing import even, tiled
from systolith.sw.reference.quantized_decoder import Linear, QuantizedDecoder, QuantizedLayer

#: Cores that share a decoder at most: each has ten semaphores besides those between its engines,
#: and needs one for each other core.
MOST_SHARES = 11

#: Cycles that it takes to collect columns of the residual and to measure them anew. An output
#: product that costs less for all columns is done in every core.
GATHER_CYCLES = 70


@dataclass(frozen=True, kw_only=True)
class Share:
    """The part of a decoder that core ``number`` of ``cores`` has. Spans may be empty.

    Parameters
    ----------
    number, cores : int
    heads, kv_heads : Span
        Query heads, and the heads of keys and values that they use.
    output : Span
        Columns of the residual that the output product gives.
    repeated : bool
        Every core has all columns of the output product, which need not be collected.
    down : Span
        Columns of the residual that the feed-forward network gives.
    all_hidden : tuple of Span
        Columns between its two halves, of each core.
    vocabulary : Span
        Logits.
    """

    number: int
    cores: int
    heads: Span
    kv_heads: Span
    output: Span
    repeated: bool
    down: Span
    all_hidden: tuple[Span, ...]
    vocabulary: Span

    @property
    def hidden(self) -> Span:
        """Own columns between the halves of the feed-forward network."""
        return self.all_hidden[self.number]

    @property
    def alone(self) -> bool:
        """Whether there is no other core."""
        return self.cores == 1

    def of(self, model: QuantizedDecoder) -> QuantizedDecoder:
        """The decoder with this part of its heads and columns; contractions are whole."""
        if self.alone:
            return model
        return dataclasses.replace(
            model, heads=self.heads[1] - self.heads[0], head=_columns(model.head, self.vocabulary),
            layers=tuple(self._layer(layer, model.head_dim) for layer in model.layers))

    def _layer(self, layer: QuantizedLayer, size: int) -> QuantizedLayer:
        heads, kv_heads = ((first * size, last * size) for first, last in
                           (self.heads, self.kv_heads))
        keys, hidden = slice(*self.kv_heads), slice(*self.hidden)
        return dataclasses.replace(
            layer, q=_columns(layer.q, heads), k=_columns(layer.k, kv_heads),
            v=_columns(layer.v, kv_heads), out=_columns(layer.out, self.output),
            score_words=layer.score_words[keys], mix_words=layer.mix_words[keys],
            gate=_columns(layer.gate, self.hidden), up=_columns(layer.up, self.hidden),
            squash_words=None if layer.squash_words is None else layer.squash_words[hidden],
            down=_columns(layer.down, self.down))


def _columns(linear: Linear, columns: Span) -> Linear:
    return Linear(weight=linear.weight[:, slice(*columns)], words=linear.words[slice(*columns)])


def shares_of(model: QuantizedDecoder, config: Config) -> tuple[Share, ...]:
    """A share for each core of a chip; the first is the largest in everything.

    Columns are shared out in whole tiles. Heads that use the same keys stay together unless there
    are more cores than heads of keys.

    Raises
    ------
    CompileError
        When there are more than :data:`MOST_SHARES` cores.
    """
    cores = config.cores
    if cores > MOST_SHARES:
        raise CompileError(f"configuration {config.name!r} has {cores} cores, but one decoder runs "
                           f"on at most {MOST_SHARES}, such as 'sim16@4x2'")
    width, repeated = tiled(model.width, config.cols, cores), _all_columns(model, config)
    heads, kv_heads = _heads(model, cores)
    return tuple(
        Share(number=number, cores=cores, heads=heads[number], kv_heads=kv_heads[number],
              output=(0, model.width) if repeated else width[number], repeated=repeated,
              down=width[number],
              all_hidden=tuple(tiled(model.hidden, max(config.rows, config.cols), cores)),
              vocabulary=tiled(model.vocabulary, config.cols, cores)[number])
        for number in range(cores))


def whole_share(model: QuantizedDecoder) -> Share:
    """All of a decoder, for a core alone."""
    width = 0, model.width
    return Share(number=0, cores=1, heads=(0, model.heads), kv_heads=(0, model.kv_heads),
                 output=width, repeated=True, down=width, all_hidden=((0, model.hidden),),
                 vocabulary=(0, model.vocabulary))


def _heads(model: QuantizedDecoder, cores: int) -> tuple[list[Span], list[Span]]:
    """Query heads of each core, and the heads of keys that they use."""
    group = model.heads // model.kv_heads
    if cores <= model.kv_heads:
        keys = even(model.kv_heads, cores)
        return [(first * group, last * group) for first, last in keys], keys
    parts = even(group, min(group, cores // model.kv_heads))
    heads = [(key * group + first, key * group + last) for first, last in parts
             for key in range(model.kv_heads)]
    keys = [(first // group, first // group + 1) for first, _ in heads]
    rest: Sequence[Span] = [(0, 0)] * (cores - len(heads))
    return [*heads, *rest], [*keys, *rest]


def _all_columns(model: QuantizedDecoder, config: Config) -> bool:
    """Whether the output product is short enough to be done for all columns in every core."""
    tiles_in = model.heads * ceil_div(model.head_dim, config.rows)
    beats = tiles_in * ceil_div(model.width, config.cols)
    return config.cores == 1 or beats - beats // config.cores <= GATHER_CYCLES
