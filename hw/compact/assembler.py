"""The assembler of the engine's microprogram.

A line is ``label:``, or an operation with its operand, or a branch with its target; ``#`` starts
a comment. An operand is the name of a register (it exists by being named), a constant ``=5``,
``=NAME`` or ``=&label`` (a register that holds it, one for all that are equal), or a source such
as ``cycles``; ``.lo`` and ``.hi`` after it give its lower or upper half, without a sign. ``out``
takes a number or name.
``name NEW OLD`` gives a register a second name, for another use.
"""
from collections.abc import Mapping
from dataclasses import dataclass

from systolith.hw.compact.instructions import (
    CODE_BITS,
    REGISTERS,
    SOURCES,
    Condition,
    Op,
    Source,
    View,
)

#: What a branch is called.
BRANCHES = {
    "jump": Condition.ALWAYS, "call": Condition.CALL, "jz": Condition.ZERO,
    "jnz": Condition.NONZERO, "jneg": Condition.NEGATIVE, "jpos": Condition.POSITIVE,
    "jlt": Condition.LESS, "jc": Condition.CARRY, "jquiet": Condition.QUIET,
    "jbusy": Condition.BUSY, "jeven": Condition.EVEN,
}
_OPS = {op.name.lower(): op for op in Op}
_VIEWS = {"lo": View.LOW, "hi": View.HIGH}
_SOURCES = {source.name.lower(): source for source in Source}
#: Operations without an operand.
_ALONE = ("shr", "shl", "ack", "reply", "go", "ret", "round")


class AssemblyError(ValueError):
    """A microprogram that cannot be assembled. The message names the line."""


@dataclass(frozen=True)
class Assembled:
    """Instructions, what each register holds at power-up, and the address of each label."""

    code: tuple[int, ...]
    constants: tuple[int, ...]
    labels: dict[str, int]


def assemble(source: str, names: Mapping[str, int]) -> Assembled:
    """Assemble a microprogram whose constants may use these names.

    Raises
    ------
    AssemblyError
        On an unknown word, label or name, a label that is there twice, or too much of anything.
    """
    return _Assembly(names).run(source)


class _Assembly:
    def __init__(self, names: Mapping[str, int]):
        self._names = names
        self._labels: dict[str, int] = {}
        self._registers: dict[str, int] = {}

    def run(self, source: str) -> Assembled:
        lines = self._lines(source)
        if len(lines) > 1 << CODE_BITS:
            raise AssemblyError(f"{len(lines)} instructions, but {1 << CODE_BITS} fit")
        code = tuple(self._instruction(*line) for line in lines)
        used = len(set(self._registers.values()))
        if used > SOURCES:
            raise AssemblyError(f"{used} registers, but there are {SOURCES}")
        constants = [0] * REGISTERS
        for name, register in self._registers.items():
            if name.startswith("="):
                constants[register] = int(name[1:])
        return Assembled(code, tuple(constants), self._labels)

    def _lines(self, source: str) -> list[tuple[int, list[str]]]:
        """(number, words) of each instruction; the labels are noted."""
        result: list[tuple[int, list[str]]] = []
        for number, text in enumerate(source.splitlines(), start=1):
            words = text.split("#")[0].split()
            while words and words[0].endswith(":"):
                label = words.pop(0)[:-1]
                if label in self._labels:
                    raise AssemblyError(f"line {number}: label {label} is there twice")
                self._labels[label] = len(result)
            if words[:1] == ["name"]:
                self._rename(number, words)
            elif words:
                result.append((number, words))
        return result

    def _rename(self, number: int, words: list[str]) -> None:
        _, new, old = words
        if new in self._registers:
            raise AssemblyError(f"line {number}: register {new} is there already")
        self._registers[new] = self._register(old)

    def _register(self, name: str) -> int:
        return self._registers.setdefault(name, len(set(self._registers.values())))

    def _instruction(self, number: int, words: list[str]) -> int:
        try:
            name, *operands = words
            if name in BRANCHES:
                (target,) = operands
                return 1 << 15 | BRANCHES[name] << 11 | self._labels[target]
            op = _OPS[name]
            if name in _ALONE:
                () = operands
                return op << 10
            (operand,) = operands
            if op == Op.OUT:
                return op << 10 | self._value(operand)
            return op << 10 | self._operand(operand)
        except (KeyError, ValueError) as error:
            raise AssemblyError(f"line {number}: cannot assemble {' '.join(words)!r}: "
                                f"{error}") from None

    def _operand(self, text: str) -> int:
        name, dot, view = text.partition(".")
        bits = (_VIEWS[view] if dot else View.WORD) << 8
        if name in _SOURCES:
            return bits | _SOURCES[name]
        if name.startswith("="):
            name = f"={self._constant(name[1:]) & 0xFFFFFFFF}"
        return bits | self._register(name)

    def _constant(self, text: str) -> int:
        return self._labels[text[1:]] if text.startswith("&") else self._value(text)

    def _value(self, text: str) -> int:
        return self._names[text] if text in self._names else int(text, 0)
