"""Measures of runs."""
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES
from systolith.sim.measure import Measure, total
from systolith.sw.runtime.device import Counters, EngineCounters


def test_idle_is_what_is_left_of_the_cycles():
    engines = {engine: EngineCounters(busy=50, wait_semaphore=20, wait_fence=5, stall=10,
                                      commands=3) for engine in ENGINES}
    measure = Measure(get_config("tiny"), 800, Counters(100, 64, engines))
    assert measure.utilization == 0.5
    assert measure.engines()["matrix"] == {"busy": 50, "wait_semaphore": 20, "wait_fence": 5,
                                           "stall": 10, "idle": 15, "commands": 3}
    both = total([measure, measure])
    assert (both.cycles, both.macs, both.utilization) == (200, 1600, 0.5)
    assert (both.counters.move_bytes, both.engines()["vector"]["idle"]) == (128, 30)
