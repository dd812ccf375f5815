"""From a component to plain Verilog: short, readable, the same on every machine."""
import gc
import os
import re
from contextlib import contextmanager
from typing import NamedTuple

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil

from systolith.hw.plain_names import plain_names
from systolith.hw.rtlil_modules import share_modules
from systolith.hw.rtlil_widths import equalize_widths

#: Yosys optimizes so that simulators have less to do: nothing twice, nothing unused. Hierarchy,
#: registers and memories stay as they are written; cells of a vendor have no module here.
_OPTIMIZE = """
read_rtlil <<rtlil
{rtlil}
rtlil
hierarchy -top {name}
proc
opt -fast
opt_clean
write_rtlil
"""

_WRITE = """
read_rtlil <<rtlil
{rtlil}
rtlil
memory_collect
opt_clean
write_verilog -noattr
"""


#: A register whose reset counts only with its enable: an `if` in an `if`.
_NESTED = re.compile(r"^(    if \(.*\))\n(      if \(.*\) .*;\n      else .*;\n)", re.MULTILINE)


class Port(NamedTuple):
    """A port of the top module."""

    name: str
    direction: str
    width: int


class MemoryBlock(NamedTuple):
    """A memory: hierarchical name below the top module, words, bits, numbers of ports."""

    name: str
    depth: int
    width: int
    read_ports: int
    write_ports: int


class Design(NamedTuple):
    """Verilog text, and what is in it."""

    text: str
    ports: tuple[Port, ...]
    memories: tuple[MemoryBlock, ...]


def to_verilog(component, *, name: str) -> Design:
    """Convert a component with a signature; its top module gets that name.

    Equal modules are written once. Memories whose content starts as zero get no initial value: a
    line a word would be most of the text. A simulator with two states starts them as zero anyway.

    Returns
    -------
    Design
        Verilog-2005 without attributes; identifiers have no characters that need an escape.
    """
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    with _without_zeros(), _without_collection():
        source = rtlil.convert(component, name=name, emit_src=False)
    optimized = _yosys(_OPTIMIZE.format(rtlil=share_modules(source), name=name))
    text = plain_names(_yosys(_WRITE.format(rtlil=equalize_widths(optimized))))
    # Yosys leaves it to the reader which of the two ifs the else belongs to.
    text = _NESTED.sub(r"\1 begin\n\2    end\n", text)
    return Design(text, _ports(text, name), tuple(_memories(source)))


def _yosys(script: str) -> str:
    yosys = find_yosys(lambda version: version >= (0, 40))
    # It always warns that not all processes can be written as Verilog; here, none is left.
    return yosys.run(["-q", "-"], script, ignore_warnings=True)


@contextmanager
def _without_zeros():
    """Keep Amaranth from writing the initial value of memories that start as zero."""
    emit = rtlil.ModuleEmitter.emit_memory

    def emit_memory(self, index, cell):
        if any(cell.init):
            emit(self, index, cell)

    rtlil.ModuleEmitter.emit_memory = emit_memory
    try:
        yield
    finally:
        rtlil.ModuleEmitter.emit_memory = emit


@contextmanager
def _without_collection():
    """Keep Python from looking for garbage, which is more than a third of the time of a conversion:
    what it makes lives until the end."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _ports(text: str, name: str) -> tuple[Port, ...]:
    body = re.search(rf"^module {name}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL)[0]
    found = re.findall(r"^  (input|output|inout) (?:\[(\d+):0\] )?(\w+);", body, re.MULTILINE)
    return tuple(Port(port, direction, int(high or 0) + 1) for direction, high, port in found)


def _memories(source: str):
    """Memories of an RTLIL text, with the ports of each."""
    modules = re.findall(r"^module \\(\S+)\n(.*?)^end$", source, re.MULTILINE | re.DOTALL)
    for module, body in modules:
        for width, size, memory in re.findall(r"^  memory width (\d+) size (\d+) \\(\S+)", body,
                                              re.MULTILINE):
            user = rf'    parameter \\MEMID "\\\\{re.escape(memory)}"'
            ports = {kind: len(re.findall(rf"cell \{kind}_v2 [^\n]*\n(?:    .*\n)*?{user}", body))
                     for kind in ("$memrd", "$memwr")}
            path = re.sub(r"\$\d+", "", module).split(".")[1:]
            yield MemoryBlock(".".join([*path, memory]), int(size), int(width), ports["$memrd"],
                              ports["$memwr"])
