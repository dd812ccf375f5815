"""Generates the chip: Verilog text and a manifest of what it is."""
import hashlib
import inspect
from dataclasses import asdict

from systolith.hw import isa
from systolith.hw.chip import CORE, Chip
from systolith.hw.config import CORE_SHIFT, Config, ConfigError
from systolith.hw.core import Core
from systolith.hw.host import host_bytes
from systolith.hw.soc.peripheral import CHIP, Peripheral
from systolith.hw.verilog import Design, to_verilog

#: By the kind of its ports: name of the top module, its component, and where the chip is in it.
TOPS = {"native": ("chip", Chip, ""), "wishbone": ("systolith", Peripheral, f"{CHIP}.")}


def generate(config: Config, *, port: str = "native") -> tuple[str, dict]:
    """The chip of a configuration.

    The same sources and configuration give the same text, byte for byte.

    Parameters
    ----------
    config : Config
        All sizes.
    port : {"native", "wishbone"}
        Streams, see :class:`Chip`, or buses, see :class:`Peripheral`.

    Returns
    -------
    verilog : str
        Verilog-2005 with top module ``chip``, or ``systolith`` where it has buses.
    manifest : dict
        JSON values. ``name``, ``top``, ``port``, ``identity`` (value of the ID register),
        ``isa_version``, ``isa_sha256``, ``verilog_sha256``; ``parameters``: all sizes of the
        configuration; ``ports``: name, direction and width of the top module's ports;
        ``memories``: name, depth, width in bits and numbers of read and write ports of each;
        ``regions``: name, byte address and bytes of what the host reaches in core 0;
        ``core_stride``: bytes from there to the same of the next core.

    Raises
    ------
    ConfigError
        See :func:`top_module`.
    """
    design = _design(config, port)
    manifest = {
        "name": config.name, "top": top_module(port), "port": port, "identity": config.identity,
        "isa_version": isa.VERSION, "isa_sha256": isa_hash(),
        "verilog_sha256": hashlib.sha256(design.text.encode()).hexdigest(),
        "parameters": {name: value for name, value in asdict(config).items() if name != "name"},
        "ports": [port._asdict() for port in design.ports],
        "memories": [memory._asdict() for memory in design.memories],
        "regions": [{"name": region.name, "address": config.host_address(region), "bytes": size}
                    for region, size in host_bytes(config).items()],
        "core_stride": 1 << CORE_SHIFT,
    }
    return design.text, manifest


def top_module(port: str) -> str:
    """Name of the top module with such ports.

    Raises
    ------
    ConfigError
        When there are no such ones; the message lists those that there are.
    """
    if port not in TOPS:
        raise ConfigError(f"unknown port {port!r}; choose one of {', '.join(TOPS)}")
    return TOPS[port][0]


def _design(config: Config, port: str) -> Design:
    """The top module with all others; of several cores, with their module once."""
    name = top_module(port)
    _, component, place = TOPS[port]
    top = to_verilog(component(config=config), name=name)
    if config.cores == 1:
        return top
    core = to_verilog(Core(config=config), name=CORE)
    memories = (memory._replace(name=f"{place}{CORE}{number}.{memory.name}")
                for number in range(config.cores) for memory in core.memories)
    return Design(top.text + core.text, top.ports, (*top.memories, *memories))


def isa_hash() -> str:
    """SHA-256 of the definition of commands and registers."""
    return hashlib.sha256(inspect.getsource(isa).encode()).hexdigest()
