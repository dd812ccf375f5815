"""The queue keeps order, and knows the banks of what it holds."""
import random

import pytest

from systolith.hw.sdram.accesses import Accesses
from systolith.hw.sdram.timing import SdramChip
from tests.hw.sdram.simulated import simulate


@pytest.mark.parametrize("depth", [2, 4])
def test_order_and_banks(depth):
    dut, generator, model = Accesses(chip=SdramChip(), depth=depth), random.Random(1), []

    async def bench(context):
        for number in range(500):
            access = {"bank": generator.randrange(4), "row": number, "column": number % 512,
                      "write": number % 2}
            push, pop = generator.random() < 0.6, generator.random() < 0.6
            context.set(dut.i.valid, push)
            context.set(dut.i.payload, access)
            context.set(dut.o.ready, pop)
            assert context.get(dut.i.ready) == (len(model) < depth)
            assert context.get(dut.o.valid) == bool(model)
            assert context.get(dut.banks) == sum(1 << bank for bank in {a["bank"] for a in model})
            room = len(model) < depth
            if model and pop:
                taken = context.get(dut.o.payload)
                assert {name: taken[name] for name in access} == model.pop(0)
            if push and room:
                model.append(access)
            await context.tick()

    simulate(dut, bench)
