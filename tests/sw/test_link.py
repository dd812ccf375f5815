"""The host's end of the link against a model of the device, over wires as bad as can be."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from systolith.hw.frames import MAX_WORDS, Space
from systolith.sw.runtime.link import RETRIES, DeadError, Link, LinkError
from tests.sw.link_model import FaultyWire, ModelDevice


def cut(length):
    return lambda data: data[:length]


def flip(bit):
    def fault(data):
        place = bit // 8 % max(1, len(data))
        return data[:place] + bytes([byte ^ 1 << bit % 8 for byte in data[place:place + 1]]) + (
            data[place + 1:])
    return fault


def drop(place):
    return lambda data: data[:place] + data[place + 1:]


def double(place):
    return lambda data: data[:place + 1] + data[place:]


def twice(data):
    return data + data


def whole(data):
    return data


FAULTS = st.one_of(
    st.builds(cut, st.integers(0, 40)), st.builds(flip, st.integers(0, 400)),
    st.builds(drop, st.integers(0, 40)), st.builds(double, st.integers(0, 40)),
    st.just(twice), st.just(whole),
    st.binary(max_size=40).map(lambda noise: lambda data: noise + data),
    st.binary(max_size=40).map(lambda noise: lambda data: data + noise))


def connect(device=None, faults=()):
    device = device or ModelDevice()
    return device, Link(FaultyWire(device, faults))


def check_usable(device, link):
    link.write(0x40, b"12345678")
    assert link.read(0x40, 8) == b"12345678"


def test_words_come_back():
    device, link = connect()
    data = bytes(range(256)) * 9
    link.write(0x100, data)
    assert link.read(0x100, len(data)) == data
    link.write(0x100, b"abcd", Space.EXTERNAL)
    assert link.read(0x100, 4, Space.EXTERNAL) == b"abcd"
    assert link.read(0x100, 4) == data[:4]
    assert link.read(0, 0) == b""
    assert link.echo(data[:4 * MAX_WORDS]) == data[:4 * MAX_WORDS]
    assert (link.facts.ext_bytes, link.facts.bus_bytes) == (1 << 16, 4)
    assert link.statistics.repeated == 0
    link.reset()
    assert device.resets == 1


def test_a_fixed_address_gets_all_words_once_and_in_order():
    device, link = connect()
    data = bytes(range(256)) * 8
    link.write(0x8, data, Space.FIXED)
    assert [word for _, _, word in device.writes] == [data[i:i + 4] for i in range(0, 2048, 4)]
    assert {address for _, address, _ in device.writes} == {8}


def test_a_thousand_requests_pass_the_end_of_the_numbers():
    _, link = connect()
    for number in range(1000):
        link.write(4 * number, number.to_bytes(4, "little"))
    assert link.read(4 * 999, 4) == (999).to_bytes(4, "little")


# Without escapes, the request has 22 bytes and its answer 14; the session may add some.
@pytest.mark.parametrize(("back", "length"), [*((False, length) for length in range(22)),
                                              *((True, length) for length in range(14))])
def test_a_frame_cut_at_any_byte_costs_one_repetition(back, length):
    device, link = connect(faults=[whole, whole, *[whole] * back, cut(length)])
    link.write(0, b"once", Space.FIXED)
    assert device.writes == [(False, 0, b"once")]
    assert link.statistics.repeated == 1
    check_usable(device, link)


@settings(max_examples=300, deadline=None)
@given(st.lists(FAULTS, max_size=2 * RETRIES), st.integers(1, 6 * 4 * MAX_WORDS // 4))
def test_whatever_happens_the_data_are_right_or_the_error_is_told(faults, words):
    device = ModelDevice()
    data = bytes((7 * i) % 256 for i in range(4 * words))
    try:
        _, link = connect(device, faults)
        link.write(0x10, data, Space.FIXED)
        assert [word for _, _, word in device.writes] == [
            data[i:i + 4] for i in range(0, len(data), 4)]
        link.write(0x1000, data)
        assert link.read(0x1000, len(data)) == data
    except LinkError as error:
        assert "answer" in str(error)  # noqa: PT017 either outcome is right
    # Whatever is still on the way, a new session works.
    device, link = connect(device)
    check_usable(device, link)


@settings(max_examples=100, deadline=None)
@given(st.lists(FAULTS, min_size=1, max_size=RETRIES - 1))
def test_fewer_faults_than_retries_are_never_an_error(faults):
    device, link = connect()
    link._wire._faults.extend(faults)
    link.write(0x10, bytes(range(64)), Space.FIXED)
    assert len(device.writes) == 16
    check_usable(device, link)


def test_a_lost_frame_among_several_goes_back_once():
    device, link = connect()
    link._wire._faults.extend([whole, whole, cut(0), whole])
    data = bytes(4 * MAX_WORDS * 4)
    link.write(0x10, data, Space.FIXED)
    assert len(device.writes) == 4 * MAX_WORDS
    assert link.statistics.repeated == 3


def test_nobody_answers():
    with pytest.raises(LinkError, match=r"^no device answers on faulty: check the cable"):
        connect(faults=[cut(0)] * 40)


def test_the_device_goes_away_in_the_middle():
    device, link = connect()
    link._wire._faults.extend([cut(0)] * 40)
    with pytest.raises(LinkError, match=f"does not answer any more, asked {RETRIES + 1} times"):
        link.write(0, b"lost")
    # And comes back: the same link works again.
    link._wire._faults.clear()
    check_usable(device, link)


def test_two_hosts_are_told_of_each_other():
    device = ModelDevice()
    first, second = FaultyWire(device), FaultyWire(device)
    one = Link(first)
    two = Link(second)
    with pytest.raises(LinkError, match=r"^another host uses the device on faulty"):
        one.write(0, b"mine")
    assert device.writes == []
    check_usable(device, two)


def test_an_answer_to_another_host_is_told():
    device = ModelDevice()
    wire = FaultyWire(device)
    link = Link(wire)
    Link(FaultyWire(device))
    # The other host's answers come here, as on a port that two programs read.
    with pytest.raises(LinkError, match=r"^another host uses the device"):
        link.read(0, 4)


def test_a_dead_chip_is_told_and_a_reset_helps():
    device, link = connect()
    device.dead = True
    for action in (lambda: link.write(0, b"1234"), lambda: link.read(0, 4),
                   lambda: link.write(0, bytes(4 * MAX_WORDS * 6))):
        with pytest.raises(DeadError, match=r"does not react to its host port; reset the device$"):
            action()
        assert link.echo(b"echo") == b"echo"
        device.words.clear()
    link.reset()
    check_usable(device, link)


def test_another_protocol_is_refused():
    with pytest.raises(LinkError, match="speaks version 9 of the protocol, this host version 1"):
        connect(ModelDevice(protocol=9))
