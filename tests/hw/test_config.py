"""The configuration object: derived widths and rejections."""
import pytest

from systolith.hw.accumulator import sums_delay
from systolith.hw.array import SystolicArray
from systolith.hw.config import Config, ConfigError, Region
from systolith.hw.configs import CONFIGS, get_config
from systolith.hw.memory import READ_LATENCY, operand_latency
from systolith.hw.vector import timing

SIZES = {"name": "test", "rows": 8, "cols": 4, "lanes": 4}


@pytest.mark.parametrize(("change", "message"), [
    ({"rows": 6}, "rows must be a power of two from 4 to 64, not 6"),
    ({"cols": 128}, "cols must be a power of two from 4 to 64, not 128"),
    ({"lanes": 8}, "lanes must be a power of two from 2 to 4, not 8"),
    ({"hop": 3}, "hop must be 0 or a divisor of cols (4), not 3"),
    ({"act_depth": 1000}, "act_depth must be a power of two from 16 to 65536, not 1000"),
    ({"tables": 4}, "tables must be a power of two from 1 to 2, not 4"),
    ({"queue_depth": 1024}, "queue_depth must be a power of two from 32 to 512, not 1024"),
    ({"semaphores": 17}, "semaphores must be an integer from 6 to 16, not 17"),
    ({"bus_bytes": 8}, "bus_bytes must be a power of two from 4 to 4, not 8"),
    ({"read_cycles": 3}, "read_cycles must be an integer from 1 to 2, not 3"),
    ({"port_cycles": 2}, "port_cycles must be an integer from 0 to 1, not 2"),
    ({"multiply_cycles": 3}, "multiply_cycles must be an integer from 1 to 2, not 3"),
    ({"multiply_cycles": 2, "lut_columns": 5},
     "lut_columns must be an integer from 0 to 4, not 5"),
    ({"lut_columns": 2}, "lut_columns is 2, but a multiplier in tables of logic takes two cycles: "
     "set multiply_cycles to 2"),
    ({"scalar_cycles": 7}, "scalar_cycles must be 6 or 10, not 7"),
    ({"ext_bytes": 3}, "ext_bytes must be 0 or a power of two up to 4294967296, not 3"),
    ({"rows": 4.0}, "rows must be an integer, not 4.0"),
    ({"name": ""}, "name must be a non-empty string, not ''"),
    ({"wgt_depth": 1 << 16, "rows": 32, "cols": 32},
     "wgt memory has 67108864 bytes, but a region holds 4194304: lower wgt_depth"),
])
def test_rejections(change, message):
    with pytest.raises(ConfigError) as error:
        Config(**{**SIZES, **change})
    assert str(error.value) == message


@pytest.mark.parametrize(("change", "message"), [
    ({"rows": 4}, "rows of a compact core must be 8, not 4"),
    ({"hop": 1}, "hop of a compact core must be 0, not 1"),
    ({"act_depth": 1024}, "act_depth must be an integer from 16 to 512, not 1024"),
    ({"multiply_cycles": 2}, "multiply_cycles of a compact core must be 1, not 2"),
    ({"lut_columns": 1}, "lut_columns of a compact core must be 0, not 1"),
    ({"ext_bytes": 0}, "ext_bytes must be a power of two from 4 to 131072, not 0"),
    ({"bus_bytes": 8}, "bus_bytes must be a power of two from 4 to 4, not 8"),
    ({"mesh_width": 2},
     "a compact core is alone on its chip, but a mesh of 2 x 1 has 2 cores"),
    ({"wgt_depth": 8192}, "weights, vector memory, constants, external memory, queues "
     "and tables of a compact core have 131072 bytes together, not 193464: lower a depth"),
    ({"microarchitecture": "small"},
     "microarchitecture must be one of full, compact, not 'small'"),
    ({"microarchitecture": 1}, "microarchitecture must be a non-empty string, not 1"),
])
def test_rejections_of_a_compact_core(change, message):
    with pytest.raises(ConfigError) as error:
        get_config("ice40up5k").replace(**change)
    assert str(error.value) == message


def test_unknown_name_lists_those_that_exist():
    with pytest.raises(ConfigError) as error:
        get_config("huge")
    assert str(error.value) == (
        f"unknown configuration 'huge'; choose one of {', '.join(CONFIGS)}, mesh4, mesh16, or a "
        "mesh such as tiny@2x2")


@pytest.mark.parametrize(("name", "core", "width", "height"), [
    ("mesh4", "sim16", 2, 2), ("mesh16", "sim16", 4, 4), ("3x2", "sim16", 3, 2),
    ("tiny@1x4", "tiny", 1, 4), ("ecp5-25f@2x1", "ecp5-25f", 2, 1)])
def test_names_of_meshes(name, core, width, height):
    config = get_config(name)
    assert (config.mesh_width, config.mesh_height, config.cores) == (width, height, width * height)
    assert config.core == CONFIGS[core]
    assert get_config(config.name) == config
    assert config.identity != CONFIGS[core].identity


@pytest.mark.parametrize(("name", "error"), [
    ("huge@2x2", "unknown configuration 'huge@2x2'; choose one of"),
    ("0x2", "mesh_width must be an integer from 1 to 16, not 0"),
    ("tiny@2x17", "mesh_height must be an integer from 1 to 16, not 17"),
    ("16x5", "a mesh of 16 x 5 has 80 cores, but addresses tell only 64 apart")])
def test_meshes_that_do_not_exist(name, error):
    with pytest.raises(ConfigError, match=f"^{error}"):
        get_config(name)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_chain_holds_the_extreme_sum(config):
    extreme = config.rows * 255 * -128
    assert -(1 << config.chain_width - 1) <= extreme


def test_derived_sizes():
    config = Config(**SIZES, act_depth=1024)
    assert config.peak_macs_per_cycle == 32
    assert config.dsp_columns == 4
    assert config.replace(multiply_cycles=2, lut_columns=3).dsp_columns == 1
    assert config.region_bytes(Region.ACT) == 8192
    assert config.word_bytes(Region.WGT) == 32
    assert config.acc_half * 2 == config.acc_depth


def test_identity_ignores_the_name_and_nothing_else():
    config = Config(**SIZES)
    assert config.replace(name="other").identity == config.identity
    assert config.replace(row_depth=1024).identity != config.identity


def test_host_address_fields():
    config = get_config("tiny")
    assert config.host_address(Region.VEC, 8, core=3) == 3 << 25 | 4 << 22 | 8
    with pytest.raises(ConfigError, match="offset 4194304 is outside a region of 4194304 bytes"):
        config.host_address(Region.VEC, 1 << 22)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
def test_latencies_are_those_of_the_hardware(config):
    """What the cycle model takes from the configuration is what the stages add up to."""
    late = config.source_latency - READ_LATENCY
    assert timing.WRITE_AT + late == config.pass_latency
    assert timing.reduction_at(config) + late == config.reduction_latency
    assert SystolicArray(config=config).latency + config.accumulate_latency - sums_delay(config) \
        + operand_latency(config) == config.matrix_latency
