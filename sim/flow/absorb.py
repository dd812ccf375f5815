"""Moves registers beside multipliers and memories of an ECP5 into them.

Yosys leaves the registers that are inside of these blocks unused: a block RAM then answers after
5.8 ns instead of 1.0, and a multiplier after 3.9 instead of 0.7. The function stays what it was;
only what a register holds at power-up, before the first clock, is lost.
"""
from typing import NamedTuple

from systolith.sim.flow.netlist import Cell, Netlist, Wire

_FF, _MULTIPLIER, _MEMORY = "TRELLIS_FF", "MULT18X18D", "DP16KD"
_MULTIPLIER_WIDTH, _MEMORY_WIDTH = 18, 18


class Absorbed(NamedTuple):
    """How many registers of each kind became part of a block, and flip-flops that went away."""

    operands: int
    products: int
    memories: int
    flip_flops: int


class _Control(NamedTuple):
    """What a register obeys: its clock, its enable (None: always), and its reset to 0, or None."""

    clock: Wire
    enable: Wire | None
    reset: Wire | None


def absorb(netlist: Netlist) -> Absorbed:
    """Move all registers that can be moved; the netlist is changed in place."""
    before = sum(1 for _ in netlist.of_type(_FF))
    operands = products = memories = 0
    for name, _ in netlist.of_type(_MULTIPLIER):
        operands += sum(_operand(netlist, name, operand) for operand in "AB")
        products += _product(netlist, name)
    for name, _ in netlist.of_type(_MEMORY):
        memories += _memory(netlist, name)
    _remove_unused(netlist)
    return Absorbed(operands, products, memories,
                    before - sum(1 for _ in netlist.of_type(_FF)))


def _control(cell: Cell) -> _Control | None:
    """What a flip-flop obeys; None for other cells, and for kinds that the blocks do not have."""
    if cell["type"] != _FF or cell["parameters"].get("CLKMUX", "CLK") != "CLK":
        return None
    parameters, connections = cell["parameters"], cell["connections"]
    reset = connections.get("LSR", ["0"])[0]
    always = parameters.get("CEMUX", "1 ").strip() == "1"
    if reset == "0":
        reset = None
    elif not always or parameters["REGSET"] != "RESET" or parameters["SRMODE"] == "ASYNC":
        return None
    return _Control(connections["CLK"][0], None if always else connections["CE"][0], reset)


def _operand(netlist: Netlist, name: str, operand: str) -> bool:
    """Move the register in front of an operand: the multiplier takes a copy of it."""
    cell = netlist.cells[name]
    ports = [f"{operand}{bit}" for bit in range(_MULTIPLIER_WIDTH)]
    wires = [cell["connections"][port][0] for port in ports]
    controls = set()
    for wire in wires:
        if isinstance(wire, int):
            driver = netlist.driver(wire)
            controls.add(_control(driver) if driver else None)
    if len(controls) != 1 or None in controls:
        return False
    inputs = [netlist.driver(wire)["connections"]["DI"][0] if isinstance(wire, int) else wire
              for wire in wires]
    _set_register(netlist, name, f"INPUT{operand}", "AB".index(operand), controls.pop())
    for port, wire in zip(ports, inputs, strict=True):
        netlist.connect(name, port, wire)
    return True


def _product(netlist: Netlist, name: str) -> bool:
    ports = [f"P{bit}" for bit in range(2 * _MULTIPLIER_WIDTH)]
    register = _following(netlist, name, ports)
    if register is None:
        return False
    control, moved = register
    _set_register(netlist, name, "OUTPUT", 2, control)
    _take_over(netlist, name, moved)
    return True


def _memory(netlist: Netlist, name: str) -> bool:
    """Both halves of the data have one register only when the memory has one reader."""
    cell = netlist.cells[name]
    ports = [f"DO{side}{bit}" for side in "AB" for bit in range(_MEMORY_WIDTH)]
    register = _following(netlist, name, [port for port in ports if port in cell["connections"]])
    if register is None or register[0][1:] != (None, None):
        return False
    control, moved = register
    connections = cell["connections"]
    if any(connections[f"CLK{side}"][0] not in (control.clock, "0", "x") for side in "AB"):
        return False
    for side in "AB":
        cell["parameters"][f"REGMODE_{side}"] = "OUTREG"
        netlist.connect(name, f"OCE{side}", "1")
    _take_over(netlist, name, moved)
    return True


def _following(netlist: Netlist, name: str, ports: list[str]):
    """The one register behind all used outputs: its control, and flip-flop by port; or None."""
    connections = netlist.cells[name]["connections"]
    moved, controls = {}, set()
    for port in ports:
        users = netlist.users(connections[port][0]) if connections.get(port) else []
        if not users:
            continue
        if len(users) != 1 or users[0][1] != "DI":
            return None
        moved[port] = users[0][0]
        controls.add(_control(netlist.cells[users[0][0]]))
    return None if len(controls) != 1 or None in controls else (controls.pop(), moved)


def _take_over(netlist: Netlist, name: str, moved: dict[str, str]) -> None:
    """Let a block drive what the flip-flops behind it drove, and remove these."""
    for port, flip_flop in moved.items():
        wire = netlist.cells[flip_flop]["connections"]["Q"][0]
        netlist.remove(flip_flop)
        netlist.drive(name, port, wire)


def _set_register(netlist: Netlist, name: str, which: str, number: int, control: _Control) -> None:
    """Switch on a register of a multiplier; each has an enable and a reset of its own."""
    cell = netlist.cells[name]
    cell["parameters"] |= {f"REG_{which}_CLK": "CLK0", f"REG_{which}_CE": f"CE{number}",
                           f"REG_{which}_RST": f"RST{number}"}
    netlist.connect(name, "CLK0", control.clock)
    netlist.connect(name, f"CE{number}", "1" if control.enable is None else control.enable)
    netlist.connect(name, f"RST{number}", "0" if control.reset is None else control.reset)


def _remove_unused(netlist: Netlist) -> None:
    """Remove flip-flops whose output nobody uses, again and again: one may have fed another."""
    removed = True
    while removed:
        removed = False
        for name, cell in netlist.of_type(_FF):
            if not netlist.users(cell["connections"]["Q"][0]):
                netlist.remove(name)
                removed = True
