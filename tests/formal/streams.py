"""The rule of streams, found in any signature: a payload stays until it is accepted."""
from typing import NamedTuple

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.formal.inside import Inside
from tests.formal.prove import given, holds, implies, past


class Handshake(NamedTuple):
    """A ``valid`` with its ``ready``; the payload is all else that goes the way of ``valid``."""

    name: str
    outgoing: bool
    valid: Value
    ready: Value
    payload: Value


def handshakes(component):
    """Every handshake in the signature of a component, nested ones too."""
    leaves = {path: (member.flow, Value.cast(value))
              for path, member, value in component.signature.flatten(component)}
    for path, (flow, valid) in leaves.items():
        ready = (*path[:-1], "ready")
        if path[-1] == "valid" and ready in leaves and leaves[ready][0] != flow:
            payload = Cat(value for other, (direction, value) in leaves.items()
                          if other[:len(path) - 1] == path[:-1] and other != path
                          and direction == flow)
            yield Handshake("__".join(map(str, path[:-1])), flow == Out, valid, leaves[ready][1],
                            payload)


class StreamProof(wiring.Component):
    """All that a component sends stays while stalled, provided that all it receives does.

    Parameters
    ----------
    component : wiring.Component
        Its inputs are free.
    lemmas : callable, optional
        ``lemmas(m, component, inside)`` states invariants of its registers.
    withdrawn : callable, optional
        ``withdrawn(m, component)``: the condition in which requests may be taken back.
    """

    def __init__(self, component, *, lemmas=None, withdrawn=None):
        self._component, self._lemmas, self._withdrawn = component, lemmas, withdrawn
        super().__init__(component.signature)

    def elaborate(self, platform):
        m = Module()
        component, inside = self._component, Inside(self._component)
        m.submodules.component = inside.fragment
        # Amaranth's `connect` does not flip arrays of streams.
        for (_, member, ours), (_, _, theirs) in zip(self.signature.flatten(self),
                                                     component.signature.flatten(component),
                                                     strict=True):
            m.d.comb += theirs.eq(ours) if member.flow == In else ours.eq(theirs)
        taken_back = Value.cast(self._withdrawn(m, component)) if self._withdrawn else Const(0)
        for stream in handshakes(component):
            before = past(m, Cat(stream.valid, stream.payload))
            stays = ((Cat(stream.valid, stream.payload) == before)
                     | (taken_back if stream.outgoing else 0))
            rule = implies(past(m, stream.valid & ~stream.ready), stays)
            m.d.comb += holds(rule) if stream.outgoing else given(rule)
        if self._lemmas:
            self._lemmas(m, component, inside)
        return m
