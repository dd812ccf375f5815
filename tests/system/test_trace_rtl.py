"""Recordings of the RTL agree with the chip's own counters and with the order of its commands."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Product
from systolith.sim.harness import HarnessError
from systolith.sim.lost import lost_cycles
from systolith.sim.measure import Measure, total
from systolith.sim.rtl import RtlDevice
from systolith.sim.timeline import timeline
from systolith.sim.trace import State
from systolith.sw.compiler import compile_product
from systolith.sw.runtime.device import DeviceError
from tests.sim.test_timeline import check_events
from tests.sw.layers import compiled, random_layer


@pytest.fixture(scope="module")
def config():
    return get_config("tiny")


@pytest.fixture(scope="module", params=[0, 30], ids=["smooth", "stalls"])
def recorded(config, request):
    """Two runs, an attention layer and a product: their trace, counters and useful MACs."""
    rng = np.random.default_rng(1)
    layer, (x, h) = compiled(rng, random_layer(rng), config, 13)
    product = compile_product(config, m=9, k=20, n=12)
    with RtlDevice(config, stall_percent=request.param, seed=3) as device, \
            device.record() as recorder:
        results = [layer.run(device, x, h), product.run(device)]
        assert all(result.bit_exact for result in results)
        return (recorder.trace(), [result.counters for result in results],
                layer.macs + product.macs)


def test_sums_are_the_hardware_counters(config, recorded):
    trace, counters, _ = recorded
    assert trace.counters() == total([Measure(config, 0, each) for each in counters]).counters
    assert len(trace.runs) == 2
    assert trace.runs["cycle"].tolist() == [0, counters[0].cycles]


def test_each_run_alone_has_its_counters(recorded):
    trace, counters, _ = recorded
    border = counters[0].cycles
    for start, end, expected in ((0, border, counters[0]), (border, trace.cycles, counters[1])):
        part = trace.part(start, end)
        for engine in ENGINES:
            assert part.cycles_in(engine, State.BUSY) == expected.engines[engine].busy
            assert part.cycles_in(engine, State.WAIT) == expected.engines[engine].wait_semaphore


def test_states_have_no_gap_and_no_overlap(recorded):
    trace, _, _ = recorded
    for engine in ENGINES:
        rows = trace.states_of(engine)
        assert rows["start"][0] == 0
        assert rows["end"][-1] == trace.cycles
        np.testing.assert_array_equal(rows["start"][1:], rows["end"][:-1])
        assert (rows["end"] > rows["start"]).all()


def test_every_command_starts_and_retires_in_order(recorded):
    trace, _, _ = recorded
    for engine in ENGINES:
        rows = trace.commands_of(engine)
        assert len(rows) == len(trace.program[engine])
        assert (rows["end"] > rows["start"]).all()
        assert (np.diff(rows["start"].astype(int)) > 0).all()
        assert (np.diff(rows["end"].astype(int)) > 0).all()


def test_a_command_starts_when_its_semaphores_are_there(recorded):
    """Counts of signals by commands that have retired cover those that started commands took."""
    trace, _, _ = recorded
    for semaphore in range(trace.config.semaphores):
        given, taken = [], []
        for engine in ENGINES:
            for command, row in zip(trace.program[engine], trace.commands_of(engine), strict=True):
                given += [int(row["end"])] * (command.signal >> semaphore & 1)
                taken += [int(row["start"])] * (command.wait >> semaphore & 1)
        assert all(end <= start for end, start in zip(sorted(given), sorted(taken), strict=False))
        assert len(given) >= len(taken)


def test_semaphores_end_where_signals_and_waits_lead(recorded):
    trace, _, _ = recorded
    for semaphore, changes in enumerate(trace.semaphores):
        sums = [(command.signal >> semaphore & 1) - (command.wait >> semaphore & 1)
                for engine in ENGINES for command in trace.program[engine]]
        assert int(changes["value"][-1]) == sum(sums)


def test_timeline_is_well_formed(recorded):
    trace, _, _ = recorded
    check_events(list(timeline(trace, {})))
    check_events(list(timeline(trace, {}, trace.cycles // 3, trace.cycles // 2)))


def test_lost_and_useful_cycles_are_all(config, recorded):
    trace, _, macs = recorded
    lost = lost_cycles(trace, macs)
    useful = macs / config.peak_macs_per_cycle
    assert sum(lost.values()) + useful == pytest.approx(trace.cycles, abs=1e-6)
    assert min(lost.values()) >= 0
    assert lost["vector"] > 0
    assert lost["padding"] > 0


def test_only_one_recording_at_a_time(config):
    with RtlDevice(config) as device, device.record():
        with pytest.raises(HarnessError, match="a recording is going on already"), device.record():
            pass


def test_a_recording_goes_on_after_an_error_and_a_reset(config):
    """Three products, the second at fault: it is never done, and the third never starts."""
    product = compile_product(config, m=9, k=20, n=12)
    once = {"count0": 1, "count1": 1, "count2": 1}
    bad = [Product(**once), Product(count0=0, count1=1, count2=1), Product(**once)]
    with RtlDevice(config) as device, device.record() as recorder:
        device.run({Engine.MATRIX: bad})
        with pytest.raises(DeviceError, match="ZERO_LOOP"):
            device.wait()
        device.reset()
        counters = product.run(device).counters
        trace = recorder.trace()
    border = int(trace.runs["cycle"][1])
    rows = trace.commands_of(Engine.MATRIX)
    assert len(rows) == len(trace.program[Engine.MATRIX])
    assert len(rows) == 2 + counters.engines[Engine.MATRIX].commands
    assert (rows["start"] < border).tolist()[:3] == [True, True, False]
    assert trace.program[Engine.MATRIX][1] == bad[1]
    assert (rows["end"] > rows["start"]).all()
    after = trace.part(border, trace.cycles)
    assert after.cycles_in(Engine.MATRIX, State.BUSY) == counters.engines[Engine.MATRIX].busy


def test_recording_does_not_change_the_run(config):
    product = compile_product(config, m=9, k=20, n=12)
    with RtlDevice(config) as device:
        plain = product.run(device)
    with RtlDevice(config) as device, device.record() as recorder:
        assert product.run(device).counters == plain.counters
        assert recorder.trace().commands_of(Engine.MATRIX)["index"].tolist() == list(
            range(plain.counters.engines[Engine.MATRIX].commands))
