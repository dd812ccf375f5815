"""When products read accumulators out of the memory."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import Product
from systolith.sw.estimate.matrix import MatrixModel
from systolith.sw.estimate.ports import Ports

CONFIG = get_config("tiny")
DELAY = CONFIG.matrix_latency - CONFIG.accumulate_latency + 1


def reads(*products, start=0, gap=0):
    """Cycles in which the first half of the accumulators is read, less the delay."""
    ports = Ports(CONFIG, [])
    model, time = MatrixModel(CONFIG, ports), start
    for product in products:
        time = model.accept(product, time) + gap
    free = ports.halves[0].place(np.arange(200), -1)
    return sorted(set(range(free[-1])) - set(free.tolist()) - set(range(DELAY)))


@pytest.mark.parametrize(("fields", "expected"), [
    ({"count0": 6}, []),                                                # one sum, forwarded
    ({"count0": 4, "acc0_stride": 1}, []),                              # all are set
    ({"count0": 4, "acc0_stride": 1, "accumulate": 1}, [1, 2, 3, 4]),
    ({"count0": 4, "acc0_stride": 1, "count1": 2}, [5, 6, 7, 8]),       # the second round adds
    ({"count0": 3, "acc0_stride": 1, "count1": 2}, []),                 # three cycles: forwarded
    ({"count0": 5, "acc0_stride": 0, "accumulate": 1}, [1]),
    ({"count0": 4, "acc0_stride": 1, "accumulate": 1, "acc_base": CONFIG.acc_half}, []),
])
def test_reads_of_the_first_half(fields, expected):
    product = Product(**{"count1": 1, "count2": 1, **fields})
    assert reads(product) == [cycle + DELAY for cycle in expected]


def test_what_the_command_before_left_is_forwarded_while_it_is_under_way():
    product = Product(count0=2, count1=1, count2=1, accumulate=1)
    assert reads(product, product) == [1 + DELAY]
    assert reads(product, product, gap=2) == [1 + DELAY]
    assert reads(product, product, gap=3) == [1 + DELAY, 6 + DELAY]
