"""Rewrites masked writes of memories into a form that simulates faster.

The generated Verilog writes each byte of a word under its own condition, the form in which
synthesis finds the byte enables of a block RAM. Verilator keeps a flag, an address and a value for
each of them and looks at all of them in every cycle, though in most cycles nothing is written. Here
they become one write of the whole word, with the old bytes where the mask is 0: the same function,
for the simulator only.
"""
import re
from collections.abc import Iterator, Sequence

_WRITE = re.compile(
    r"^ *if \((?P<mask>\w+)\[(?P<bit>\d+)\]\)\n"
    r" *(?P<memory>\w+)\[(?P<address>\w+)\]\[(?P<high>\d+):(?P<low>\d+)\] <= "
    r"(?P<data>\w+)\[(?P=high):(?P=low)\];\n", re.MULTILINE)


def merge_writes(verilog: str) -> str:
    """The text with one write for each group of writes that together cover a word.

    A group is writes one after the other to the same address of the same memory, of the same
    places of the same data, under bits of the same mask. Others stay as they are.
    """
    pieces, done = [], 0
    for group in _groups(verilog):
        if _covers_word(verilog, group):
            pieces += [verilog[done:group[0].start()], _merged(group)]
            done = group[-1].end()
    return "".join([*pieces, verilog[done:]])


def _groups(verilog: str) -> Iterator[Sequence[re.Match[str]]]:
    group: list[re.Match[str]] = []
    for write in _WRITE.finditer(verilog):
        if group and not (group[-1].end() == write.start()
                          and all(group[0][name] == write[name]
                                  for name in ("mask", "memory", "address", "data"))):
            yield group
            group = []
        group.append(write)
    if group:
        yield group


def _covers_word(verilog: str, group: Sequence[re.Match[str]]) -> bool:
    """Whether the writes are of different bits of the word, and of all of them."""
    first = group[0]
    declared = re.compile(rf"^ *reg \[(\d+):0\] {first['memory']} \[", re.MULTILINE)
    # The nearest declaration before the writes is that of the same module.
    *_, width = declared.findall(verilog, verilog.rfind("\nmodule ", 0, first.start()) + 1,
                                 first.start()) or ["-1"]
    places = sorted((int(write["low"]), int(write["high"])) for write in group)
    return len(group) > 1 and [low for low, _ in places] + [int(width) + 1] == [
        0, *(high + 1 for _, high in places)]


def _merged(group: Sequence[re.Match[str]]) -> str:
    first = group[0]
    word = f"{first['memory']}[{first['address']}]"
    highest_first = sorted(group, key=lambda write: -int(write["low"]))
    parts = ", ".join("{mask}[{bit}] ? {data}[{high}:{low}] : {word}[{high}:{low}]".format(
        **write.groupdict(), word=word) for write in highest_first)
    return f"    if (|{first['mask']})\n      {word} <= {{ {parts} }};\n"
