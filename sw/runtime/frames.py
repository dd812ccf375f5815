"""Frames as bytes: what the host sends, and what it finds among the bytes that come back."""
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from systolith.hw.frames import (
    ANSWER_HEADER,
    ESCAPE,
    FLAG,
    FLIP,
    MAX_WORDS,
    REQUEST_HEADER,
    Operation,
    Space,
    Status,
)

_REQUEST, _ANSWER, _CRC = struct.Struct("<4BII"), struct.Struct("<4BI"), struct.Struct("<I")
#: Bytes of the longest frame, not escaped.
_LONGEST = 4 * (REQUEST_HEADER + MAX_WORDS + 1)


@dataclass(frozen=True, kw_only=True)
class RequestFrame:
    """A request; ``words`` counts data words, those of ``data`` or those to read."""

    operation: Operation
    sequence: int
    session: int
    words: int = 0
    space: Space = Space.CHIP
    address: int = 0
    data: bytes = b""

    def encode(self) -> bytes:
        """The frame as it goes over the wire."""
        return wrap(_REQUEST.pack(self.operation, self.sequence, self.words, self.space,
                                  self.session, self.address) + self.data)


@dataclass(frozen=True, kw_only=True)
class AnswerFrame:
    """An answer. ``next`` is the sequence number that the device expects of the next request."""

    status: Status
    sequence: int
    next: int
    session: int
    data: bytes = b""

    def encode(self) -> bytes:
        """The frame as it goes over the wire."""
        return wrap(_ANSWER.pack(self.status, self.sequence, len(self.data) // 4, self.next,
                                 self.session) + self.data)

    @classmethod
    def decode(cls, content: bytes) -> "AnswerFrame | None":
        """The answer in a frame's content, or None when there is none."""
        if len(content) < 4 * ANSWER_HEADER:
            return None
        status, sequence, words, following, session = _ANSWER.unpack_from(content)
        data = content[_ANSWER.size:]
        if status not in set(Status) or len(data) != 4 * words:
            return None
        return cls(status=Status(status), sequence=sequence, next=following, session=session,
                   data=data)


def wrap(content: bytes) -> bytes:
    """Add the CRC, escape, and put flags around."""
    content += _CRC.pack(zlib.crc32(content))
    escaped = content.replace(bytes([ESCAPE]), bytes([ESCAPE, ESCAPE ^ FLIP]))
    return b"%c%b%c" % (FLAG, escaped.replace(bytes([FLAG]), bytes([ESCAPE, FLAG ^ FLIP])), FLAG)


class FrameFinder:
    """Finds the content of frames among bytes that come in pieces; drops all else.

    Attributes
    ----------
    dropped : int
        Pieces between flags that were no frame: garbage, cut or damaged frames.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._piece = bytearray()

    def clear(self) -> None:
        """Forget the beginning of a frame."""
        self._piece.clear()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The content of each frame that these bytes complete, without its CRC."""
        first, *others = data.split(bytes([FLAG]))
        self._piece += first
        for piece in others:
            content = _content(self._piece)
            if content is not None:
                yield content
            elif self._piece:
                self.dropped += 1
            self._piece[:] = piece
        # Escaped, a frame has twice its bytes at most: what is longer is none.
        del self._piece[2 * _LONGEST + 1:]


def _content(piece: bytearray) -> bytes | None:
    """What is between two flags, if it is a frame with a correct CRC."""
    if len(piece) < 4 or piece[-1] == ESCAPE:
        return None
    head, *parts = bytes(piece).split(bytes([ESCAPE]))
    if b"" in parts:
        return None
    plain = head + b"".join(bytes([part[0] ^ FLIP]) + part[1:] for part in parts)
    content, crc = plain[:-4], plain[-4:]
    return content if len(plain) >= 4 and crc == _CRC.pack(zlib.crc32(content)) else None
