"""The cycle model of a compact core beside its RTL: equal in every cycle."""
import numpy as np
import pytest

from systolith.hw.config import ConfigError, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Load, Product, Store
from systolith.sim.rtl import RtlDevice
from systolith.sw.compiler.sums import compile_sums
from systolith.sw.estimate import estimate
from systolith.sw.runtime.device import StuckError
from tests.random_streams import move, product

CONFIG = get_config("ice40up5k")


@pytest.fixture(scope="module")
def device():
    with RtlDevice(CONFIG) as rtl:
        yield rtl


def same(device, streams):
    """Both, with all counters."""
    device.run(streams)
    assert estimate(CONFIG, streams).counters == device.wait()


def random_streams(rng):
    """Up to ten commands of each engine; what one signals, the other may wait for later."""
    moves = [move(rng, CONFIG) for _ in range(rng.integers(0, 11))]
    products = [product(rng, CONFIG) for _ in range(rng.integers(0, 11))]
    pairs = min(len(moves), len(products)) if rng.random() < 0.5 else 0
    bits = [int(rng.choice([1, 4, 0x21, 0x8000])) for _ in range(pairs)]
    streams = {Engine.MOVE: moves, Engine.MATRIX: products}
    first, second = rng.permutation([Engine.MOVE, Engine.MATRIX])
    for index, mask in enumerate(bits):
        streams[first][index] = replace(streams[first][index], signal=mask)
        streams[second][index] = replace(streams[second][index], wait=mask)
    return streams


def replace(command, **fields):
    return type(command)(**{**vars(command), **fields})


@pytest.mark.parametrize("seed", range(25))
def test_random_commands(device, seed):
    same(device, random_streams(np.random.default_rng(seed)))


@pytest.mark.parametrize("command", [
    Product(count0=7, count1=1, count2=1), Product(count0=1, count1=9, count2=1, wgt1_stride=1),
    Product(count0=3, count1=5, count2=2, wgt0_stride=1, acc2_stride=1, left_unsigned=1),
    Load(region=Region.CONST, rows=1, row_bytes=4), Store(region=Region.ACC, rows=3, row_bytes=40),
    Load(region=Region.WGT, rows=5, row_bytes=8, ext_stride=64, stride=16),
    Store(region=Region.VEC, rows=5, row_bytes=8, stride=8),
], ids=str)
def test_one_command(device, command):
    same(device, {command.ENGINE: [command]})


@pytest.mark.parametrize(("rows", "utilization"), [(8, 0.97), (16, 0.95)])
def test_a_resident_product_is_near_the_peak(device, rows, utilization):
    """As many sums as the accumulators hold, of as many products as the activations hold."""
    sums = compile_sums(CONFIG, m=rows, k=4096 // rows, n=1024 // rows)
    result = sums.run(device)
    assert result.bit_exact
    assert result.counters == estimate(CONFIG, sums.program.commands).counters
    assert sums.macs >= utilization * CONFIG.peak_macs_per_cycle * result.counters.cycles


def test_commands_that_wait_for_each_other_are_stuck():
    with pytest.raises(StuckError, match="no engine"):
        estimate(CONFIG, {Engine.MATRIX: [Product(count0=1, count1=1, count2=1, wait=1)]})


def test_what_does_not_fit_the_queues_is_refused():
    products = [Product(count0=1, count1=1, count2=1)] * 15
    with pytest.raises(ConfigError, match="MATRIX has 135 words and a queue of 'ice40up5k' 128"):
        estimate(CONFIG, {Engine.MATRIX: products})
