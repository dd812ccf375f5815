"""Moves gates in front of the carry cells of an ECP5 into them.

A carry cell adds what two tables of four inputs give, but Yosys uses two of the four and leaves the
gates in front in tables of their own. A multiplier that adds partial products has an AND in front
of nearly each operand.
"""
from itertools import product
from typing import NamedTuple

from systolith.sim.flow.netlist import Netlist, Wire

_CARRY, _TABLE, _PINS = "CCU2C", "LUT4", "ABCD"

#: Names of the two halves of a carry cell at its ports.
_HALVES = "01"


class _Gate(NamedTuple):
    """A function of two wires: ``values[2 * second + first]``."""

    wires: tuple[Wire, Wire]
    values: tuple[int, ...]


def fold(netlist: Netlist) -> int:
    """Move all gates that can be moved; the netlist is changed in place.

    Returns
    -------
    int
        Tables that went away.
    """
    tables = {wire for name, _ in netlist.of_type(_CARRY) for half in _HALVES
              for wire in _fold(netlist, name, half)}
    gone = [netlist.driver_name(wire) for wire in tables if not netlist.users(wire)]
    for name in gone:
        netlist.remove(name)
    return len(gone)


def _fold(netlist: Netlist, name: str, half: str) -> tuple[Wire, ...]:
    """Fold the gates at both operands of a half; the wires that it no longer uses."""
    cell = netlist.cells[name]
    wires = [cell["connections"][pin + half][0] for pin in _PINS]
    gates = [_gate(netlist, wire) for wire in wires[:2]]
    if None in gates or not {*wires[2:]} <= {"0", "1"} or not any(
            isinstance(wire, int) for wire in wires[:2]):
        return ()
    table = _bits(cell["parameters"]["INIT" + half])
    above = 4 * int(wires[2]) + 8 * int(wires[3])
    for first, second in ((0, 1), (1, 0)):
        inputs = gates[first].wires + gates[second].wires
        new = _folded(table, above, gates, first, second)
        if new is None:
            continue
        cell["parameters"]["INIT" + half] = "".join(map(str, reversed(new)))
        for pin, wire in zip(_PINS, inputs, strict=True):
            netlist.connect(name, pin + half, wire)
        return tuple(wire for wire in wires[:2] if isinstance(wire, int))
    return ()


def _folded(table: list[int], above: int, gates: list[_Gate], first: int,
            second: int) -> list[int] | None:
    """The table with the gate ``first`` at pins A and B, or None where the carry would be wrong.

    Where the table gives 0, the carry is not the arriving one but what its lowest four entries,
    those for C and D at 0, say to A and B.
    """
    new, carries = [], []
    for high, low in product(range(4), range(4)):
        operands = [0, 0]
        operands[first], operands[second] = gates[first].values[low], gates[second].values[high]
        place = operands[0] + 2 * operands[1]
        new.append(table[place + above])
        carries.append(table[place])
    right = all(value or new[place % 4] == carry
                for place, (value, carry) in enumerate(zip(new, carries, strict=True)))
    return new if right else None


def _gate(netlist: Netlist, wire: Wire) -> _Gate | None:
    """A constant, or what a table with two inputs computes; None of anything else."""
    if not isinstance(wire, int):
        return _Gate(("0", "0"), (int(wire),) * 4) if wire in ("0", "1") else None
    cell = netlist.driver(wire)
    if cell is None or cell["type"] != _TABLE:
        return None
    wires = [cell["connections"][pin][0] for pin in _PINS]
    used = [place for place, each in enumerate(wires) if isinstance(each, int)]
    if len(used) != 2:
        return None
    table = _bits(cell["parameters"]["INIT"])
    fixed = sum(1 << place for place, each in enumerate(wires) if each == "1")
    values = tuple(table[fixed + (low << used[0]) + (high << used[1])]
                   for high, low in product(range(2), range(2)))
    return _Gate((wires[used[0]], wires[used[1]]), values)


def _bits(text: str) -> list[int]:
    """Entries of a table, the first for all inputs at 0."""
    return [int(bit) for bit in reversed(text)]
