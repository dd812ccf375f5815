"""Look into a component: a proof by induction must speak of its registers and memories."""
from amaranth import *
from amaranth.hdl import Fragment, MemoryInstance


class Inside:
    """An elaborated component whose inner signals can be used in the module around it.

    Parameters
    ----------
    component : wiring.Component
        Elaborated now; its ports are used as before.

    Members
    -------
    fragment : Fragment
        To be added as a submodule in place of the component.
    """

    def __init__(self, component):
        self.fragment = Fragment.get(component, None)

    def part(self, *path):
        """The fragment at the end of a way through submodules."""
        part = self.fragment
        for name in path:
            part = part.find_subfragment(name)
        return part

    def signal(self, *path):
        """The signal of that name: names of the submodules on the way, then its own.

        Raises
        ------
        LookupError
            When there is none, or more than one.
        """
        *parts, name = path
        found = {id(signal): signal for signal in _signals(self.part(*parts))
                 if signal.name == name}
        if len(found) != 1:
            raise LookupError(f"{len(found)} signals are named {'.'.join(path)}")
        return next(iter(found.values()))

    def word(self, *path, address):
        """The word at ``address`` of the memory at ``path``, without a cycle of delay."""
        memory = self.part(*path)
        if not isinstance(memory, MemoryInstance):
            raise LookupError(f"{'.'.join(path)} is not a memory")
        word = Signal(Shape.cast(memory._data.shape).width)
        memory.read_port(domain="comb", addr=address, data=word, en=Const(1), transparent_for=())
        return word


def _signals(part):
    """Signals in the statements of a part and at the write ports of its memories."""
    for statements in part.statements.values():
        for statement in statements:
            yield from statement._lhs_signals() | statement._rhs_signals()
    for memory, _, _ in part.subfragments:
        for port in memory._write_ports if isinstance(memory, MemoryInstance) else ():
            yield from Cat(port._en, port._addr)._rhs_signals()
