"""The four RAMs as one, byte by byte."""
import random

from systolith.hw.compact.shared_ram import DEPTH, SharedRam
from tests.hw.sdram.simulated import simulate


def test_bytes_are_written_and_words_read():
    chosen, dut, content = random.Random(1), SharedRam(), {}

    async def bench(context):
        places = [0, DEPTH - 1, *(1 << bit for bit in range(14))]
        for _ in range(600):
            place, mask, data = (chosen.choice(places), chosen.getrandbits(8),
                                 chosen.getrandbits(64).to_bytes(8, "little"))
            write = chosen.getrandbits(1)
            context.set(dut.address, place)
            context.set(dut.write, write)
            context.set(dut.mask, mask)
            context.set(dut.data, int.from_bytes(data, "little"))
            await context.tick()
            old = content.get(place, bytes(8))
            if write:
                content[place] = bytes(new if mask >> index & 1 else was
                                       for index, (new, was) in enumerate(zip(data, old,
                                                                              strict=True)))
            else:
                assert context.get(dut.read_data) == int.from_bytes(old, "little")
    simulate(dut, bench)
