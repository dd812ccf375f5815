"""Equal modules of a netlist become one."""
import re

from systolith.hw.mesh.config import MeshConfig
from systolith.hw.mesh.mesh import Mesh
from systolith.hw.rtlil_modules import share_modules
from systolith.hw.verilog import to_verilog


def module(name, *lines):
    return f"attribute \\generator \"Amaranth\"\nmodule {name}\n" + "".join(
        f"  {line}\n" for line in lines) + "end\n"


def cell(kind, name):
    return f"cell {kind} {name}\n    connect \\i \\i\n  end"


INVERTER = ("wire \\i", "cell $not $1\n  end")
BUFFER = ("wire \\i", "cell $pos $1\n  end")


def test_equal_modules_become_one_and_cells_below_count():
    text = "".join((
        module("\\top", cell("\\top.a", "\\a"), cell("\\top.b", "\\b"), cell("\\top.c", "\\c")),
        module("\\top.a", cell("\\top.a.x", "\\x")), module("\\top.a.x", *INVERTER),
        module("\\top.b", cell("\\top.b.x", "\\x")), module("\\top.b.x", *INVERTER),
        module("\\top.c", cell("\\top.c.x", "\\x")), module("\\top.c.x", *BUFFER)))
    shared = share_modules(text)
    assert sorted(re.findall(r"^module (\S+)", shared, re.MULTILINE)) == [
        "\\top", "\\top.a", "\\top.a.x", "\\top.c", "\\top.c.x"]
    assert re.findall(r"cell (\\\S+) (\S+)", shared) == [
        ("\\top.a.x", "\\x"), ("\\top.c.x", "\\x"),
        ("\\top.a", "\\a"), ("\\top.a", "\\b"), ("\\top.c", "\\c")]


def test_cells_of_a_vendor_stay():
    text = module("\\top", cell("\\MULT18X18D", "\\m"))
    assert share_modules(text) == text


def test_a_mesh_has_a_module_for_each_kind_of_router():
    text = to_verilog(Mesh(config=MeshConfig(width=4, height=3, bus_bytes=4)), name="mesh").text
    routers = re.findall(r"^module (mesh_router_\d_\d) ?\(", text, re.MULTILINE)
    # Corners, edges, and what lies between have other ports.
    assert len(routers) == 9
