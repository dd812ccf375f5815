"""All-gather by the cores of a chip: each sends its part of an array to all others with Sends."""
import numpy as np

from systolith.hw.config import Config, ConfigError, Region
from systolith.hw.isa import Command, Engine, Notify, Send
from systolith.sim.mesh.cores import on_mesh
from systolith.sim.mesh.gather import ARRAY_BYTES, Gathered
from systolith.sim.progress import Progress
from systolith.sim.rtl_cluster import RtlCluster


def core_gather(core: Config, width: int, height: int, *, progress: Progress) -> Gathered:
    """Run an all-gather on the RTL and check it.

    Cycles are counted until the move engine of the last core has seen the signals behind all
    parts, so starts of commands are in it. The bound is that of the mesh, see
    :mod:`systolith.sim.mesh.gather`.

    Parameters
    ----------
    core : Config
        Of one core.
    width, height : int
        Cores in a row and in a column.

    Raises
    ------
    ConfigError
        When there is one core, or the array does not fit.
    RuntimeError
        When a byte is not where it must be: the RTL is broken.
    """
    if width * height == 1:
        raise ConfigError("an all-gather needs at least 2 nodes, not a mesh of 1x1")
    config = on_mesh(core, width, height)
    if config.region_bytes(Region.ACT) < ARRAY_BYTES:
        raise ConfigError(f"{core.name!r} has {config.region_bytes(Region.ACT)} bytes of "
                          f"activation memory, but an all-gather needs {ARRAY_BYTES}; choose a "
                          "larger core")
    with RtlCluster(config, progress=progress) as cluster, progress.stage("all-gather by cores"):
        return gather_on(cluster)


def gather_on(cluster: RtlCluster, *, array_bytes: int = ARRAY_BYTES) -> Gathered:
    """The all-gather on a cluster, of an array of which each core has whole words."""
    config, part = cluster.config, array_bytes // cluster.config.cores
    data = np.random.default_rng(1).bytes(array_bytes)
    for number, each in enumerate(cluster.cores):
        each.write(Region.ACT, 0, bytes(array_bytes))
        each.write(Region.ACT, number * part, data[number * part:(number + 1) * part])
    cluster.run([{Engine.MOVE: _commands(config, number, part)} for number in range(config.cores)])
    cycles = max(each.cycles for each in cluster.wait())
    if any(each.read(Region.ACT, 0, array_bytes) != data for each in cluster.cores):
        raise RuntimeError(f"an all-gather on {config.name} lost or changed bytes")
    return Gathered(array_bytes, cycles, (array_bytes - part) / config.bus_bytes,
                    "all-gather by cores")


def _commands(config: Config, number: int, part: int) -> list[Command]:
    """A Send of a core to all others, then a Notify that waits for their signals. Each sender has a
    semaphore; where there are more senders, they share them, and more Notifies wait."""
    count = config.semaphores
    everyone = {"x_last": config.mesh_width - 1, "y_last": config.mesh_height - 1}
    send = Send(region=int(Region.ACT), rows=1, row_bytes=part, base=number * part,
                remote_region=int(Region.ACT), remote_base=number * part,
                remote_signal=1 << number % count, **everyone)
    awaited = [sum(1 << sender % count for sender in range(first, min(first + count, config.cores))
                   if sender != number) for first in range(0, config.cores, count)]
    return [send, *(Notify(wait=mask, **everyone) for mask in awaited if mask)]
