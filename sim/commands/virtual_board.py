"""``systolith virtual-board``: a simulated board at a pseudo-terminal."""
from collections.abc import Callable

from systolith.hw.boards.boards import get_board
from systolith.hw.config import Config, ConfigError
from systolith.hw.configs import get_config
from systolith.hw.link.baud import baud_step
from systolith.sim.board import SimulatedBoard, SimulatedTop
from systolith.sim.progress import Progress
from systolith.sim.virtual_board import VirtualBoard
from systolith.sw.runtime.port import PREFIX

#: Bytes of external memory of a board that is not told how many: simulating more costs memory.
MOST_BYTES = 1 << 24

#: The rate by which a host opens the port of a netlist. A pseudo-terminal has none; the host takes
#: from it how long to wait for an answer, and gates are slow.
GATES_BAUD = 1200


def serve(config: str, *, gates: bool, clocks_per_bit: float, ext_bytes: int | None,
          show: Callable[[str], None], progress: Progress) -> None:
    """Serve a board until interrupted; ``show`` gets its device name when it is there.

    Raises
    ------
    ConfigError, ToolchainError
        When the configuration is unknown, cannot be built, or does not go with the other values.
    """
    if gates:
        raise ConfigError("--gates goes with --board: only a board has a netlist")
    chosen = get_config(config)
    _check_rate(clocks_per_bit)
    size = min(chosen.ext_bytes, MOST_BYTES) if ext_bytes is None else ext_bytes
    _check_size(chosen, size)
    with SimulatedBoard(chosen, clocks_per_bit=clocks_per_bit, ext_bytes=size,
                        progress=progress) as board:
        _serve(board, "", show, progress)


def serve_board(name: str, *, gates: bool, clocks_per_bit: float, ext_bytes: int | None,
                show: Callable[[str], None], progress: Progress) -> None:
    """As :func:`serve`, with the whole top level of a board, or with ``gates`` its netlist.

    Raises
    ------
    ConfigError, ToolchainError
        When there is no such board, or it cannot be simulated like that.
    """
    if ext_bytes is not None:
        raise ConfigError("--ext-bytes does not go with --board: a board has the memory it has")
    _check_rate(clocks_per_bit)
    with SimulatedTop(get_board(name), gates=gates, clocks_per_bit=clocks_per_bit,
                      progress=progress) as board:
        _serve(board, f"@{GATES_BAUD}" if gates else "", show, progress)


def _serve(board: SimulatedBoard, rate: str, show: Callable[[str], None],
           progress: Progress) -> None:
    served = VirtualBoard(board)
    try:
        show(PREFIX + served.path + rate)
        served.serve()
    except KeyboardInterrupt:
        progress.note(f"switched off after {board.cycles:,} cycles")
    finally:
        served.close()


def _check_rate(clocks_per_bit: float) -> None:
    try:
        baud_step(clock_hz=1e6 * clocks_per_bit, baud=1e6)
    except ValueError:
        raise ConfigError(f"a bit of {clocks_per_bit:g} clock cycles cannot be met within the "
                          "UART's tolerance: choose a lower --clocks-per-bit") from None


def _check_size(config: Config, size: int) -> None:
    if config.compact and size != config.ext_bytes:
        raise ConfigError(f"the external memory of {config.name!r} is inside its core: leave "
                          f"--ext-bytes out, or say {config.ext_bytes}")
    least = 2 * config.bus_bytes
    if size & size - 1 or not least <= size <= config.ext_bytes:
        raise ConfigError(
            f"--ext-bytes must be a power of two from {least} to the {config.ext_bytes} that "
            f"configuration {config.name!r} can address, not {size}")
