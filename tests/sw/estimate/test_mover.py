"""Loads and stores, beat by beat."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Load, Store
from systolith.sw.estimate.external import ExternalMemory
from systolith.sw.estimate.mover import Far, MoverModel
from systolith.sw.estimate.pace import Pace
from systolith.sw.estimate.ports import Ports

CONFIG = get_config("tiny")


def load(beats, **fields):
    return Load(**{"region": int(Region.ACT), "rows": 1, "row_bytes": 4 * beats, "ext_base": 0,
                   "base": 0, **fields})


def store(beats, region=Region.ACT, **fields):
    return Store(region=int(region), rows=1, row_bytes=4 * beats, ext_base=0, base=0, **fields)


def ends(*moves, ports=None, **external):
    """Cycle of the last beat of each move, taken as early as they can be."""
    memory = ExternalMemory(**external)
    model = MoverModel(CONFIG, Far(memory, Pace(memory.gap(CONFIG))), ports or Ports(CONFIG, moves))
    result, time = [], 0
    for move in moves:
        while model.free is None:
            time = model.expected(time)
            model.advance(time)
            result += [end for _, end, _ in model.retired()]
        model.accept(move, max(time, model.free))
    while len(result) < len(moves):
        time = model.expected(time)
        model.advance(time)
        result += [end for _, end, _ in model.retired()]
    return result


@pytest.mark.parametrize("latency", [1, 8, 60])
def test_a_load_takes_a_cycle_a_beat_after_the_latency(latency):
    assert ends(load(100), latency=latency) == [100 + latency + 5]


def test_latency_beyond_the_beats_in_flight_costs_throughput():
    first, second = ends(load(64), load(64), latency=200)
    assert first == 64 + 205
    assert second == first + 204


def test_loads_follow_without_a_gap_but_a_store_waits_for_all_beats():
    assert ends(load(10), load(5)) == [23, 28]
    assert ends(load(10), store(5)) == [23, 23 + 5 + 6]


def test_a_slow_memory_sets_the_pace():
    assert ends(load(300), bytes_per_cycle=1.0)[0] == pytest.approx(4 * 300, abs=16)
    assert ends(store(300), bytes_per_cycle=3.0)[0] == pytest.approx(400, abs=16)


def test_the_other_engines_go_first():
    moves = [load(8)]
    ports = Ports(CONFIG, moves)
    ports.writes(Region.ACT, np.arange(16, 26))
    assert ends(*moves, ports=ports) == [21 + 10]


def test_a_store_of_weights_meets_the_array_bank_by_bank():
    move = store(2, Region.WGT)  # banks 0 and 1
    ports = Ports(CONFIG, [move])
    ports.reads(Region.WGT, np.array([2, 3]))
    # Bank 0 is read in cycles 2 and 3, bank 1 in cycles 3 and 4.
    assert ends(move, ports=ports) == [5 + 6]


def test_a_store_of_accumulators_meets_array_and_vector_unit_in_its_half():
    move = store(2, Region.ACC)
    ports = Ports(CONFIG, [move])
    ports.array_reads(0, np.array([2]))
    ports.vector_reads(0, np.array([3]))
    ports.vector_reads(1, np.arange(10))
    assert ends(move, ports=ports) == [5 + 6]
