"""Places of the memory image and the loads that fetch it."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine
from systolith.sw.compiler.allocate import Allocator, Buffer, CapacityError
from systolith.sw.compiler.image import Image
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.program import Section
from tests.sw.layers import ODD_CONFIGS


@pytest.mark.parametrize("words", [1, 3, 255, 257, 1021])
def test_long_runs_arrive_whole(words):
    config = get_config("sim16")
    data = np.random.default_rng(words).integers(0, 256, words * 256, dtype=np.uint8).tobytes()
    image = Image(config)
    image.add("first", Buffer(Region.ACT, 3, 1), bytes(16))
    image.add("weights", Buffer(Region.WGT, 7, words), data)
    assert [(s.memory, s.offset) for s in image.sections] == [("ext", 0), ("ext", 16)]
    device = FunctionalDevice(config)
    for section in image.sections:
        device.write(section.memory, section.offset, section.data)
    device.run({Engine.MOVE: image.loads})
    device.wait()
    assert device.read(Region.WGT, 7 * 256, words * 256) == data


def test_without_external_memory_sections_lie_in_the_core():
    config = ODD_CONFIGS["wide"]
    image = Image(config)
    image.add("weights", Buffer(Region.WGT, 7, 2), bytes(64))
    assert image.loads == []
    assert image.sections == [Section("weights", Region.WGT, 7 * 32, bytes(64))]
    vector = Buffer(Region.VEC, 2, 4)
    place = image.place(vector)
    assert (place.memory, place.offset, place.size) == (Region.VEC, 8, 16)
    assert image.store(vector, place, 0, 4) == []


def test_external_memory_that_is_too_small():
    config = get_config("tiny").replace(name="shallow", ext_bytes=64)
    image = Image(config)
    image.add("weights", Buffer(Region.WGT, 0, 5), bytes(80))
    with pytest.raises(CapacityError) as error:
        image.check("it")
    assert str(error.value) == ("it needs 80 bytes of external memory, but configuration 'shallow' "
                                "has 64 bytes")


def test_allocator_reports_the_whole_need():
    take = Allocator(get_config("tiny"))
    assert take.several(2, Region.ROW, 3) == (Buffer(Region.ROW, 0, 3), Buffer(Region.ROW, 3, 3))
    take.take(Region.CONST, 1000)
    take.take(Region.CONST, 100)
    assert take.free(Region.CONST) == -76
    with pytest.raises(CapacityError) as error:
        take.check("it")
    assert str(error.value) == ("it needs 1100 words (35200 bytes) of column constant memory, but "
                                "configuration 'tiny' has 1024 words (32768 bytes)")
