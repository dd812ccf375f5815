"""The serial device against the model of the link: what it refuses, and parts of beats."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import VERSION, Engine, Load, Register
from systolith.sw.runtime.device import DeviceError, StuckError
from systolith.sw.runtime.link import LinkError
from systolith.sw.runtime.port import SerialWire
from systolith.sw.runtime.registers import status_mask
from systolith.sw.runtime.serial import SerialDevice
from tests.sw.link_model import FaultyWire, ModelDevice

CONFIG = get_config("sim16")
EXT_LOG2, BUS_LOG2 = 16, 4


def model(*, identity=CONFIG.identity, version=VERSION):
    """A device that has these registers, and beats of 16 bytes."""
    device = ModelDevice(ext_log2=EXT_LOG2, bus_log2=BUS_LOG2)
    for register, value in {Register.ID: identity, Register.VERSION: version}.items():
        address = CONFIG.host_address(Region.REGISTERS, register)
        device.words[False, address] = value.to_bytes(4, "little")
    return device


def connect(device):
    return SerialDevice(CONFIG, FaultyWire(device))


def load(ext_base, row_bytes=64):
    return Load(region=Region.ACT, rows=1, row_bytes=row_bytes, ext_base=ext_base, ext_stride=0,
                base=0, stride=0)


def test_facts_limit_external_memory():
    device = connect(model())
    assert device.size("ext") == 1 << EXT_LOG2 < CONFIG.ext_bytes
    assert device.size(Region.ACT) == CONFIG.rows * CONFIG.act_depth


@pytest.mark.parametrize(("offset", "size"), [(0, 16), (4, 4), (8, 16), (12, 8), (28, 40), (0, 4)])
def test_parts_of_beats_leave_their_neighbours(offset, size):
    link_model = model()
    device = connect(link_model)
    before = bytes(range(96))
    device.write("ext", 0, before)
    link_model.writes.clear()
    data = bytes(255 - i for i in range(size))
    device.write("ext", offset, data)
    # External memory takes whole beats only.
    addresses = [address for external, address, _ in link_model.writes if external]
    assert addresses[0] % 16 == 0
    assert (addresses[-1] + 4) % 16 == 0
    assert device.read("ext", 0, 96) == before[:offset] + data + before[offset + size:]
    assert device.read("ext", offset, size) == data


def test_nothing_is_written_and_read():
    device = connect(model())
    device.write("ext", 16, b"")
    assert device.read("ext", 16, 0) == b""


def test_more_memory_than_the_board_has():
    device = connect(model())
    end = 1 << EXT_LOG2
    for access in (lambda: device.read("ext", end - 4, 8),
                   lambda: device.write("ext", end - 4, bytes(8))):
        with pytest.raises(LinkError, match=f"^byte {end + 3} of external memory is needed, but "
                                            f"the board on faulty has {end}: take a smaller"):
            access()


def test_a_program_that_moves_beyond_the_boards_memory():
    device = connect(model())
    end = 1 << EXT_LOG2
    device.run({Engine.MOVE: [load(0), load(end - 64)]})
    with pytest.raises(LinkError, match=f"^MOVE command 1 leaves the {end} bytes of external "
                                        "memory of the board on faulty"):
        device.run({Engine.MOVE: [load(0), load(end - 48)]})


def test_another_configuration():
    with pytest.raises(LinkError, match=r"has the configuration with ID 0x\w+, which is 'tiny', "
                                        r"but 'sim16' \(0x\w+\) is asked for: choose it with"):
        connect(model(identity=get_config("tiny").identity))
    with pytest.raises(LinkError, match="0x00001234, which has no name here"):
        connect(model(identity=0x1234))


def test_another_version_of_the_instructions():
    with pytest.raises(LinkError, match=f"ISA version 77, this is version {VERSION}: build its"):
        connect(model(version=77))


def test_a_port_is_given_back_when_the_device_is_refused():
    class Closing(FaultyWire, SerialWire):
        """Knows whether it was closed."""

        closed = False

        def close(self):
            self.closed = True

    wire = Closing(model(identity=1))
    with pytest.raises(LinkError, match="has no name here"):
        SerialDevice(CONFIG, wire)
    assert wire.closed


def test_a_core_that_stopped():
    link_model = model()
    device = connect(link_model)
    link_model.words[False, CONFIG.host_address(Region.REGISTERS, Register.STATUS)] = (
        status_mask("error")).to_bytes(4, "little")
    device.run({Engine.MOVE: [load(0)]})
    with pytest.raises(DeviceError, match="MOVE"):
        device.wait()


def test_a_core_that_never_ends():
    link_model = model()
    device = connect(link_model)
    link_model.words[False, CONFIG.host_address(Region.REGISTERS, Register.CYCLES)] = (
        5000).to_bytes(4, "little")
    device.run({Engine.MOVE: [load(0)]})
    with pytest.raises(StuckError, match="not finished after 4000 cycles"):
        device.wait(max_cycles=4000)


def test_a_dead_chip_is_a_stuck_run():
    link_model = model()
    device = connect(link_model)
    device.run({Engine.MOVE: [load(0)]})
    link_model.dead = True
    with pytest.raises(StuckError, match="does not react to its host port"):
        device.wait()
    device.reset()
    assert device.read("ext", 0, 4) == bytes(4)
