"""Several cores on the RTL: the same bytes as in NumPy, faults, what stays when a core stops."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import (
    MESH_FIELDS,
    Cause,
    Engine,
    Load,
    Notify,
    Product,
    Register,
    Send,
    Store,
)
from systolith.sim.cluster_build import build_cluster
from systolith.sim.harness import HarnessError
from systolith.sim.rtl_cluster import RtlCluster
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.site import Site
from systolith.sw.compiler.verifier import verify_mesh
from systolith.sw.estimate import ExternalMemory
from systolith.sw.runtime.cluster import ClusterError
from systolith.sw.runtime.device import Counters, StuckError
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from systolith.sw.runtime.mesh_program import MeshProgram
from tests.random_mesh import REGIONS, commands

CONFIG = get_config("tiny@2x2")
EXT = 4096
LIMIT = 100_000


@pytest.fixture
def cluster():
    with RtlCluster(CONFIG) as chip:
        yield chip


def _on(cluster):
    return [core for number, core in enumerate(cluster.cores) if number not in cluster.off]


def fill(cluster, seed=0):
    """Random bytes at the beginning of all memories; the rest is zero."""
    rng = np.random.default_rng(seed)
    for core in _on(cluster):
        for region in (Region.ACT, Region.WGT, Region.VEC, Region.CONST, Region.ROW):
            core.write(region, 0, rng.bytes(512))
    cluster.cores[0].write("ext", 0, rng.bytes(EXT))


def snapshot(cluster, size=2048):
    """The beginning of all memories."""
    return [cluster.cores[0].read("ext", 0, EXT), *(
        core.read(region, 0, min(size, CONFIG.region_bytes(region)))
        for core in _on(cluster) for region in REGIONS)]


def streams(**cores):
    """Queues of the cores ``c0``, ``c1``, ...; each command goes to its engine."""
    result = [{} for _ in range(CONFIG.cores)]
    for name, commands_ in cores.items():
        for command in commands_:
            result[int(name[1:])].setdefault(command.ENGINE, []).append(command)
    return result


def to(core, command, **fields):
    """A Send or a Notify to one core."""
    y, x = divmod(core, CONFIG.mesh_width)
    return command(x_first=x, x_last=x, y_first=y, y_last=y, **fields)


DATA = {"region": Region.ACT, "rows": 1, "row_bytes": 64, "remote_region": Region.ACT}
PRODUCT = {"count0": 4, "count1": 1, "count2": 1, "act0_stride": 1, "acc0_stride": 1}


def test_one_core_sends_another_multiplies(cluster):
    functional = FunctionalCluster(CONFIG)
    program = streams(c0=[to(1, Send, **DATA, remote_base=512, remote_signal=1)],
                      c1=[Product(wait=1, act_base=128, **PRODUCT)])
    for each in (cluster, functional):
        fill(each)
        each.run(program)
        each.wait(LIMIT)
    assert snapshot(cluster) == snapshot(functional)
    assert functional.cores[1].read(Region.ACC, 0, 16) != bytes(16)


def rounds(core, count, buffers=2):
    """All tell all, ``count`` times: a core's part of the round goes to all others, which count the
    signals of all senders at one semaphore, two in turn; then a copy of all parts is kept."""
    size, others = 32, {"x_last": CONFIG.mesh_width - 1, "y_last": CONFIG.mesh_height - 1}
    commands = []
    for number in range(count):
        place = 1024 + number % buffers * CONFIG.cores * size
        commands += [
            Send(region=Region.VEC, rows=1, row_bytes=size, base=number * size,
                 remote_region=Region.ACT, remote_base=place + core * size,
                 remote_signal=1 << 6 + number % 2, **others),
            *[Notify(wait=1 << 6 + number % 2)] * (CONFIG.cores - 1),
            Store(region=Region.ACT, rows=1, row_bytes=CONFIG.cores * size, base=place,
                  ext_base=(core * count + number) * CONFIG.cores * size, fence=1)]
    return commands


@pytest.mark.parametrize("stall", [0, 40])
def test_one_semaphore_counts_the_signals_of_many(stall):
    """A core has all of a round when it has taken a signal for each other core."""
    count, functional = 4, FunctionalCluster(CONFIG)
    with RtlCluster(CONFIG, stall_percent=stall, seed=3) as chip:
        for each in (chip, functional):
            fill(each)
            each.run([{Engine.MOVE: rounds(core, count)} for core in range(CONFIG.cores)])
            each.wait(LIMIT)
        assert snapshot(chip) == snapshot(functional)
    sent = [core.read(Region.VEC, 0, 32 * count) for core in functional.cores]
    ext = functional.cores[0].read("ext", 0, EXT)
    for core in range(CONFIG.cores):
        for number in range(count):
            at = (core * count + number) * CONFIG.cores * 32
            for other in set(range(CONFIG.cores)) - {core}:
                assert ext[at + other * 32:][:32] == sent[other][number * 32:][:32]


@pytest.mark.parametrize("stall", [0, 40])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, stall):
    rng = np.random.default_rng(seed)
    program = schedule_mesh(commands(rng, CONFIG, 60), CONFIG)
    verify_mesh(CONFIG, program)
    functional = FunctionalCluster(CONFIG)
    with RtlCluster(CONFIG, external=ExternalMemory(latency=1 + 7 * seed),
                    stall_percent=stall, seed=seed) as chip:
        for each in (chip, functional):
            fill(each, seed)
            each.run(program)
            each.wait(10 * LIMIT)
        assert snapshot(chip) == snapshot(functional)


def test_several_threads_do_the_same():
    program = schedule_mesh(commands(np.random.default_rng(9), CONFIG, 40), CONFIG)
    seen = []
    for threads in (1, 2):
        with RtlCluster(CONFIG, threads=threads) as chip:
            fill(chip)
            chip.run(program)
            seen.append((chip.wait(LIMIT), snapshot(chip), chip.harness.cycles))
    assert seen[0] == seen[1]


def test_all_cores_share_external_memory(cluster):
    """All load at once, and store to places of their own; each store shows its own bytes."""
    size = 1024
    fill(cluster)
    cluster.run([{Engine.MOVE: [
        Load(region=Region.ACT, rows=1, row_bytes=size, ext_base=0),
        Store(region=Region.VEC, rows=1, row_bytes=256, ext_base=2048 + 256 * core, fence=1)]}
        for core in range(CONFIG.cores)])
    counters = cluster.wait(LIMIT)
    ext = cluster.cores[0].read("ext", 0, EXT)
    for number, core in enumerate(cluster.cores):
        assert core.read(Region.ACT, 0, size) == ext[:size]
        assert core.read(Region.VEC, 0, 256) == ext[2048 + 256 * number:][:256]
    # Each of four gets a quarter of the port, and the port is never idle for long.
    beats = CONFIG.cores * (size + 256) // CONFIG.bus_bytes
    assert beats < max(each.cycles for each in counters) < 1.05 * beats + 60


def test_every_core_has_its_place(cluster):
    for number, core in enumerate(cluster.cores):
        word = core.read_register(Register.MESH)
        place = {name: word >> lsb & (1 << width) - 1 for name, lsb, width, _ in MESH_FIELDS}
        assert place == {"x": number % 2, "y": number // 2, "x_last": 1, "y_last": 1}
        assert core.read_register(Register.ID) == CONFIG.identity


BAD = {
    "no_rows": (to(1, Send, **DATA | {"rows": 0}), Cause.ZERO_LOOP),
    "no_region": (to(1, Send, **DATA | {"region": Region.QUEUES}), Cause.ILLEGAL),
    "no_remote_region": (to(1, Send, **DATA | {"remote_region": Region.ACC}), Cause.ILLEGAL),
    "misaligned": (to(1, Send, **DATA, remote_base=2), Cause.ILLEGAL),
    "beyond_here": (to(1, Send, **DATA, base=CONFIG.region_bytes(Region.ACT) - 32), Cause.ADDRESS),
    "beyond_there": (to(1, Send, **DATA, remote_base=CONFIG.region_bytes(Region.ACT) - 32),
                     Cause.ADDRESS),
    "no_such_column": (Send(**DATA, x_last=2), Cause.ADDRESS),
    "wrong_way_round": (Notify(y_first=1, y_last=0, remote_signal=1), Cause.ADDRESS),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_command_stops_its_core_alone(cluster, name):
    command, cause = BAD[name]
    good = Load(region=Region.ACT, rows=1, row_bytes=8)
    # Core 3 waits for what core 0 does not send any more; core 2 is not concerned.
    program = streams(c0=[good, command, to(3, Notify, remote_signal=2)],
                      c2=[Product(**PRODUCT)], c3=[Product(wait=2, **PRODUCT)])
    for each in (cluster, FunctionalCluster(CONFIG)):
        each.run(program)
        with pytest.raises(ClusterError) as failure:
            each.wait(LIMIT)
        error = failure.value
        assert (error.core, error.engine, error.cause, error.index) == (0, Engine.MOVE, cause, 1)
        assert list(error.failures) == [0]
        assert "core 3 (x 1, y 1)" in str(error)
        assert "MATRIX command 0 waits for semaphore 1" in str(error)
        assert "core 2" not in str(error)


def test_a_core_is_reset_alone_and_the_others_keep_their_state(cluster):
    fill(cluster)
    cluster.run(streams(c0=[to(3, Notify, remote_signal=4), Load(region=Region.ACC)]))
    with pytest.raises(ClusterError, match=r"^core 0 \(x 0, y 0\) stopped|core 0 \(x 0, y 0\): "):
        cluster.wait(LIMIT)
    cluster.cores[0].reset()
    # Core 3 still has the signal from before.
    cluster.run(streams(c0=[to(1, Send, **DATA, remote_base=512, remote_signal=1)],
                        c1=[Product(wait=1, act_base=128, **PRODUCT)],
                        c3=[Product(wait=4, **PRODUCT)]))
    cluster.wait(LIMIT)
    assert cluster.cores[1].read(Region.ACT, 512, 64) == cluster.cores[0].read(Region.ACT, 0, 64)


def test_what_is_sent_to_a_stopped_core_lands(cluster):
    fill(cluster)
    stopped = streams(c1=[Load(region=Region.ACC)])
    cluster.run(stopped)
    with pytest.raises(ClusterError):
        cluster.wait(LIMIT)
    many = [to(1, Send, **DATA, remote_base=512, remote_signal=1)] * 40
    cluster.run(streams(c0=many, c2=[to(3, Send, **DATA, remote_base=1024)] * 40))
    with pytest.raises(ClusterError) as failure:
        cluster.wait(LIMIT)
    # Only the core that had stopped shows an error; all others have finished.
    assert list(failure.value.failures) == [1]
    expected = cluster.cores[0].read(Region.ACT, 0, 64)
    assert cluster.cores[1].read(Region.ACT, 512, 64) == expected
    assert cluster.cores[3].read(Region.ACT, 1024, 64) == cluster.cores[2].read(Region.ACT, 0, 64)


def test_nobody_who_waits_for_ever_is_waited_for(cluster):
    cluster.run(streams(c0=[Product(wait=1, **PRODUCT)], c3=[Product(wait=8, **PRODUCT)]))
    with pytest.raises(StuckError) as failure:
        cluster.wait()
    assert "core 0 (x 0, y 0): " in str(failure.value)
    assert "core 3 (x 1, y 1): " in str(failure.value)
    assert "waits for semaphore 3" in str(failure.value)
    assert "core 1" not in str(failure.value)


def test_a_full_semaphore_stops_who_was_signalled(cluster):
    most = (1 << CONFIG.semaphore_width) - 1
    program = streams(c0=[to(1, Notify, remote_signal=1)] * (most + 1))
    for each in (cluster, FunctionalCluster(CONFIG)):
        each.run(program)
        with pytest.raises(ClusterError) as failure:
            each.wait(LIMIT)
        error = failure.value
        assert (error.core, error.engine, error.cause, error.index) == (
            1, Engine.HOST, Cause.SEMAPHORE_OVERFLOW, 0)


def test_a_core_that_does_not_exist_is_a_fault_of_core_0(cluster):
    assert cluster.harness.host_read(CONFIG.host_address(Region.ACT, core=4)) == 0
    cluster.run(streams())
    with pytest.raises(ClusterError) as failure:
        cluster.wait(LIMIT)
    error = failure.value
    assert (error.core, error.engine, error.cause) == (0, Engine.HOST, Cause.ADDRESS)


@pytest.mark.parametrize("stall", [0, 40])
@pytest.mark.parametrize("off", range(CONFIG.cores))
def test_the_others_work_while_a_core_is_held_in_reset(off, stall):
    """What is sent to it by the way is lost, and holds nothing up."""
    site = Site.of(CONFIG, (off,))
    program = site.place(MeshProgram(site.chip, schedule_mesh(
        commands(np.random.default_rng(off), site.chip, 60), site.chip)))
    functional = FunctionalCluster(CONFIG, off=(off,))
    with RtlCluster(CONFIG, off=(off,), stall_percent=stall, seed=off) as chip:
        for each in (chip, functional):
            fill(each)
            counters = program.run(each, 10 * LIMIT)
            assert counters[off] == Counters()
        assert snapshot(chip) == snapshot(functional)


def test_a_core_that_is_off_takes_no_commands(cluster):
    for each in (FunctionalCluster(CONFIG, off=(1,)), RtlCluster(CONFIG, off=(1,))):
        with pytest.raises(ValueError, match=r"core 1 \(x 1, y 0\) is switched off"):
            each.run(streams(c1=[Product(**PRODUCT)]))
    with pytest.raises(HarnessError, match="core 4 cannot be switched off"):
        cluster.harness.switch_off(4)


def test_one_core_is_no_cluster():
    with pytest.raises(ValueError, match="configuration tiny has one core"):
        build_cluster(CONFIG.core)
