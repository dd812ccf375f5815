"""The model of an SDRAM chip as a Python object: a thin layer over ``sdram_chip.cpp``."""
import ctypes
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int32,
    c_int64,
    c_uint16,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path

from systolith.hw.sdram.timing import STARTUP_REFRESHES, SdramChip
from systolith.sim import cxx
from systolith.sim.store import cached, digest

SOURCE = Path(__file__).with_name("sdram_chip.cpp")
HEADER = SOURCE.with_suffix(".h")
LIBRARY = "sdram_chip.so"
_FLAGS = ("-O2",)

#: Longest time that a row may be open, in nanoseconds.
MOST_OPEN_NS = 100_000

_TIMES = ("rcd", "rp", "ras", "ras_most", "rc", "rfc", "rrd", "wr", "mrd", "startup", "refresh",
          "cas2")


class ChipParameters(Structure):
    """``Parameters`` of ``sdram_chip.h``: times in picoseconds, sizes in bits, a number."""

    _fields_ = [(name, c_int64) for name in (
        "period", *_TIMES, "row_bits", "column_bits", "startup_refreshes")]


def chip_parameters(chip: SdramChip, clock_hz: float) -> ChipParameters:
    """What the model must know of a chip at a clock."""
    times = {name: getattr(chip.timing, name) for name in _TIMES if name != "ras_most"}
    picoseconds = {name: round(1000 * time) for name, time in times.items()}
    return ChipParameters(
        period=round(1e12 / clock_hz), ras_most=1000 * MOST_OPEN_NS, row_bits=chip.row_bits,
        column_bits=chip.column_bits, startup_refreshes=STARTUP_REFRESHES, **picoseconds)


_SIGNATURES = {
    "create": (c_void_p, [POINTER(ChipParameters)]),
    "destroy": (None, [c_void_p]),
    "edge": (c_int32, [c_void_p, c_uint64]),
    "violation": (c_char_p, [c_void_p]),
    "refreshes": (c_uint64, [c_void_p]),
    "word": (c_uint16, [c_void_p, c_uint64]),
}


@cache
def _functions() -> dict:
    def build(folder: Path) -> None:
        objects = cxx.compile_all({SOURCE: _FLAGS}, folder=folder)
        cxx.link(objects, output=folder / LIBRARY, flags=["-shared"])

    key = digest("sdram chip", SOURCE.read_bytes(), HEADER.read_bytes(), cxx.tool_versions())
    library = ctypes.CDLL(str(cached("simulators", key, build) / LIBRARY))
    functions = {}
    for name, (result, arguments) in _SIGNATURES.items():
        functions[name] = function = getattr(library, f"systolith_sdram_{name}")
        function.restype, function.argtypes = result, arguments
    return functions


class SimulatedSdram:
    """A chip that checks each command.

    Parameters
    ----------
    chip : SdramChip
        Geometry and times.
    clock_hz : float
        The clock.
    """

    def __init__(self, chip: SdramChip, clock_hz: float):
        self._handle = None
        self._call = _functions()
        self._handle = self._call["create"](byref(chip_parameters(chip, clock_hz)))

    def __del__(self) -> None:
        if self._handle:
            self._call["destroy"](self._handle)
            self._handle = None

    def edge(self, pins: int) -> int | None:
        """A rising clock edge with these pins, packed as
        :class:`~systolith.hw.sdram.interface.SdramPins`; the word that the chip then drives."""
        word = self._call["edge"](self._handle, pins)
        return None if word < 0 else word

    @property
    def violation(self) -> str | None:
        """The first rule that was broken."""
        text = self._call["violation"](self._handle)
        return text.decode() if text else None

    @property
    def refreshes(self) -> int:
        """Refreshes since power-up."""
        return self._call["refreshes"](self._handle)

    def word(self, number: int) -> int:
        """A word of memory: row, bank and column make its number, from the highest bit on."""
        return self._call["word"](self._handle, number)
