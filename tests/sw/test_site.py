"""Programs on a part of a machine's cores: the same bytes as on a chip of just these."""
from dataclasses import replace

import numpy as np
import pytest

from systolith.hw.config import MEMORIES, ConfigError, Region
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Notify, Send
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.schedule_mesh import schedule_mesh
from systolith.sw.compiler.site import Site
from systolith.sw.compiler.verifier import VerifyError, verify_mesh
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from systolith.sw.runtime.mesh_program import MeshProgram
from tests.random_mesh import commands

TINY = get_config("tiny@2x2")


def filled(cluster, cores, seed):
    """The cluster with random bytes in these cores, the same in each of them for each cluster."""
    rng = np.random.default_rng(seed)
    for core in cores:
        for region in MEMORIES:
            cluster.cores[core].write(region, 0, rng.bytes(1024))
    cluster.cores[0].write("ext", 0, rng.bytes(4096))
    return cluster


def contents(cluster, cores):
    return [cluster.cores[0].read("ext", 0, 4096), *(
        cluster.cores[core].read(region, 0, cluster.config.region_bytes(region))
        for core in cores for region in MEMORIES)]


@pytest.mark.parametrize(("name", "off"), [
    ("tiny@2x2", (0,)), ("tiny@2x2", (1,)), ("tiny@2x2", (2,)), ("tiny@2x2", (3,)),
    ("tiny@2x2", (0, 3)), ("tiny@3x2", (1, 4)), ("tiny@3x1", (1,))])
@pytest.mark.parametrize("seed", range(3))
def test_a_program_is_placed_around_cores(name, off, seed):
    config = get_config(name)
    site = Site.of(config, off)
    program = MeshProgram(site.chip, schedule_mesh(
        commands(np.random.default_rng(seed), site.chip, 60), site.chip))
    placed = site.place(program)
    ours = filled(FunctionalCluster(config, off=off), site.cores, seed)
    other = filled(FunctionalCluster(site.chip), range(site.chip.cores), seed)
    placed.run(ours)
    program.run(other)
    assert contents(ours, site.cores) == contents(other, range(site.chip.cores))


def test_data_for_all_cores_take_one_send():
    site = Site.of(TINY, (1,))
    send = Send(region=2, rows=1, row_bytes=8, remote_region=2, x_last=2)
    [[placed], *others] = [streams[Engine.MOVE] for streams in site.moved(MeshProgram(
        site.chip, [{Engine.MOVE: [send]}, {}, {}])).commands]
    assert (placed.x_first, placed.x_last, placed.y_first, placed.y_last) == (0, 1, 1, 1)
    assert not any(others)


def test_signals_reach_nobody_else():
    """Cores 1 and 2 are in no rectangle without core 3: a command each, which waits and signals as
    the one did."""
    site = Site(TINY, (0, 1, 2))
    notify = Notify(remote_signal=1, x_last=2, wait=2, signal=4, fence=1)
    streams = site.moved(MeshProgram(site.chip, [{Engine.MOVE: [notify]}, {}, {}])).commands
    assert streams[0][Engine.MOVE] == [
        Notify(remote_signal=1, x_first=1, x_last=1, wait=2, fence=1),
        Notify(remote_signal=1, y_first=1, y_last=1, signal=4)]
    assert streams[3] == {engine: [] for engine in ENGINES}


def test_signals_of_data_come_behind_them():
    """Data go to core 3, too; the signals do not."""
    site = Site(TINY, (0, 1, 2))
    data = {"region": 2, "rows": 1, "row_bytes": 8, "remote_region": 2, "wait": 2, "signal": 4}
    send = Send(**data, x_last=2, remote_signal=1)
    streams = site.moved(MeshProgram(site.chip, [{Engine.MOVE: [send]}, {}, {}])).commands
    assert streams[0][Engine.MOVE] == [
        Send(**data, x_last=1, y_last=1), Notify(remote_signal=1, x_first=1, x_last=1),
        Notify(remote_signal=1, y_first=1, y_last=1)]


