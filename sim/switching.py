"""How often the bits of the array's registers toggle: in a waveform of the RTL, and at random.

Energy of an operation is published for operands that have nothing to do with each other. Those of a
model do: zeros, small numbers and weights that stay toggle less, so the energy of multipliers and
adders is scaled by what their registers toggle over what they would with random operands.
"""
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from systolith.hw.cell import PRODUCT_WIDTH
from systolith.hw.config import Config

#: Registers of a row of cells by kind. The operands' ports beside them have other names.
_KINDS = {"activation": re.compile(r"activation_\d+"), "weight": re.compile(r"weights_\d+"),
          "product": re.compile(r"product_\d+"), "sum": re.compile(r"sum_\d+")}

#: A row of cells and the loops of a product, as scopes of the core.
_ROW = re.compile(r"\.core0\.matrix\.array\.row_\d+$")
_BEAT = ".core0.matrix.loops.beat__valid"

#: Units of time of a waveform in a cycle.
_CYCLE = 10

#: Beats of the random baseline; its seed.
_BEATS, _SEED = 4096, 1


class SwitchingError(ValueError):
    """A waveform in which switching cannot be measured."""


@dataclass(frozen=True)
class Toggles:
    """Toggles of the array's registers.

    Parameters
    ----------
    beats : int
        Beats of products.
    shares : mapping of str to float
        Of ``activation``, ``weight``, ``product`` and ``sum`` registers: toggles of a bit for each
        beat.
    """

    beats: int
    shares: Mapping[str, float]

    def over(self, other: "Toggles") -> dict[str, float]:
        """Each share over that of ``other``, where that toggles at all."""
        return {name: share / other.shares[name] for name, share in self.shares.items()
                if other.shares.get(name)}


def random_toggles(config: Config) -> Toggles:
    """Of an array with uniform INT8 activations and weights that stay, out of what it computes.

    Half of the bits of activations toggle with each beat. A product has its low ``PRODUCT_WIDTH``
    bits counted, as the rest are copies of the sign; a sum all of its ``chain_width``.
    """
    generator = np.random.default_rng(_SEED)
    left = generator.integers(-128, 128, (_BEATS, config.rows, 1))
    right = generator.integers(-128, 128, (config.rows, config.cols))
    products = left * right
    return Toggles(_BEATS, {
        "activation": _share(left, 8), "weight": 0.0, "product": _share(products, PRODUCT_WIDTH),
        "sum": _share(products.cumsum(axis=1), config.chain_width)})


def _share(values: NDArray[np.int64], width: int) -> float:
    """Bits that differ from one beat to the next, as a part of all."""
    changed = (values[1:] ^ values[:-1]) & ((1 << width) - 1)
    return float(np.bitwise_count(changed).sum()) / (changed.size * width)


def measure_toggles(path: Path) -> Toggles:
    """Of the array in a waveform that :meth:`RtlDevice.trace` wrote.

    Every toggle counts, also one in a cycle without a beat: the registers run freely.

    Raises
    ------
    SwitchingError
        When the waveform has no array, or no beat of a product.
    """
    with path.open(encoding="utf-8") as file:
        registers, beat = _declared(file)
        if not registers or beat is None:
            raise SwitchingError(f"{path} has no array of a core: record it with `systolith trace "
                                 "--wave`")
        counted = _count(file, registers, beat)
    if counted.beats == 0:
        raise SwitchingError(f"no product runs in the cycles of {path}: choose others")
    return counted


#: Identifier in the file -> kind and mask of the bits that count.
_Registers = Mapping[str, tuple[str, int]]


def _declared(lines: Iterator[str]) -> tuple[_Registers, str | None]:
    """The registers that the header declares, and the identifier of the beat's bit."""
    registers: dict[str, tuple[str, int]] = {}
    scopes: list[str] = []
    beat = None
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scopes.append(words[2])
        elif words[0] == "$upscope":
            scopes.pop()
        elif words[0] == "$var":
            width, identifier, name = int(words[2]), words[3], words[4]
            full = ".".join(scopes)
            if _ROW.search(full):
                registers |= _register(identifier, name, width)
            elif f"{full}.{name}".endswith(_BEAT):
                beat = identifier
        elif words[0] == "$enddefinitions":
            break
    return registers, beat


def _register(identifier: str, name: str, width: int) -> dict[str, tuple[str, int]]:
    for kind, pattern in _KINDS.items():
        if pattern.fullmatch(name):
            width = min(width, PRODUCT_WIDTH) if kind == "product" else width
            return {identifier: (kind, (1 << width) - 1)}
    return {}


def _count(lines: Iterator[str], registers: _Registers, beat: str) -> Toggles:
    """Follow the changes. The first value of a register is its state, no toggle."""
    values: dict[str, int] = {}
    toggles = dict.fromkeys(_KINDS, 0)
    time = high = 0
    valid = False
    for line in lines:
        line = line.rstrip()
        if line.startswith("#"):
            high += valid * (int(line[1:]) - time) if values else 0
            time = int(line[1:])
            continue
        value, identifier = line.split(" ") if line.startswith("b") else (line[:1], line[1:])
        if identifier == beat:
            valid = value == "1"
        if identifier in registers:
            kind, mask = registers[identifier]
            new = int(value.removeprefix("b"), 2)
            toggles[kind] += ((values.get(identifier, new) ^ new) & mask).bit_count()
            values[identifier] = new
    beats = high // _CYCLE
    bits = dict.fromkeys(_KINDS, 0)
    for kind, mask in registers.values():
        bits[kind] += mask.bit_count()
    return Toggles(beats, {kind: toggles[kind] / (bits[kind] * beats) if beats else 0.0
                           for kind in _KINDS if bits[kind]})
