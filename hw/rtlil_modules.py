"""Lets equal modules of an RTLIL netlist be one module.

Amaranth writes a module for every component, so sixteen equal cores are sixteen modules, and every
tool behind works sixteen times. Here, of modules with equal text, all but the first are left out.
"""
import re

_MODULE = re.compile(r"^(?:attribute [^\n]*\n)*module (\S+)\n.*?^end\n", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^  cell (\\\S+) ", re.MULTILINE)


def share_modules(text: str) -> str:
    """The netlist with one module for those that have equal text, cells below them included."""
    modules = {match[1]: match[0] for match in _MODULE.finditer(text)}
    shared = _Shared(modules)
    for name in modules:
        shared.name(name)
    return "".join(shared.texts.values())


class _Shared:
    """Modules by what they are; ``texts`` has the text of each that stays."""

    def __init__(self, modules: dict[str, str]):
        self._modules = modules
        self._names: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def name(self, name: str) -> str:
        """The module that stands for one; cells of a vendor stand for themselves."""
        if name not in self._modules:
            return name
        if name not in self._names:
            text = _CELL.sub(lambda cell: f"  cell {self.name(cell[1])} ", self._modules[name])
            nameless = text.replace(f"module {name}\n", "module\n", 1)
            self._names[name] = self._known.setdefault(nameless, name)
            if self._names[name] == name:
                self.texts[name] = text
        return self._names[name]
