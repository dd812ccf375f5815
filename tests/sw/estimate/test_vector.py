"""Passes, held back by the array and retired in order."""
import numpy as np

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Load, Pass, Reduce, Sink, Source, Table
from systolith.sw.estimate.ports import Ports
from systolith.sw.estimate.vector import VectorModel

CONFIG = get_config("tiny")


def done(model, command, time):
    """Run a command to its end: (last beat, retired)."""
    model.accept(command, time)
    while model.end is None:
        model.advance(model.expected())
    return model.end, model.retire()


def test_a_pass_waits_for_the_array_in_its_half_only():
    ports = Ports(CONFIG, [])
    ports.array_reads(0, np.array([12, 13, 17]))
    model = VectorModel(CONFIG, ports)
    command = Pass(rows=2, beats=3, valid=12, source=Source.ACC)
    assert done(model, command, 10)[0] == 19
    model = VectorModel(CONFIG, ports)
    other = Pass(rows=2, beats=3, valid=12, source=Source.ACC, source_base=CONFIG.acc_half)
    assert done(model, other, 10)[0] == 16


def test_a_pass_across_both_halves_waits_in_each():
    ports = Ports(CONFIG, [])
    ports.array_reads(0, np.array([11]))
    ports.array_reads(1, np.array([13, 14]))
    command = Pass(rows=2, beats=1, valid=4, source=Source.ACC, source_row_stride=1,
                   source_base=CONFIG.acc_half - 1)
    assert done(VectorModel(CONFIG, ports), command, 10)[0] == 15


def test_a_read_that_becomes_known_late_still_counts():
    ports = Ports(CONFIG, [])
    model = VectorModel(CONFIG, ports)
    model.accept(Pass(rows=4, beats=1, valid=4, source=Source.ACC), 10)
    assert model.expected() == 14
    model.advance(12)
    ports.array_reads(0, np.array([13, 14]))
    assert model.expected() == 16
    model.advance(16)
    assert model.end == 16


def test_a_command_waits_for_the_reduction_of_the_one_before():
    model, late = VectorModel(CONFIG, Ports(CONFIG, [])), CONFIG.reduction_latency
    shape = {"rows": 1, "beats": 1, "valid": 4}
    plain, reducing = Pass(**shape), Pass(**shape, reduce=Reduce.MAX)
    assert done(model, plain, 10) == (11, 11 + CONFIG.pass_latency)
    assert done(model, reducing, 11) == (12, 12 + late)
    assert done(model, plain, 12) == (13, 13 + late)
    far = 13 + 2 * late
    assert done(model, plain, far) == (far + 1, far + 1 + CONFIG.pass_latency)


def test_marks_what_beats_use():
    loads = [Load(region=int(region), rows=1, row_bytes=4, ext_base=0, base=0)
             for region in (Region.VEC, Region.ACT)]
    ports = Ports(CONFIG, loads)
    done(VectorModel(CONFIG, ports), Pass(rows=1, beats=2, valid=8, sink=Sink.VEC), 10)
    written = 11 + CONFIG.pass_latency
    for load, expected in zip(loads, (written + 2, written), strict=True):
        assert ports.of(load).place(0, np.array([written]), 0).tolist() == [expected]


def test_a_table_takes_64_cycles():
    assert done(VectorModel(CONFIG, Ports(CONFIG, [])), Table(), 10)[0] == 74
