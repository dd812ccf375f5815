"""Places in the memories of a compact core: nothing overlaps, and a full configuration fits."""
import itertools

import pytest

from systolith.hw.compact.layout import TABLE_BYTES, Space, layout, ring_bytes
from systolith.hw.config import COMPACT_BYTES, ConfigError, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, WORDS
from systolith.hw.registers import REGISTER_BYTES

CONFIG = get_config("ice40up5k")


def test_nothing_overlaps():
    places = layout(CONFIG)
    parts = [(places.regions[region], CONFIG.region_bytes(region))
             for region in (Region.WGT, Region.VEC, Region.CONST, Region.ROW)]
    parts += [(places.external, CONFIG.ext_bytes), (places.registers, REGISTER_BYTES),
              (places.semaphores, 64), (places.tables, CONFIG.tables * TABLE_BYTES)]
    parts += [(places.queues[engine], ring_bytes(CONFIG, engine)) for engine in ENGINES]
    parts.sort()
    for (start, size), (following, _) in itertools.pairwise(parts):
        assert start + size <= following
        assert start % 4 == 0
    assert sum(parts[-1]) <= COMPACT_BYTES
    assert places.regions[Region.ACT] == Space.ACT.base > COMPACT_BYTES - 1


def test_a_ring_holds_whole_commands():
    for engine in ENGINES:
        size = ring_bytes(CONFIG, engine)
        assert size % (4 * WORDS[engine]) == 0
        assert size >= 4 * CONFIG.queue_depth


def test_a_configuration_that_passes_its_check_fits():
    with pytest.raises(ConfigError, match="lower a depth"):
        CONFIG.replace(vec_depth=8192)
    assert layout(CONFIG.replace(ext_bytes=1 << 14, queue_depth=512))
