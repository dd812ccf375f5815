"""The named set of benchmarks: products, attention, layers and whole models."""
from collections.abc import Iterable

from systolith.sim.benchmarks.attention import attentions
from systolith.sim.benchmarks.models import models
from systolith.sim.benchmarks.products import products
from systolith.sim.benchmarks.work import Benchmark

#: All benchmarks by name.
BENCHMARKS: dict[str, Benchmark] = {
    each.name: each for each in (*products(), *attentions(), *models())}


class BenchmarkError(ValueError):
    """A name that no benchmark has or begins with."""


def select(names: Iterable[str]) -> list[Benchmark]:
    """The benchmarks that are named, or whose names begin with a name and a dash, in order.

    Raises
    ------
    BenchmarkError
        When there is none.
    """
    chosen: dict[str, Benchmark] = {}
    for name in names:
        found = {each: BENCHMARKS[each] for each in BENCHMARKS
                 if each == name or each.startswith(f"{name}-")}
        if not found:
            groups = dict.fromkeys(each.partition("-")[0] for each in BENCHMARKS)
            raise BenchmarkError(
                f"unknown benchmark {name!r}; choose a group ({', '.join(groups)}) or a name that "
                "`systolith bench --list` shows")
        chosen |= found if name not in BENCHMARKS else {name: BENCHMARKS[name]}
    return list(chosen.values())
