"""Other orders of a product's loops: the same sums, fewer reads."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Notify, Product
from systolith.sw.compiler.stationary import paired, stationary
from systolith.sw.runtime.functional import FunctionalDevice


def product(rows=5, **changes):
    return Product(**{
        "count0": 3, "act0_stride": 1, "wgt0_stride": 1, "count1": rows, "act1_stride": 3,
        "acc1_stride": 2, "count2": 2, "wgt2_stride": 3, "acc2_stride": 1, "act_base": 7,
        "wgt_base": 11, "acc_base": 4} | changes)


def sums(commands):
    """Accumulators after the commands, on random operands."""
    device, rng = FunctionalDevice(get_config("tiny")), np.random.default_rng(2)
    for region in (Region.ACT, Region.WGT):
        device.write(region, 0, rng.bytes(device.size(region)))
    device.run({Engine.MATRIX: commands})
    device.wait()
    return device.read(Region.ACC, 0, device.size(Region.ACC))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_sums_are_the_same(rows):
    command = product(rows)
    assert sums([stationary(command)]) == sums([command]) == sums(list(paired(command)))


def test_weights_are_read_once():
    assert (stationary(product()).count0, stationary(product()).wgt0_stride) == (5, 0)


def test_pairs_have_two_rows():
    assert [each.count0 for each in paired(product())] == [2, 2, 1]


@pytest.mark.parametrize("command", [
    Notify(), product(wgt1_stride=1), product(acc0_stride=1), product(acc1_stride=0)])
def test_others_stay(command):
    assert stationary(command) is command
    assert list(paired(command)) == [command]


def test_twice_is_once():
    assert stationary(stationary(product())) == stationary(product())
