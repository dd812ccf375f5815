"""Devices by the name under which the command line knows them."""
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from systolith.hw.config import Config, ConfigError, check_one_core
from systolith.sim.progress import Progress
from systolith.sw.estimate import external_memory
from systolith.sw.runtime.cluster import Cluster, switched_off
from systolith.sw.runtime.device import Device
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.functional_cluster import FunctionalCluster
from systolith.sw.runtime.port import PREFIX, SerialWire, parse_port
from systolith.sw.runtime.serial import SerialDevice

#: Names of the devices that have no port.
NAMES = ("functional", "rtl")


def check_name(name: str) -> str:
    """The name of a device, if it is one.

    Raises
    ------
    ValueError
        When it is none; the message lists those that exist.
    """
    if name.startswith(PREFIX):
        parse_port(name)
    elif name not in NAMES:
        raise ValueError(f"{name!r} is not one of {', '.join(NAMES)} and {PREFIX}PORT[@BAUD]")
    return name


@contextmanager
def open_device(name: str, config: Config, *, stall: int = 0, seed: int = 0,
                memory: str = "ideal", progress: Progress) -> Iterator[Device]:
    """A device, built where it must be, and closed at the end.

    Parameters
    ----------
    name : str
        ``functional``, ``rtl``, or ``serial:PORT`` with perhaps ``@BAUD``.
    stall : int
        Percent of the cycles in which the simulated surroundings of the chip hold back.
    seed : int
        Seed of the stalls.
    memory : str
        Name of the simulated external memory, see :func:`external_memory`.
    progress : Progress
        Shows what the build does.

    Raises
    ------
    ConfigError
        When the configuration has several cores; those are a cluster, see :func:`open_machine`.
    """
    check_one_core(config, "this command")
    if name == FunctionalDevice.name:
        yield FunctionalDevice(config)
        return
    if name.startswith(PREFIX):
        port = parse_port(name)
        with progress.stage("open link"):
            device = SerialDevice(config, SerialWire(port), baud=port.baud)
        with device:
            yield device
        return
    # Imported only here: the other devices need neither Amaranth nor Verilator.
    from systolith.sim.rtl import RtlDevice

    with RtlDevice(config, external=external_memory(memory, config), stall_percent=stall,
                   seed=seed, progress=progress) as device:
        yield device


@contextmanager
def open_machine(name: str, config: Config, *, stall: int = 0, seed: int = 0,
                 memory: str = "ideal", off: Collection[int] = (),
                 progress: Progress) -> Iterator[Device | Cluster]:
    """A device, or where the configuration has several cores, a cluster.

    Parameters are those of :func:`open_device`, and ``off``: cores that are switched off.

    Raises
    ------
    ConfigError
        When the device has no several cores, or of ``off`` one does not exist, or no core is left.
    """
    if config.cores == 1:
        switched_off(config, off)
        with open_device(name, config, stall=stall, seed=seed, memory=memory,
                         progress=progress) as device:
            yield device
    elif name == FunctionalCluster.name:
        yield FunctionalCluster(config, off=off)
    elif name.startswith(PREFIX):
        raise ConfigError(f"{config.name!r} has {config.cores} cores, which run on --device "
                          f"{' or '.join(NAMES)}, not on {name!r}")
    else:
        # Imported only here, as above.
        from systolith.sim.rtl_cluster import RtlCluster

        with RtlCluster(config, external=external_memory(memory, config), stall_percent=stall,
                        seed=seed, off=off, progress=progress) as cluster:
            yield cluster
