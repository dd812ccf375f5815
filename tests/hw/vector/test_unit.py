"""The whole vector unit against the functional model of its commands."""
import cocotb
import numpy as np
import pytest

from systolith.hw.config import Config
from systolith.hw.vector.unit import VectorUnit
from tests.bench import parameters, simulate
from tests.hw.vector.commands import random_commands
from tests.hw.vector.harness import Harness

SIZES = {"tiny": (4, 4, 4, 4), "tall": (8, 4, 2, 4), "wide": (4, 16, 4, 4), "sim16": (16, 16, 16, 16),
         "narrow": (16, 8, 2, 4), "mid": (8, 16, 8, 8)}


def small_config(name: str, **changes) -> Config:
    """A configuration with memories small enough to be compared after every run."""
    rows, cols, lanes, bus = SIZES[name]
    return Config(**{**dict(
        name=name, rows=rows, cols=cols, lanes=lanes, bus_bytes=bus, act_depth=64, wgt_depth=32,
        acc_depth=32, vec_depth=256, const_depth=32, row_depth=64, ext_bytes=0), **changes})


def config_of_run() -> Config:
    given = parameters()
    return small_config(given["size"], tables=given.get("tables", 2))


@cocotb.test()
async def random_passes(dut):
    given = parameters()
    config = config_of_run()
    rng = np.random.default_rng(given["seed"])
    harness = Harness(dut, config, rng, acc_stall=given["stall"])
    await harness.start()
    for command in random_commands(config, rng, given["count"]):
        await harness.execute(command)
    await harness.compare()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_passes(size, stall):
    simulate(VectorUnit(config=small_config(size)), "vector_unit", __name__,
             testcase="random_passes",
             parameters={"size": size, "stall": stall, "count": 60, "seed": 7})
