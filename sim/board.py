"""The simulated machine of a board, or its whole top level, as a Python object: a thin layer over
``board.cpp``."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_uint8, c_uint64, c_void_p
from pathlib import Path

from systolith.hw.boards.board import Board
from systolith.hw.boards.pll import dividers
from systolith.hw.boards.top import TOP as BOARD_TOP
from systolith.hw.config import Config, check_one_core
from systolith.hw.machine import TOP, Machine
from systolith.hw.verilog import to_verilog
from systolith.sim.chip import hardware_digest
from systolith.sim.flow.board_netlist import board_verilog
from systolith.sim.gate.gates import board_gates
from systolith.sim.gate.models import source_models
from systolith.sim.harness import HarnessError
from systolith.sim.progress import Progress
from systolith.sim.sdram_chip import ChipParameters, chip_parameters
from systolith.sim.store import cached, digest
from systolith.sim.verilate import build_library

HARNESS = Path(__file__).with_name("board.cpp")
#: What it includes.
HEADERS = tuple(HARNESS.with_name(name) for name in ("uart_line.h", "sdram_chip.h"))

#: Bytes that one call takes at most.
ROOM = 4096

_BYTES = POINTER(c_uint8)
_SIGNATURES = {
    "create": (c_void_p, [c_uint64, c_uint64, POINTER(ChipParameters), c_uint64]),
    "destroy": (None, [c_void_p]),
    "cycles": (c_uint64, [c_void_p]),
    "send": (None, [c_void_p, c_char_p, c_uint64]),
    "run": (c_uint64, [c_void_p, c_uint64, _BYTES, c_uint64]),
    "sending": (c_int, [c_void_p]),
    "trace": (c_int, [c_void_p, c_char_p]),
    "violation": (c_char_p, [c_void_p]),
    "refreshes": (c_uint64, [c_void_p]),
}


def machine_verilog(config: Config, *, clocks_per_bit: float, ext_bytes: int,
                    progress: Progress) -> str:
    """Verilog of the machine, from the cache or generated."""
    check_one_core(config, "the machine")

    def build(folder: Path) -> None:
        with progress.stage("Verilog"):
            # Only the ratio of clock and baud rate is in the hardware.
            machine = Machine(config=config, clock_hz=1e6 * clocks_per_bit, baud=1e6,
                              ext_bytes=ext_bytes)
            (folder / f"{TOP}.v").write_text(to_verilog(machine, name=TOP).text)

    key = digest(hardware_digest(config), f"{TOP} {clocks_per_bit!r} {ext_bytes}")
    return (cached("verilog", key, build) / f"{TOP}.v").read_text()


class SimulatedBoard:
    """One machine and the host's end of its line. Use it in a ``with`` statement or ``close`` it.

    Parameters
    ----------
    config : Config
        Sizes of the chip.
    clocks_per_bit : float
        Cycles of the clock in a bit time, at least 4.
    ext_bytes : int
        Bytes of external memory, a power of two.
    deviation : float
        How much faster than the machine's the host's bits are, as a fraction of the baud rate.
    trace : bool
        Build with waves; :meth:`trace` writes them.
    progress : Progress, optional
        Where the stages of the build are shown.

    Raises
    ------
    ToolchainError
        When the machine cannot be built.
    """

    #: The simulated board; none before it is built and after it is closed.
    _handle: int | None = None

    def __init__(self, config: Config, *, clocks_per_bit: float = 4, ext_bytes: int = 1 << 20,
                 deviation: float = 0.0, trace: bool = False, progress: Progress | None = None):
        progress = progress or Progress(quiet=True)
        verilog = machine_verilog(config, clocks_per_bit=clocks_per_bit, ext_bytes=ext_bytes,
                                  progress=progress)
        self._start(verilog, TOP, clocks_per_bit / (1 + deviation), trace, progress)

    def _start(self, verilog: str, top: str, bit_cycles: float, trace: bool, progress: Progress,
               chip: ChipParameters | None = None, late: int = 0) -> None:
        """Build and create it; the host's bits take so many cycles, and the data of its SDRAM are
        taken so many edges late."""
        flags = [f"-DSYSTOLITH_BOARD={int(top == BOARD_TOP)}",
                 f"-DSYSTOLITH_SDRAM={int(chip is not None)}"]
        library = build_library(verilog, top=top, harness=HARNESS, headers=HEADERS, flags=flags,
                                trace=trace, progress=progress)
        self._call = _functions(library)
        bit = round((1 << 16) * bit_cycles)
        self._handle = self._call["create"](bit, bit, byref(chip) if chip else None, late)

    def __enter__(self) -> "SimulatedBoard":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free the machine; a second call does nothing."""
        if self._handle:
            self._call["destroy"](self._handle)
            self._handle = None

    @property
    def cycles(self) -> int:
        """Clock cycles since creation."""
        return self._call["cycles"](self._handle)

    def send(self, data: bytes) -> None:
        """Put bytes at the end of those that wait for the line."""
        self._call["send"](self._handle, data, len(data))

    @property
    def sending(self) -> bool:
        """Whether a byte is on the line or waits for it."""
        return bool(self._call["sending"](self._handle))

    def run(self, cycles: int, room: int = ROOM) -> bytes:
        """Run until ``room`` bytes have come, at most so many cycles; the bytes.

        Raises
        ------
        HarnessError
            When a rule of the SDRAM chip was broken.
        """
        buffer = (c_uint8 * room)()
        data = bytes(buffer[:self._call["run"](self._handle, cycles, buffer, room)])
        violation = self._call["violation"](self._handle)
        if violation:
            raise HarnessError(f"the board does not treat its SDRAM well: {violation.decode()}")
        return data

    def trace(self, path: Path) -> None:
        """Write a VCD from here on; needs ``trace=True``.

        Raises
        ------
        HarnessError
            When it cannot be written.
        """
        if self._call["trace"](self._handle, str(path).encode()):
            raise HarnessError(f"cannot write a trace to {path}: the simulator was built without "
                               "traces, or the folder cannot be written")


