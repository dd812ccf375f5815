"""The one ISA definition: layout, encoding, decoding."""
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from systolith.hw import isa
from systolith.hw.isa import COMMANDS, Command, CommandError, Engine, Product, decode, decode_stream


@st.composite
def commands(draw) -> Command:
    """Any command with any field values."""
    kind = draw(st.sampled_from(list(COMMANDS.values())))
    return kind(**{field.name: draw(st.integers(0, (1 << field.width) - 1))
                   for field in kind.layout() if field.name != "opcode"})


@given(commands())
def test_decoding_gives_back_what_was_encoded(command):
    assert decode(command.ENGINE, command.encode()) == command


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=lambda kind: kind.__name__)
def test_fields_do_not_overlap_or_cross_words(kind):
    used = set()
    for field in kind.layout():
        assert field.lsb + field.width <= 32
        places = {(field.word, field.lsb + bit) for bit in range(field.width)}
        assert not used & places
        used |= places


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=lambda kind: kind.__name__)
def test_common_fields_stand_in_the_same_place(kind):
    layout = {field.name: field for field in kind.layout()}
    assert (layout["opcode"].word, layout["opcode"].lsb) == (0, 0)
    assert (layout["fence"].word, layout["fence"].lsb) == (0, 4)
    assert (layout["wait"].word, layout["wait"].lsb) == (1, 0)
    assert (layout["signal"].word, layout["signal"].lsb) == (1, 16)
    assert all(field.doc for field in layout.values())


def test_a_value_too_large_is_refused():
    with pytest.raises(CommandError) as error:
        Product(count0=65536).encode()
    assert str(error.value) == "Product.count0 is 65536, but 16 bits hold 0 to 65535"


@pytest.mark.parametrize("opcode", [0, 1, 4, 15])
def test_unknown_operation_codes(opcode):
    words = [opcode] + [0] * (isa.WORDS[Engine.MATRIX] - 1)
    with pytest.raises(CommandError) as error:
        list(decode_stream(Engine.MATRIX, Product().encode() + words))
    assert str(error.value) == (
        f"MATRIX command 1: operation code {opcode} is unknown to the MATRIX engine")


def test_a_stream_cut_short_is_refused():
    with pytest.raises(CommandError, match="MATRIX command 0: a MATRIX command has 9 words, not 8"):
        list(decode_stream(Engine.MATRIX, Product().encode()[:-1]))


def test_text_names_fields_and_enumerations():
    command = isa.Pass(sink=isa.Sink.WGT_LANES, rows=3, fence=1)
    assert str(command) == "PASS fence=1 sink=WGT_LANES rows=3"


def test_status_fields_do_not_overlap():
    used = 0
    for _, lsb, width, _ in isa.STATUS_FIELDS:
        mask = (1 << width) - 1 << lsb
        assert not used & mask
        used |= mask


def test_commands_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Product().count0 = 3
