"""Shared ports: what a move finds where."""
import numpy as np

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Load, Store
from systolith.sw.estimate.ports import Ports

CONFIG = get_config("tiny")


def test_reads_and_writes_of_a_memory_are_apart():
    load, store = (kind(region=int(Region.VEC), rows=1, row_bytes=4, ext_base=0, base=0)
                   for kind in (Load, Store))
    ports = Ports(CONFIG, [load, store])
    ports.reads(Region.VEC, np.array([5]))
    ports.writes(Region.VEC, np.array([6]))
    ports.writes(Region.ACT, np.array([7]))
    assert ports.of(load).place(0, np.array([5, 6]), 0).tolist() == [5, 7]
    assert ports.of(store).place(0, np.array([5, 6]), 0).tolist() == [6, 7]


def test_a_store_across_both_halves_of_the_accumulators():
    half = CONFIG.region_bytes(Region.ACC) // 2
    store = Store(region=int(Region.ACC), rows=1, row_bytes=16, ext_base=0, base=half - 8)
    ports = Ports(CONFIG, [store])
    ports.vector_reads(0, np.array([3]))
    ports.array_reads(1, np.array([5, 6, 7]))
    assert ports.of(store).place(0, np.array([3, 3, 3, 3]), 0).tolist() == [4, 5, 8, 9]


def test_stored_weights_are_found_bank_by_bank():
    store = Store(region=int(Region.WGT), rows=1, row_bytes=12, ext_base=0, base=4)
    ports = Ports(CONFIG, [store])
    ports.reads(Region.WGT, np.array([2, 3]))
    # Banks 1, 2 and 3: taken in 3 and 4, in 4 and 5, in 5 and 6.
    assert ports.of(store).place(0, np.array([3, 3, 3]), 0).tolist() == [5, 6, 7]
