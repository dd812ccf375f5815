"""What it costs to simulate more cores."""
import os
from contextlib import nullcontext

import pytest

from systolith.hw.configs import get_config
from systolith.sim.mesh import simulation as module
from systolith.sim.mesh.simulation import Cost, simulation
from systolith.sim.progress import Progress


class Machine(nullcontext):
    """Nothing but a configuration."""

    def close(self):
        """Nothing is open."""


def test_costs_of_each_size_and_number_of_threads(monkeypatch):
    """In a cache of its own, which is gone at the end."""
    caches, clock = set(), iter(range(100))

    def opened(config, threads, progress):
        caches.add(os.environ["SYSTOLITH_CACHE"])
        machine = Machine()
        machine.enter_result = config.cores, threads
        return machine

    monkeypatch.setattr(module, "_open", opened)
    monkeypatch.setattr(module, "_rate", lambda machine: 800.0 * machine[1] / machine[0])
    monkeypatch.setattr(module.cxx, "runtime_objects", lambda names: [])
    monkeypatch.setattr(module, "processor_seconds", lambda: float(next(clock)))
    assert simulation(get_config("tiny"), 2, 2, progress=Progress(quiet=True)).costs == [
        Cost(1, 1, 1.0, 800.0, 1.0), Cost(2, 1, 1.0, 400.0, 1.0), Cost(2, 2, 1.0, 800.0, 2.0),
        Cost(4, 1, 1.0, 200.0, 1.0), Cost(4, 2, 1.0, 400.0, 2.0), Cost(4, 4, 1.0, 800.0, 4.0)]
    assert len(caches) == 1
    assert not any(map(os.path.exists, caches))


@pytest.mark.slow
def test_a_small_chip_is_measured():
    costs = simulation(get_config("tiny"), 2, 1, progress=Progress(quiet=True)).costs
    assert [(cost.cores, cost.threads) for cost in costs] == [(1, 1), (2, 1), (2, 2)]
    assert all(cost.build_seconds > 1 for cost in costs)
    assert all(cost.cycles_per_second > 1000 for cost in costs)