def to_the_dead(config, off, seed=0):
    """A placed program, and its mutants in which one command for others is for core ``off``."""
    site, (y, x) = Site.of(config, (off,)), divmod(off, config.mesh_width)
    program = site.place(MeshProgram(site.chip, schedule_mesh(
        commands(np.random.default_rng(seed), site.chip, 40), site.chip)))
    for core, queues in enumerate(program.commands):
        for index, command in enumerate(queues[Engine.MOVE]):
            if isinstance(command, Send) or getattr(command, "remote_signal", 0):
                mutant = [dict(each) for each in program.commands]
                mutant[core][Engine.MOVE] = list(queues[Engine.MOVE])
                mutant[core][Engine.MOVE][index] = replace(
                    command, x_first=x, x_last=x, y_first=y, y_last=y)
                yield (core, index), mutant


@pytest.mark.parametrize("off", range(4))
def test_what_is_for_a_core_that_is_off_alone_is_refused(off):
    mutants = list(to_the_dead(TINY, off))
    assert len(mutants) > 5
    for (core, index), mutant in mutants:
        with pytest.raises(VerifyError, match=rf"all that it reaches is core {off} .* is lost"
                           ) as error:
            verify_mesh(TINY, mutant, (off,))
        assert (error.value.core, error.value.engine, error.value.index) == (
            core, Engine.MOVE, index)


def test_a_signal_that_a_core_in_reset_swallows_is_missed():
    """Core 0 tells 1 and 3, and 3 tells 2; without core 3, core 2 waits for nothing."""
    told = Notify(remote_signal=1 << 6, x_first=1, x_last=1, y_last=1)
    wait, pass_on = Notify(wait=1 << 6), Notify(wait=1 << 6, remote_signal=1 << 6, y_first=1,
                                                y_last=1)
    streams = [{Engine.MOVE: [told]}, {Engine.MOVE: [wait]}, {Engine.MOVE: [wait]},
               {Engine.MOVE: [pass_on]}]
    verify_mesh(TINY, streams)
    with pytest.raises(VerifyError, match=r"core 3 \(x 1, y 1\) MOVE command 0: the core is "
                                          "switched off and runs nothing"):
        verify_mesh(TINY, streams, (3,))
    streams[3] = {}
    with pytest.raises(VerifyError, match=r"core 2 \(x 0, y 1\) MOVE command 0: waits for "
                                          "semaphore 6 which nobody signals"):
        verify_mesh(TINY, streams, (3,))
    streams[2] = {}
    assert verify_mesh(TINY, streams, (3,)).commands == 2


def test_words_of_a_core_in_reset_race_with_nothing():
    """Cores 0 and 1 send to the same word of core 3."""
    send = Send(region=Region.ACT, remote_region=Region.ACT, rows=1, row_bytes=8, remote_base=32,
                x_first=1, x_last=1, y_last=1)
    streams = [{Engine.MOVE: [send]}, {Engine.MOVE: [replace(send, x_first=0)]}, {}, {}]
    with pytest.raises(VerifyError, match="race: writes ACT word 8 of core 3"):
        verify_mesh(TINY, streams)
    assert verify_mesh(TINY, streams, (3,)).commands == 2


@pytest.mark.parametrize(("off", "chip"), [
    ((), (2, 2)), ((2,), (3, 1)), ((0, 1), (2, 1)), ((0, 1, 3), (1, 1))])
def test_the_chip_has_as_many_cores(off, chip):
    site = Site.of(TINY, off)
    assert (site.chip.mesh_width, site.chip.mesh_height) == chip
    assert site.chip.core == TINY.core


def test_cores_that_cannot_be_left_out_are_named():
    with pytest.raises(ConfigError, match="core 4 cannot be left out: 'tiny@2x2' has cores 0 to 3"):
        Site.of(TINY, (4,))
    with pytest.raises(ConfigError, match="all 4 cores of 'tiny@2x2' are left out"):
        Site.of(TINY, range(4))
    with pytest.raises(CompileError, match="61 cores of 'tiny@8x8' are left"):
        _ = Site.of(get_config("tiny@8x8"), (0, 1, 2)).chip
