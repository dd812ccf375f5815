"""All boards, by name."""
from systolith.hw.boards.board import Board
from systolith.hw.boards.colorlight_i5 import COLORLIGHT_I5
from systolith.hw.boards.ecp5_evn import ECP5_EVN
from systolith.hw.boards.icebreaker import ICEBREAKER
from systolith.hw.boards.orangecrab import ORANGECRAB_25F, ORANGECRAB_85F
from systolith.hw.boards.ulx3s import ULX3S_12F, ULX3S_25F, ULX3S_85F
from systolith.hw.boards.upduino3 import UPDUINO3
from systolith.hw.config import ConfigError

BOARDS = {board.name: board for board in (
    ICEBREAKER, UPDUINO3, ULX3S_85F, ULX3S_25F, ULX3S_12F, ORANGECRAB_85F, ORANGECRAB_25F,
    COLORLIGHT_I5, ECP5_EVN)}


def get_board(name: str) -> Board:
    """The board of that name.

    Raises
    ------
    ConfigError
        When there is none; the message lists those that exist.
    """
    if name not in BOARDS:
        raise ConfigError(f"unknown board {name!r}; choose one of {', '.join(BOARDS)}")
    return BOARDS[name]
