"""The one definition of the frames between host and device; ``docs/link.md`` explains them.

A request is a header of three words, data words and the CRC; an answer a header of two words, data
words and the CRC. Words are little-endian. On the wire a frame stands between two ``FLAG`` bytes;
inside, ``FLAG`` and ``ESCAPE`` are written as ``ESCAPE`` and the byte XOR ``FLIP``.
"""
import enum

#: Version of the protocol, which HELLO tells.
PROTOCOL = 1

FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20

#: Header words of a request: ``operation, sequence, words, space`` of one byte each, the first in
#: bits 7:0; the session; the byte address of the first data word.
REQUEST_HEADER = 3
#: Header words of an answer: ``status, sequence, words, next`` of one byte each; the session.
ANSWER_HEADER = 2
#: Data words of a frame, at most.
MAX_WORDS = 128

#: CRC-32 as in Ethernet and zlib (reflected, starts as ones, inverted at the end), and what is in
#: its register, not inverted, after a frame with a correct CRC.
CRC_POLYNOMIAL = 0xEDB88320
CRC_RESIDUE = 0xDEBB20E3

#: A cut frame is dropped after so many bit times without a byte, or at most twice that.
SILENCE_BITS = 1 << 16
#: Cycles without progress after which the chip's port counts as dead.
DEAD_CYCLES = 1 << 16


class Operation(enum.IntEnum):
    """What a request wants. ``HELLO`` opens a session; ``ECHO`` returns the data; ``RESET``
    resets the chip, whose memories keep their content."""

    HELLO = 1
    WRITE = 2
    READ = 3
    ECHO = 4
    RESET = 5


class Space(enum.IntFlag):
    """``CHIP``: the address is a host address of the chip; ``EXTERNAL``: one of external memory.
    ``FIXED``: all words go to the same address."""

    CHIP = 0
    EXTERNAL = 1
    FIXED = 2


class Status(enum.IntEnum):
    """How a request ended; all but ``OK`` and ``DEAD`` have done nothing.

    ``SEQUENCE``: not the expected number, which is ``next``. ``SESSION``: another session is open,
    the one in the answer. ``REQUEST``: unknown operation, wrong length or address. ``DEAD``: the
    chip's port does not answer; until RESET, nothing reaches it.
    """

    OK = 0
    SEQUENCE = 1
    SESSION = 2
    REQUEST = 3
    DEAD = 4

#: Bits a second of a board, unless it says otherwise.
DEFAULT_BAUD = 3_000_000
