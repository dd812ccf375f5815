"""The serial device on the simulated board, bit by bit, over wires as bad as can be."""
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from systolith.hw.config import Region
from systolith.hw.isa import Register
from systolith.sim.march import march
from systolith.sw.compiler import compile_product
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.link import RETRIES, Link, LinkError
from systolith.sw.runtime.serial import SerialDevice
from tests.sim.board_wire import CONFIG, EXT_BYTES, BoardDevice, serial_device, simulated
from tests.sw.link_faults import FAULTS, cut, double, drop, flip, whole
from tests.sw.link_model import FaultyWire


@pytest.fixture
def board():
    with simulated() as board:
        yield board


def product():
    return compile_product(CONFIG, m=5, k=9, n=7)


def check_usable(board):
    """A new host can use the board, and what it computes is right."""
    assert product().run(serial_device(board)).bit_exact


def faults_after_start(device, *faults):
    """Faults on what goes over the wire from now on."""
    device._wire._faults.extend(faults)


# Without escapes, a request with one word has 22 bytes and its answer 14.
@pytest.mark.parametrize("back", [False, True])
def test_a_frame_cut_at_any_byte_costs_one_repetition(board, back):
    device = serial_device(board)
    for length in range(14 if back else 22):
        before = device.link.statistics.repeated
        faults_after_start(device, *[whole] * back, cut(length))
        device.write(Region.ACT, 0, b"once")
        assert device.read(Region.ACT, 0, 4) == b"once"
        assert device.link.statistics.repeated == before + 1, length
        device.write(Region.ACT, 0, bytes(4))
    check_usable(board)


# In the middle of the frame: the session, the address and the data.
@pytest.mark.parametrize("fault", [*map(flip, range(8, 8 * 21, 13)), drop(6), drop(13), drop(17),
                                   double(6), double(13), double(17)])
def test_damage_costs_one_repetition(board, fault):
    device = serial_device(board)
    for faults in ([fault], [whole, fault]):
        before = device.link.statistics.repeated
        faults_after_start(device, *faults)
        device.write(Region.WGT, 8, b"\x01\x02\x03\x04")
        assert device.read(Region.WGT, 8, 4) == b"\x01\x02\x03\x04"
        assert device.link.statistics.repeated <= before + 1
        device._wire._faults.clear()


@settings(max_examples=25, deadline=None)
@given(st.lists(FAULTS, max_size=2 * RETRIES), st.integers(0, 30))
def test_whatever_happens_a_product_is_right_or_the_error_is_told(faults, start):
    """Faults come at any moment of a run: while data are loaded, pushed, waited for or read."""
    with simulated() as board:
        device = serial_device(board, [whole] * start + faults)
        try:
            assert product().run(device).bit_exact
        except LinkError as error:
            assert "answer" in str(error)  # noqa: PT017 either outcome is right
        check_usable(board)


def test_steady_loss_only_costs_time(board):
    """One frame in six is lost or damaged, in either direction."""
    generator = random.Random(2)
    device = serial_device(board)
    faults_after_start(device, *(
        generator.choice([cut(9), flip(generator.randrange(400)), drop(generator.randrange(20))])
        if generator.random() < 1 / 6 else whole for _ in range(4000)))
    assert product().run(device).bit_exact
    assert device.link.statistics.repeated > 0


@pytest.mark.parametrize("deviation", [-0.02, 0.02])
def test_a_host_two_percent_off_is_understood(deviation):
    with simulated(deviation=deviation) as board:
        device = serial_device(board)
        assert product().run(device).bit_exact
        # Escaped bytes and long rows of equal bits are where a wrong rate shows.
        for data in (b"\x00" * 512, b"\xff" * 512, b"\x7e\x7d" * 256, b"\x55" * 512):
            assert device.link.echo(data) == data
        assert device.link.statistics.repeated == 0


