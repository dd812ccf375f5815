"""The functional cluster: remote writes, signals, and errors that name the core."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Cause, Engine, Notify, Product, Send
from systolith.sw.runtime.cluster import ClusterError
from systolith.sw.runtime.device import DeviceError, StuckError
from systolith.sw.runtime.functional_cluster import FunctionalCluster

CONFIG = get_config("tiny@2x2")
EVERYONE = {"x_first": 0, "x_last": 1, "y_first": 0, "y_last": 1}


def data(size, seed=0):
    return np.random.default_rng(seed).bytes(size)


def send(*, signal=0, **changes):
    fields = {"region": Region.ACT, "remote_region": Region.VEC, "rows": 2, "row_bytes": 8,
              "base": 16, "stride": 16, "remote_base": 32, "remote_stride": 8,
              "remote_signal": signal, **EVERYONE}
    return Send(**fields | changes)


def queues(**moves):
    """Move queues by the names core0, core1, ..."""
    return [{Engine.MOVE: moves.get(f"core{core}", [])} for core in range(CONFIG.cores)]


def test_a_send_writes_every_other_core_of_its_rectangle():
    cluster, image = FunctionalCluster(CONFIG), data(64)
    cluster.cores[1].write(Region.ACT, 0, image)
    cluster.run(queues(core1=[send(x_first=0, x_last=1, y_first=0, y_last=0)]))
    counters = cluster.wait()
    expected = image[16:24] + image[32:40]
    assert cluster.cores[0].read(Region.VEC, 32, 16) == expected
    for other in (1, 2, 3):
        assert cluster.cores[other].read(Region.VEC, 32, 16) == bytes(16)
    assert counters[1].move_bytes == 16
    assert counters[1].engines[Engine.MOVE].busy == 16 // CONFIG.bus_bytes
    assert counters[0].move_bytes == 0


@pytest.mark.parametrize("region", [Region.WGT, Region.CONST, Region.ROW, Region.VEC])
def test_every_region_can_be_sent(region):
    cluster, image = FunctionalCluster(CONFIG), data(64)
    cluster.cores[0].write(region, 0, image)
    cluster.run(queues(core0=[send(region=region, remote_region=region, base=0, remote_base=16)]))
    cluster.wait()
    assert cluster.cores[3].read(region, 16, 16) == image[:8] + image[16:24]


@pytest.mark.parametrize("signals", [send(signal=1 << 5), Notify(**EVERYONE, remote_signal=1 << 5)])
def test_signals_start_what_waits_in_all_cores_but_the_sender(signals):
    cluster, wait = FunctionalCluster(CONFIG), Notify(wait=1 << 5)
    cluster.run(queues(core0=[signals], core3=[wait], core1=[wait], core2=[wait]))
    assert [each.engines[Engine.MOVE].commands for each in cluster.wait()] == [1, 1, 1, 1]
    cluster.run(queues(core0=[wait]))
    with pytest.raises(StuckError, match=r"core 0 .*waits for semaphore 5"):
        cluster.wait()


def test_external_memory_is_one():
    cluster, image = FunctionalCluster(CONFIG), data(32)
    cluster.cores[2].write("ext", 64, image)
    assert cluster.cores[1].read("ext", 64, 32) == image


def test_a_failing_core_is_named_and_the_others_go_on():
    cluster = FunctionalCluster(CONFIG)
    waits = Notify(wait=1 << 2, x_first=0, x_last=0, y_first=0, y_last=0)
    bad = send(x_last=2)
    cluster.run(queues(core0=[send(signal=0)], core2=[bad], core3=[waits]))
    with pytest.raises(ClusterError, match=r"core 2 \(x 0, y 1\).*MOVE command 0: ADDRESS.*core 3 "
                                           r"\(x 1, y 1\): MOVE command 0 waits for semaphore 2"
                       ) as error:
        cluster.wait()
    assert (error.value.core, error.value.cause) == (2, Cause.ADDRESS)
    assert list(error.value.failures) == [2]
    cluster.cores[2].reset()
    cluster.cores[3].reset()
    cluster.run(queues(core2=[send()]))
    assert cluster.wait()[2].engines[Engine.MOVE].commands == 1


def test_a_full_semaphore_stops_the_core_that_has_it():
    config = get_config("tiny@2x1").replace(name="narrow", semaphore_width=2)
    cluster = FunctionalCluster(config)
    notify = Notify(remote_signal=1, x_first=1, x_last=1, y_first=0, y_last=0)
    cluster.run([{Engine.MOVE: [notify] * 4}, {}])
    with pytest.raises(ClusterError, match="semaphore holds at most 3") as error:
        cluster.wait()
    assert (error.value.core, error.value.cause) == (1, Cause.SEMAPHORE_OVERFLOW)


def test_cores_that_wait_for_ever_are_named():
    cluster = FunctionalCluster(CONFIG)
    product = Product(wait=1 << 7, count0=1, count1=1, count2=1)
    cluster.run([{}, {Engine.MATRIX: [product]}, {}, {}])
    with pytest.raises(StuckError, match=r"core 1 \(x 1, y 0\).*MATRIX command 0 waits for "
                                         r"semaphore 7"):
        cluster.wait()


def test_a_single_core_has_no_mesh():
    cluster = FunctionalCluster(get_config("tiny"))
    cluster.run([{Engine.MOVE: [send(x_last=0, y_last=0)]}])
    with pytest.raises(DeviceError, match=r"ILLEGAL.*no mesh"):
        cluster.wait()


def test_each_core_needs_its_queues():
    with pytest.raises(ValueError, match="1 sets of queues for 4 cores"):
        FunctionalCluster(CONFIG).run([{}])
