"""The published energies of operations, read from ``energies.toml``, which names the sources."""
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

from systolith.hw.config import ConfigError
from systolith.sw.estimate.span import Span

#: The one place of all figures.
FILE = Path(__file__).with_name("energies.toml")

#: Sizes of memories with a published energy for 64 bits, in bytes.
SRAM_SIZES = {"sram8k": 1 << 13, "sram32k": 1 << 15, "sram1m": 1 << 20}

#: Bytes of the access that those energies are of.
SRAM_BYTES = 8


@dataclass(frozen=True)
class Figure:
    """A range, its unit, and where it comes from."""

    span: Span
    unit: str
    source: str


@dataclass(frozen=True)
class Device:
    """An FPGA: watts that it takes at rest, pJ a cycle of its clock, and the source of both."""

    static: Span
    clock: Span
    source: str


@dataclass(frozen=True)
class Switching:
    """Toggles of the array's registers for each beat, as parts of those with random operands.

    Parameters
    ----------
    product, sum : float
        Of the product registers and of the partial sums.
    source : str
        Where they come from.
    """

    product: float
    sum: float
    source: str


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def figures(group: str) -> dict[str, Figure]:
    """The figures of ``"chip"`` or ``"fpga"`` by name."""
    return {name: Figure(Span(row["low"], row["high"]), row["unit"], row["source"])
            for name, row in _tables()[group].items()}


def device(name: str) -> Device:
    """An FPGA by the name that nextpnr has for it. A 12k is a 25k, and transceivers do not count.

    Raises
    ------
    ConfigError
        When it has no figures.
    """
    rows, size = _tables()["device"], name.rpartition("-")[2]
    size = "25k" if size == "12k" else size
    if size not in rows:
        raise ConfigError(f"{FILE.name} has no figures of the FPGA {name!r}, only of "
                          f"{', '.join(rows)}")
    row = rows[size]
    return Device(Span(row["static_low"], row["static_high"]),
                  Span(row["clock_low"], row["clock_high"]), row["source"])


def switching(model: str) -> Switching:
    """The measured switching of a model, or that of glassllm, which the source then says."""
    rows = _tables()["switching"]
    return Switching(**rows.get(model, rows["glassllm"]))


def sram_word(size: int) -> Span:
    """pJ of 64 bits of an on-chip memory of ``size`` bytes.

    Between the published sizes a power law joins them. Below the smallest the low end goes on
    with the square root of the size, as from the first size to the second, and the high end
    stays; above the largest the energy is that of the largest with the same square root.
    """
    known = figures("chip")
    points = [(bytes_, known[name].span.high) for name, bytes_ in SRAM_SIZES.items()]
    (least, low), (most, high) = points[0], points[-1]
    if size <= least:
        return Span(low * (size / least) ** 0.5, low)
    if size >= most:
        value = high * (size / most) ** 0.5
        return Span(value, value)
    (before, first), (after, second) = next(
        pair for pair in pairwise(points) if size <= pair[1][0])
    # The part of the way from one to the other, on a scale of logarithms.
    value = first * (second / first) ** (
        log(size / before) / log(after / before))
    return Span(value, value)
