"""One decoder spread over many linked chips: how many it takes, and what bounds its tokens.

Weights and keys and values stay in the cores. Whole layers go to a chip while they fit; a layer
that does not is shared out to several chips, as :class:`StepModel` shares it out to cores, and what
its parts collect goes through the link.
"""
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from systolith.hw.config import Config, Region
from systolith.sw.estimate.step import DecoderShape, StepModel

#: Llama-3.2-1B, https://huggingface.co/meta-llama/Llama-3.2-1B (config.json).
LLAMA_1B = DecoderShape(layers=16, width=2048, heads=32, kv_heads=8, head_dim=64, hidden=8192,
                        vocabulary=128256)

#: Bytes of the token, or of a candidate and its logit, in a message.
TOKEN_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class Link:
    """What joins two chips.

    Parameters
    ----------
    name : str
    bytes_per_second : float
        Of data, without the overhead of the line code.
    seconds : float
        From the first byte's departure to its arrival, for a message of no length.
    frame : int
        Bytes of overhead of each message; they are sent, too.
    """

    name: str
    bytes_per_second: float
    seconds: float
    frame: int

    def message(self, size: float) -> float:
        """Seconds of a message of ``size`` bytes."""
        return self.seconds + (size + self.frame) / self.bytes_per_second


#: UART: ten bits a byte, frames of the project's link. Ethernet: header, checksum, preamble and gap
#: take 38 bytes; the latencies, of a frame's start through both ends, are assumptions.
LINKS = {link.name: link for link in (
    Link(name="uart-3M", bytes_per_second=3e6 / 10, seconds=0, frame=18),
    Link(name="ethernet-100M", bytes_per_second=100e6 / 8, seconds=10e-6, frame=38),
    Link(name="ethernet-1G", bytes_per_second=1e9 / 8, seconds=5e-6, frame=38),
    Link(name="ethernet-10G", bytes_per_second=10e9 / 8, seconds=2e-6, frame=38))}


@dataclass(frozen=True)
class Spread:
    """A decoder on as few chips as hold it.

    Parameters
    ----------
    shape : DecoderShape
    config : Config
        Of a chip.
    link : Link
    length : int
        Positions of the cache; all of them are attended to.
    mhz : float
        Clock of the chips.
    """

    shape: DecoderShape
    config: Config
    link: Link
    length: int
    mhz: float

    @property
    def chip_bytes(self) -> int:
        """Bytes of weight memory of a chip."""
        return self.config.cores * self.config.region_bytes(Region.WGT)

    @property
    def layer_bytes(self) -> int:
        """Weights, keys and values of a layer."""
        return self.shape.layer_weights + self.shape.cache_bytes(self.length)

    @property
    def split(self) -> int:
        """Chips that share a layer."""
        return ceil(self.layer_bytes / self.chip_bytes)

    @property
    def layers(self) -> int:
        """Layers of a chip, at least 1."""
        return min(self.shape.layers, max(1, self.chip_bytes // self.layer_bytes))

    @property
    def stages(self) -> int:
        """Groups of chips that a token goes through, without those of the logits."""
        return ceil(self.shape.layers / self.layers)

    @property
    def head_chips(self) -> int:
        """Chips of the logits alone: none where the last stage has room for them."""
        rest = self.shape.layers - (self.stages - 1) * self.layers
        room = self.split * self.chip_bytes - rest * self.layer_bytes
        return 0 if room >= self.shape.head_weights else ceil(
            self.shape.head_weights / self.chip_bytes)

    @property
    def chips(self) -> int:
        """All chips."""
        return self.stages * self.split + self.head_chips

    # Seconds ------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> dict[str, float]:
        """Seconds of a token by what they are spent on."""
        body, head = (StepModel(self.shape, self.config, self.config.cores * chips, self.length)
                      for chips in (self.split, self.head_chips or self.split))
        chain = body.start(self.config.cores) + body.layer() * self.shape.layers + head.head()
        clock = 1 / (self.mhz * 1e6)
        return {"array": chain.array * clock, "vector": chain.vector * clock,
                "latency": chain.latency * clock, "mesh": chain.mesh * clock,
                "link": self._layer_link * self.shape.layers + self._hops}

    @property
    def _layer_link(self) -> float:
        """Collections between the chips of a layer: mixed values, the residual twice, the largest
        magnitude and the hidden columns."""
        if self.split == 1:
            return 0.0
        shape, others = self.shape, (self.split - 1) / self.split
        sizes = shape.heads * shape.head_dim, 2 * shape.width, TOKEN_BYTES, 2 * shape.hidden, (
            2 * shape.width)
        return sum(self.link.message(size * others) for size in sizes)

    @property
    def _hops(self) -> float:
        """The residual from stage to stage, and the token back to the first."""
        groups = self.stages + bool(self.head_chips)
        return (groups - 1) * self.link.message(2 * self.shape.width) + (
            self.link.message(TOKEN_BYTES) if self.chips > 1 else 0.0)

    @property
    def seconds(self) -> float:
        """From a token to the next of one sequence."""
        return sum(self._parts.values())

    @property
    def tokens_per_second(self) -> float:
        """Of one sequence."""
        return 1 / self.seconds

    @property
    def bound(self) -> str:
        """What most of a token's time goes to: ``array``, ``vector`` (beats of passes),
        ``latency`` (from one command to the next), ``mesh`` or ``link``."""
        return max(self._parts, key=lambda name: self._parts[name])

    @property
    def share(self) -> float:
        """The part of a token's time that goes to the bound."""
        return self._parts[self.bound] / self.seconds

    @property
    def most_tokens_per_second(self) -> float:
        """Of as many sequences as there are groups of chips, each group always at work: the slowest
        group, or the link between two, limits them."""
        clock = 1 / (self.mhz * 1e6)
        cores = self.config.cores
        body = StepModel(self.shape, self.config, cores * self.split, self.length)
        head = StepModel(self.shape, self.config, cores * (self.head_chips or self.split),
                         self.length).head().cycles * clock
        stage = self.layers * (body.layer().cycles * clock + self._layer_link)
        alone = head if self.head_chips else stage + head
        hop = self.link.message(2 * self.shape.width) if self.chips > 1 else 0.0
        return 1 / max(stage, alone, hop)

    def as_json(self) -> dict[str, object]:
        """The figures under stable keys; seconds by part under ``parts``."""
        return {"config": self.config.name, "cores": self.config.cores, "link": self.link.name,
                "chip_bytes": self.chip_bytes, "chips": self.chips, "chips_per_layer": self.split,
                "layers_per_chip": self.layers, "tokens_per_second": self.tokens_per_second,
                "most_tokens_per_second": self.most_tokens_per_second, "bound": self.bound,
                "bound_share": self.share, "parts": dict(self._parts)}
