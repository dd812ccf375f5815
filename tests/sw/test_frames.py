"""Frames as bytes, and how they are found among others."""
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from systolith.hw.frames import CRC_RESIDUE, ESCAPE, FLAG, Operation, Status
from systolith.sw.runtime.frames import AnswerFrame, FrameFinder, RequestFrame, wrap

SPECIAL = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from([FLAG, ESCAPE, 0x5E, 0x5D, 0]), max_size=60).map(bytes))


def found(data, size=None):
    finder = FrameFinder()
    pieces = [data[i:i + size] for i in range(0, len(data), size)] if size else [data]
    return [content for piece in pieces for content in finder.feed(piece)], finder


def test_a_request_has_the_bytes_of_the_document():
    frame = RequestFrame(operation=Operation.WRITE, sequence=0x7E, session=0x11223344, words=1,
                         address=0x55667788, data=b"\x7d123")
    content = bytes.fromhex("027e0100 44332211 88776655 7d313233")
    crc = zlib.crc32(content).to_bytes(4, "little")
    assert frame.encode() == (b"\x7e" + (content + crc).replace(b"\x7d", b"\x7d\x5d")
                              .replace(b"\x7e", b"\x7d\x5e") + b"\x7e")
    assert CRC_RESIDUE == zlib.crc32(content + crc) ^ 0xFFFFFFFF


def test_an_answer_comes_back_as_it_was():
    answer = AnswerFrame(status=Status.DEAD, sequence=3, next=4, session=5, data=b"12345678")
    (content,), _ = found(answer.encode())
    assert AnswerFrame.decode(content) == answer


@pytest.mark.parametrize("content", [b"", b"1234567", bytes([9, 0, 0, 0]) + bytes(4),
                                     bytes([0, 0, 1, 0]) + bytes(4), bytes(12)])
def test_what_is_no_answer_is_none(content):
    assert AnswerFrame.decode(content) is None


@given(st.lists(SPECIAL, min_size=1, max_size=4), st.integers(1, 9))
def test_every_content_is_found_in_pieces_of_any_size(contents, size):
    assert found(b"".join(map(wrap, contents)), size)[0] == contents


@given(SPECIAL, SPECIAL)
def test_garbage_before_a_frame_costs_nothing(garbage, content):
    contents, _ = found(garbage + wrap(content))
    assert contents[-1] == content


@given(SPECIAL, st.data())
def test_a_flipped_bit_is_never_taken_for_another_frame(content, data):
    frame = bytearray(wrap(content))
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    frame[bit // 8] ^= 1 << bit % 8
    assert set(found(bytes(frame))[0]) <= {content}


@given(SPECIAL, st.data())
def test_a_lost_or_doubled_byte_is_never_taken_for_another_frame(content, data):
    frame = wrap(content)
    place = data.draw(st.integers(0, len(frame) - 1))
    twice = data.draw(st.booleans())
    contents, _ = found(frame[:place] + frame[place:place + 1] * 2 * twice + frame[place + 1:])
    assert set(contents) <= {content}


def test_damage_is_counted_and_flags_between_frames_are_not():
    _, finder = found(b"~~~" + wrap(b"good") + b"~abcdef~" + wrap(b"good")[:5] + b"~~")
    assert finder.dropped == 2


def test_endless_garbage_is_not_kept():
    finder = FrameFinder()
    for _ in range(100):
        assert list(finder.feed(b"x" * 10_000)) == []
    assert len(finder._piece) < 10_000
    assert list(finder.feed(wrap(b"good"))) == [b"good"]