class SimulatedTop(SimulatedBoard):
    """The top level that goes into a board's FPGA, pads included, and the SDRAM chip beside it.

    Parameters
    ----------
    board : Board
        Any board.
    clocks_per_bit : float
        Cycles of the clock in a bit time, at least 4, instead of those of the board.
    gates : bool
        Simulate the netlist that is placed and routed, cell by cell, instead of the source. The
        first time, synthesis and build take minutes; the progress shows them.
    progress : Progress, optional
        Where the stages of the build are shown.

    Raises
    ------
    ToolchainError
        When the top level cannot be built.
    """

    def __init__(self, board: Board, *, clocks_per_bit: float = 4, gates: bool = False,
                 progress: Progress | None = None):
        progress = progress or Progress(quiet=True)
        make = board_gates if gates else _board_source
        verilog = make(board, clocks_per_bit=clocks_per_bit, progress=progress)
        chip, late = None, 0
        if board.sdram:
            clock_hz = dividers(board).mhz * 1e6
            chip = chip_parameters(board.sdram.chip, clock_hz)
            late = board.sdram.chip.timing.clocking(clock_hz).late
        self._start(verilog, BOARD_TOP, clocks_per_bit, False, progress, chip, late)

    @property
    def refreshes(self) -> int:
        """Refreshes of the SDRAM chip so far."""
        return self._call["refreshes"](self._handle)


def _board_source(board: Board, *, clocks_per_bit: float, progress: Progress) -> str:
    """Verilog of a board's top level with the models of the cells in it."""
    source = board_verilog(board, clocks_per_bit=clocks_per_bit, progress=progress).read_text()
    return source + source_models(board.family, source)


def _functions(library: Path) -> dict:
    """The functions of a library, each with its types declared, under their short names."""
    loaded = ctypes.CDLL(str(library))
    functions = {}
    for name, (result, arguments) in _SIGNATURES.items():
        functions[name] = function = getattr(loaded, f"systolith_board_{name}")
        function.restype, function.argtypes = result, arguments
    return functions
