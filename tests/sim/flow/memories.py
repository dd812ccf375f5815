"""Which cells each memory is meant to be in, and whether it is."""
from collections import defaultdict

from systolith.sim.flow.synthesis import memory_cells, plain_path

#: Words of a block RAM by the bits of a word.
BLOCK_RAMS = {"ecp5": {1: 16384, 2: 8192, 4: 4096, 9: 2048, 18: 1024, 36: 512},
              "ice40": {2: 2048, 4: 1024, 8: 512, 16: 256}}
#: The same of a RAM in tables of logic, which an iCE40 does not have.
LUT_RAM = (4, 16)
#: Memories of at most so many bits, rings and signals in flight, are read without a clock, which
#: block RAM cannot: they are in LUT RAM, and in flip-flops where there is none.
SMALL = 1 << 10
#: The part of a small memory's words that somebody reads, at least: the rest is removed.
READ = 3 / 4


def intended(family, memory):
    """Kind and number of the cells for one memory; None: flip-flops."""
    if memory.depth * memory.width > SMALL:
        return "bram", min(-(-memory.width // width) * -(-memory.depth // words)
                           for width, words in BLOCK_RAMS[family].items())
    if family == "ice40":
        return None
    width, words = LUT_RAM
    return "lutram", -(-memory.width // width) * -(-memory.depth // words)


def check_memories(family, netlist, memories, parts=()):
    """All memories of a design, and single-port RAMs that are instances in it by name, are in the
    cells that they are meant for, and no other memory is there."""
    meant = defaultdict(list)
    for memory in memories:
        meant[plain_path(memory.name)].append(intended(family, memory))
    for part in parts:
        meant[plain_path(part)].append(("spram", 1))
    found = memory_cells(family, netlist)
    wrong = {name: (cells, found.get(name)) for name, cells in meant.items()
             if not _as_meant(cells, found.get(name, {}))}
    assert not wrong, f"memories with the cells that they should and do have: {wrong}"
    assert found.keys() <= meant.keys()


def _as_meant(cells, found):
    kinds = {cell[0] for cell in cells if cell}
    if not kinds:
        return not found
    total = sum(cell[1] for cell in cells)
    least = READ * total if kinds == {"lutram"} else total
    return set(found) == kinds and least <= sum(found.values()) <= total
