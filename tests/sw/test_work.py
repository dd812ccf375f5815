"""What bounds each part of a run."""
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Load, Pass, Product, Table
from systolith.sw.decoder.work import Work, total_work, work_of

COMMANDS = [Product(count0=3, count1=4, count2=5), Pass(rows=2, beats=7, valid=1), Table(),
            Load(region=int(Region.WGT), rows=4, row_bytes=160)]


def test_beats_of_each_engine():
    assert work_of("layer 0", COMMANDS, get_config("sim16")) == Work("layer 0", 60, 14, 40)
    assert work_of("layer 0", COMMANDS, get_config("tiny")).memory == 160


@pytest.mark.parametrize(("sizes", "bound"), [
    ((3, 2, 1), "array"), ((2, 3, 1), "vector"), ((1, 2, 3), "memory")])
def test_the_largest_bounds(sizes, bound):
    work = Work("logits", *sizes)
    assert (work.bound, work.least) == (bound, 3)
    assert work.as_json()["bound"] == bound


def test_sum_part_by_part():
    first, second = Work("a", 1, 2, 3), Work("b", 4, 5, 6)
    assert total_work([(first, second), (first, second)]) == (
        Work("a", 2, 4, 6), Work("b", 8, 10, 12))
