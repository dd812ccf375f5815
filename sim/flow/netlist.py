"""A flat netlist as Yosys writes it in JSON: who drives and who uses each wire."""
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

#: A wire: its number, or "0", "1", "x" where it is constant.
Wire = int | str

Cell = dict[str, Any]


class Netlist:
    """The top module of a netlist, flat.

    Parameters
    ----------
    design : dict
        What ``json.load`` gives of Yosys' ``write_json``. It is changed in place.
    top : str
        Name of the module.

    Attributes
    ----------
    cells : dict[str, dict]
        By name, each with ``type``, ``parameters`` and ``connections``.
    """

    def __init__(self, design: dict[str, Any], *, top: str):
        self._module = design["modules"][top]
        self.cells: dict[str, Cell] = self._module["cells"]
        self._users: dict[int, list[tuple[str, str]]] = defaultdict(list)
        self._drivers: dict[Wire, tuple[str, str]] = {}
        for name, cell in self.cells.items():
            for port, wires in cell["connections"].items():
                for wire in wires:
                    if cell["port_directions"][port] == "input":
                        self._use(wire, name, port)
                    else:
                        self._drivers[wire] = (name, port)
        for port in self._module["ports"].values():
            if port["direction"] != "input":
                for wire in port["bits"]:
                    self._use(wire, "", "")

    def of_type(self, kind: str) -> Iterator[tuple[str, Cell]]:
        """Names and cells of a type, as they are now."""
        yield from [(name, cell) for name, cell in self.cells.items() if cell["type"] == kind]

    def driver_name(self, wire: Wire) -> str | None:
        """Name of the cell that drives a wire; None for constants and inputs of the module."""
        found = self._drivers.get(wire) if isinstance(wire, int) else None
        return found[0] if found else None

    def driver(self, wire: Wire) -> Cell | None:
        """The cell that drives a wire; None for constants and inputs of the module."""
        name = self.driver_name(wire)
        return self.cells[name] if name else None

    def users(self, wire: Wire) -> list[tuple[str, str]]:
        """Name and port of all cells that use a wire; empty names for outputs of the module."""
        return self._users[wire] if isinstance(wire, int) else []

    def _use(self, wire: Wire, name: str, port: str) -> None:
        # Constants have so many users that a list of them takes long to change.
        if isinstance(wire, int):
            self._users[wire].append((name, port))

    def connect(self, name: str, port: str, wire: Wire) -> None:
        """Connect an input of a cell to another wire."""
        cell = self.cells[name]
        for old in cell["connections"].get(port, []):
            if isinstance(old, int):
                self._users[old].remove((name, port))
        cell["connections"][port] = [wire]
        cell["port_directions"][port] = "input"
        self._use(wire, name, port)

    def drive(self, name: str, port: str, wire: Wire) -> None:
        """Let an output of a cell drive a wire, whose driver is replaced."""
        self.cells[name]["connections"][port] = [wire]
        self._drivers[wire] = (name, port)

    def remove(self, name: str) -> None:
        """Remove a cell."""
        for port, wires in self.cells[name]["connections"].items():
            for wire in wires:
                if (name, port) in self._users.get(wire, ()):
                    self._users[wire].remove((name, port))
                if self._drivers.get(wire) == (name, port):
                    del self._drivers[wire]
        del self.cells[name]
