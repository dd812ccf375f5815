# amaranth: UnusedElaboratable=no
"""The chip's ports, and what it refuses."""
import pytest

from systolith.hw.chip import Chip
from systolith.hw.configs import CONFIGS, get_config
from systolith.hw.core import Core


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.name)
def test_ports(config):
    chip = Chip(config=config)
    beat = 8 * config.bus_bytes
    widths = {"host_request": 64, "host_response": 32, "ext_request": 33, "ext_write": beat,
              "ext_read": beat}
    for name, width in widths.items():
        stream = getattr(chip, name)
        assert len(getattr(stream.payload, "as_value", lambda s=stream: s.payload)()) == width
    assert set(chip.signature.members) == set(widths)


def test_the_host_request_is_write_address_data():
    request = Chip(config=get_config("tiny")).host_request.payload.shape()
    assert [(name, field.offset, field.width) for name, field in request] == [
        ("write", 0, 1), ("address", 1, 31), ("data", 32, 32)]


@pytest.mark.parametrize("part", [Chip, Core])
def test_the_configuration_is_checked(part):
    with pytest.raises(TypeError, match=r"^config must be a Config, not 'tiny'$"):
        part(config="tiny")


def test_a_chip_of_several_cores_has_the_ports_of_one():
    chips = [Chip(config=get_config(name)) for name in ("tiny", "tiny@2x2")]
    assert chips[0].signature == chips[1].signature
