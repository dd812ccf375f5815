"""Verilog to a netlist of a family's cells, by Yosys, and what is in it."""
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

from systolith.hw.boards.pll import ECP5_ATTRIBUTES
from systolith.sim.flow import absorb, netlist
from systolith.sim.flow.netlist import Netlist
from systolith.sim.flow.tools import find_tool
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest

#: `-no-rw-check`: no word is read while it is written, so no logic that watches for it. No `-dsp`
#: for the iCE40: it would rewrite multipliers that are instances into unregistered ones. `abc9.W`:
#: picoseconds of a wire of the UP5K as nextpnr routes it. Yosys counts on 750, so it takes chains
#: of carries for the slowest paths and leaves levels of tables in all others.
_SCRIPTS = {
    "ice40": "read_verilog {source}; scratchpad -set synth_ice40.abc9.W 2000; "
             "synth_ice40 -no-rw-check -abc9 -device u -top {top}; write_json netlist.json",
    "ecp5": "read_verilog {source}; synth_ecp5 -no-rw-check -top {top}; "
            "setattr {attributes} t:EHXPLLL; write_json netlist.json",
}

#: Name of the file with the Verilog.
_SOURCE = "top.v"

#: What the figures count, by family: names of cell types.
_KINDS = {
    "ice40": {"lut": r"SB_LUT4", "carry": r"SB_CARRY", "ff": r"SB_DFF\w*", "dsp": r"SB_MAC16",
              "bram": r"SB_RAM40_4K\w*", "spram": r"SB_SPRAM256KA"},
    "ecp5": {"lut": r"LUT4", "carry": r"CCU2C", "ff": r"TRELLIS_FF", "dsp": r"MULT18X18D",
             "bram": r"DP16KD", "lutram": r"TRELLIS_DPR16X4"},
}


def script(family: str, *, source: str, top: str) -> str:
    """The commands for Yosys; they write ``netlist.json``."""
    attributes = " ".join(f'-set {name} "{value}"' for name, value in ECP5_ATTRIBUTES.items())
    return _SCRIPTS[family].format(source=source, top=top, attributes=attributes)


def synthesized(family: str, text: str, *, top: str, progress: Progress) -> Path:
    """The folder with ``netlist.json`` and ``cells.json`` of a Verilog text, from the cache or new.

    Raises
    ------
    FlowError
        When Yosys is missing or fails.
    """
    def build(folder: Path) -> None:
        (folder / _SOURCE).write_text(text)
        with progress.stage("Yosys"):
            synthesize(family, folder=folder, source=_SOURCE, top=top)

    return cached("synthesis", digest(
        text, find_tool("yosys").version, script(family, source=_SOURCE, top=top),
        *(Path(module.__file__ or "").read_bytes() for module in (absorb, netlist))), build)


def synthesize(family: str, *, folder: Path, source: str, top: str) -> dict[str, int]:
    """Write ``netlist.json`` in a folder that holds the Verilog.

    Returns
    -------
    dict[str, int]
        Cells by kind: ``lut``, ``carry``, ``ff``, ``dsp``, ``bram`` and those of the family.

    Raises
    ------
    FlowError
        When Yosys fails.
    """
    find_tool("yosys").run("-q", "-p", script(family, source=source, top=top), folder=folder)
    path = folder / "netlist.json"
    design = json.loads(path.read_text())
    wires = Netlist(design, top=top)
    if family == "ecp5":
        absorb.absorb(wires)
        path.write_text(json.dumps(design))
    counts = count(family, wires)
    (folder / "cells.json").write_text(json.dumps(counts))
    return counts


def count(family: str, netlist: Netlist) -> dict[str, int]:
    """Cells of a netlist by kind."""
    types = Counter(cell["type"] for cell in netlist.cells.values())
    return {kind: sum(number for name, number in types.items() if re.fullmatch(pattern, name))
            for kind, pattern in _KINDS[family].items()}


def memory_cells(family: str, netlist: Netlist) -> dict[str, Counter[str]]:
    """The cells that hold each memory, by its name as :func:`plain_path` gives it.

    Returns
    -------
    dict[str, Counter[str]]
        Cells by kind: ``bram``, ``spram``, ``lutram``. Memories in flip-flops are not there.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, cell in netlist.cells.items():
        for kind in ("bram", "spram", "lutram"):
            if re.fullmatch(_KINDS[family].get(kind, ""), cell["type"]):
                # Yosys numbers the parts of a memory after its name.
                found[plain_path(re.sub(r"(\.\d+)+$", "", name))][kind] += 1
    return dict(found)


def plain_path(name: str) -> str:
    """A hierarchical name without digits and underscores, in which Verilog's names may differ."""
    return re.sub(r"[_$\d]+", "", name)