@pytest.mark.parametrize("deviation", [-0.2, 0.2])
def test_a_host_far_off_is_told_what_to_check(deviation):
    with simulated(deviation=deviation) as board, \
            pytest.raises(LinkError, match=r"no device answers on faulty: .* the baud rate"):
        serial_device(board)


def test_the_host_goes_away_in_the_middle_of_a_frame(board):
    for length in (1, 7, 12, 16, 21, 30):
        device = serial_device(board)
        faults_after_start(device, *[cut(length), cut(0)] * (RETRIES + 1))
        with pytest.raises(LinkError, match=f"does not answer any more, asked {RETRIES + 1} times"):
            device.write(Region.VEC, 0, bytes(256))
        check_usable(board)


def test_the_second_of_two_hosts_owns_the_board_and_the_first_is_told(board):
    first = serial_device(board)
    second = serial_device(board)
    with pytest.raises(LinkError, match=r"^another host uses the device on faulty \(session"):
        first.write(Region.ACT, 0, b"mine")
    assert product().run(second).bit_exact
    with pytest.raises(LinkError, match="another host uses the device"):
        first.read(Region.ACT, 0, 4)
    check_usable(board)


def test_the_counters_are_those_of_a_run(board):
    """What the registers say after a run over the link, beside the functional device's commands."""
    device, functional = serial_device(board), FunctionalDevice(CONFIG)
    counters, expected = (product().run(each).counters for each in (device, functional))
    assert {engine: each.commands for engine, each in counters.engines.items()} == {
        engine: each.commands for engine, each in expected.engines.items()}
    assert counters.cycles > 0


def test_noise_before_the_first_frame(board):
    BoardDevice(board).feed(random.Random(7).randbytes(3000))
    check_usable(board)


def test_external_memory_ends_where_the_boards_does(board):
    device = serial_device(board)
    assert device.size("ext") == EXT_BYTES < CONFIG.ext_bytes
    device.write("ext", EXT_BYTES - 4, b"last")
    assert device.read("ext", EXT_BYTES - 4, 4) == b"last"
    for access in (lambda: device.read("ext", EXT_BYTES - 4, 8),
                   lambda: device.write("ext", EXT_BYTES - 4, b"too long")):
        with pytest.raises(LinkError, match=f"byte {EXT_BYTES + 3} of external memory is needed, "
                                            f"but the board on faulty has {EXT_BYTES}"):
            access()
    check_usable(board)


def test_another_configuration_is_refused(board):
    with pytest.raises(LinkError, match=r"has the configuration with ID 0x\w+, which is 'tiny', "
                                        r"but 'tall' \(0x\w+\) is asked for"):
        serial_device(board, config=CONFIG.replace(name="tall", rows=8))
    check_usable(board)


def test_a_reset_keeps_memories_and_a_new_host_starts_from_zero(board):
    device = serial_device(board)
    device.write(Region.ACT, 0, b"stay")
    device.reset()
    assert device.read(Region.ACT, 0, 4) == b"stay"
    assert device.read_register(Register.CYCLES) == 0


def test_a_host_reads_external_memory_while_the_mover_does(board):
    class Curious(SerialDevice):
        """Whenever it asks whether all is done, it looks at external memory, too."""

        looks = 0

        def read_registers(self, offset, count):
            if offset == Register.STATUS:
                self.looks += 1
                assert self.read("ext", EXT_BYTES - 512, 512) == bytes(512)
            return super().read_registers(offset, count)

    device = Curious(CONFIG, FaultyWire(BoardDevice(board)))
    assert compile_product(CONFIG, m=8, k=64, n=300, resident=False).run(device).bit_exact
    assert device.looks


def test_external_memory_is_healthy(board):
    result = march(serial_device(board), "ext")
    assert (result.wrong, result.first_wrong) == (0, None)
    assert 0 < result.tested <= EXT_BYTES


def test_a_wire_that_echoes_is_no_device():
    class Echo:
        def feed(self, data):
            return data

    with pytest.raises(LinkError, match="no device answers"):
        Link(FaultyWire(Echo()))
