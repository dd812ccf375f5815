"""Generates the chip: Verilog text and a manifest of what it is."""
import hashlib
import inspect
from dataclasses import asdict

from systolith.hw import isa
from systolith.hw.chip import CORE, Chip
from systolith.hw.config import Config
from systolith.hw.core import Core
from systolith.hw.verilog import Design, to_verilog

#: Name of the top module.
TOP = "chip"


def generate(config: Config) -> tuple[str, dict]:
    """The chip of a configuration.

    The same sources and configuration give the same text, byte for byte.

    Returns
    -------
    verilog : str
        Verilog-2005 with top module ``chip``.
    manifest : dict
        JSON values. ``name``, ``top``, ``identity`` (value of the ID register), ``isa_version``,
        ``isa_sha256``, ``verilog_sha256``; ``parameters``: all sizes of the configuration;
        ``ports``: name, direction and width of the top module's ports; ``memories``: name, depth,
        width in bits and numbers of read and write ports of each.
    """
    design = _design(config)
    manifest = {
        "name": config.name, "top": TOP, "identity": config.identity,
        "isa_version": isa.VERSION, "isa_sha256": isa_hash(),
        "verilog_sha256": hashlib.sha256(design.text.encode()).hexdigest(),
        "parameters": {name: value for name, value in asdict(config).items() if name != "name"},
        "ports": [port._asdict() for port in design.ports],
        "memories": [memory._asdict() for memory in design.memories],
    }
    return design.text, manifest


def _design(config: Config) -> Design:
    """The chip; of several cores, with their module once."""
    chip = to_verilog(Chip(config=config), name=TOP)
    if config.cores == 1:
        return chip
    core = to_verilog(Core(config=config), name=CORE)
    memories = (memory._replace(name=f"{CORE}{number}.{memory.name}")
                for number in range(config.cores) for memory in core.memories)
    return Design(chip.text + core.text, chip.ports, (*chip.memories, *memories))


def isa_hash() -> str:
    """SHA-256 of the definition of commands and registers."""
    return hashlib.sha256(inspect.getsource(isa).encode()).hexdigest()
