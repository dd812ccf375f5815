"""``systolith virtual-board``: a simulated board at a pseudo-terminal."""
from collections.abc import Callable

from systolith.hw.configs import get_config
from systolith.sim.board import SimulatedBoard
from systolith.sim.progress import Progress
from systolith.sim.virtual_board import VirtualBoard
from systolith.sw.runtime.port import PREFIX

#: Bytes of external memory of a board that is not told how many: simulating more costs memory.
MOST_BYTES = 1 << 24


def serve(config: str, *, clocks_per_bit: float, ext_bytes: int | None,
          show: Callable[[str], None], progress: Progress) -> None:
    """Serve a board until interrupted; ``show`` gets its device name when it is there.

    Raises
    ------
    ConfigError, ToolchainError
        When the configuration is unknown, or cannot be built.
    """
    chosen = get_config(config)
    size = min(chosen.ext_bytes, MOST_BYTES) if ext_bytes is None else ext_bytes
    with SimulatedBoard(chosen, clocks_per_bit=clocks_per_bit, ext_bytes=size,
                        progress=progress) as board:
        served = VirtualBoard(board)
        try:
            show(PREFIX + served.path)
            served.serve()
        except KeyboardInterrupt:
            progress.note(f"switched off after {board.cycles:,} cycles")
        finally:
            served.close()
