"""Verilog of what the blocks of an FPGA do: memories, multipliers, PLLs and pads."""
import re
from collections.abc import Iterable
from pathlib import Path

from systolith.sim.flow.tools import FlowError, find_tool, share_folder

_HERE = Path(__file__).parent

#: Files of models, by family: first of cells that are instances in the source already.
_OWN = {"ecp5": ("ecp5_cells.v", "dp16kd.v", "mult18x18d.v", "trellis_io.v"),
        "ice40": ("ice40_cells.v",)}
#: Where Yosys' own models are, and which of them are taken.
_YOSYS_FILE = "{family}/cells_sim.v"
_YOSYS_CELLS = {"ecp5": (), "ice40": ("SB_RAM40_4K", "SB_SPRAM256KA", "SB_MAC16")}


def source_models(family: str, verilog: str) -> str:
    """Verilog of the cells that a source has as instances.

    Raises
    ------
    FlowError
        When a model is one of Yosys', and Yosys is missing.
    """
    used = [name for name in _YOSYS_CELLS[family] if re.search(rf"\b{name}\b", verilog)]
    own = (_HERE / _OWN[family][0]).read_text()
    return own + _yosys_models(family, used) if used else own


def block_models(family: str) -> str:
    """Verilog of all blocks that a netlist of a family may have.

    Raises
    ------
    FlowError
        When a model is one of Yosys', and Yosys is missing.
    """
    own = "\n".join((_HERE / name).read_text() for name in _OWN[family])
    names = _YOSYS_CELLS[family]
    return own + _yosys_models(family, names) if names else own


def _yosys_models(family: str, names: Iterable[str]) -> str:
    path = share_folder(find_tool("yosys")) / _YOSYS_FILE.format(family=family)
    try:
        text = path.read_text()
    except OSError as error:
        raise FlowError(f"Yosys' models of {family} cells cannot be read: {path}: "
                        f"{error.strerror}") from error
    macros = re.findall(r"^`define ICE40_DEFAULT_\w+.* = .*$", text, re.MULTILINE)
    modules = [re.search(rf"^module {name} .*?^endmodule$", text, re.MULTILINE | re.DOTALL)
               for name in names]
    return "\n".join(["", *macros, *(module[0] for module in modules if module), ""])
