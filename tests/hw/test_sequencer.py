# amaranth: UnusedElaboratable=no
"""The sequencer: decoding, order, fences, semaphores, faults, and that no cycle is lost."""
import random
from dataclasses import fields

import cocotb
import pytest
from amaranth.lib import data
from cocotb.triggers import ClockCycles, RisingEdge, gather

from systolith.hw.config import IN_FLIGHT
from systolith.hw.interfaces import command_layout
from systolith.hw.isa import WORDS, Cause, Engine, Load, Pass, Product, Store, Table
from systolith.hw.move_walk import mover_layout
from systolith.hw.sequencer import Sequencer
from tests.bench import Stream, parameters, reset, simulate, unpack

VECTOR = data.StructLayout({"opcode": 4, "pass": command_layout(Pass),
                            "table": command_layout(Table)})
LAYOUTS = {Engine.MOVE: mover_layout(), Engine.MATRIX: command_layout(Product),
           Engine.VECTOR: VECTOR}
KINDS = {Engine.MOVE: (Load, Store), Engine.MATRIX: (Product,), Engine.VECTOR: (Pass, Table)}


def command(rng, engine, **given):
    kind = rng.choice(KINDS[engine])
    values = {field.name: rng.randrange(1 << field.metadata["width"]) for field in fields(kind)}
    return kind(**values | {"fence": 0, "wait": 0} | given)


def expected(engine, command):
    """The payload that the engine must see, as a comparable value; unused parts are left away."""
    shown = {field.name: getattr(command, field.name) for field in fields(command)
             if field.name not in ("fence", "wait", "signal")}
    return None if engine == Engine.MATRIX else command.OPCODE, shown


def seen(engine, bits):
    payload = unpack(LAYOUTS[engine], bits)
    opcode = None if engine == Engine.MATRIX else payload.opcode
    if engine == Engine.VECTOR:
        payload = payload.table if opcode == Table.OPCODE else payload["pass"]
    if engine == Engine.MOVE:
        payload = payload.load
    shown = {name: int(payload[name]) for name, _ in payload.shape() if name != "opcode"}
    return opcode, shown


class Bench:
    """Drives all inputs; grants every request while ``generous``."""

    def __init__(self, dut):
        self.dut, self.engine = dut, Engine(parameters()["engine"])
        self.words, self.port = Stream(dut, "words"), Stream(dut, "port__command")

    async def start(self):
        dut = self.dut
        dut.run.value, dut.halt.value, dut.grant.value = 1, 0, 0
        dut.port__retire.value = dut.port__active.value = dut.port__stall.value = 0
        dut.port__error.value, dut.port__cause.value = 0, 0
        await reset(dut, self.port, sources=[self.words])

    async def grant(self):
        """Grant combinationally, as the semaphores do."""
        while True:
            self.dut.grant.value = self.dut.request.value
            await cocotb.triggers.ValueChange(self.dut.request)

    async def send(self, commands, **stalls):
        await self.words.send([w for c in commands for w in c.encode()], **stalls)

    async def retire(self):
        self.dut.port__retire.value = 1
        await RisingEdge(self.dut.clk)
        signal = int(self.dut.signal.value)
        self.dut.port__retire.value = 0
        return signal


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(stall=[0, 0.5])
async def offers_every_field_in_order(dut, stall):
    bench, rng = Bench(dut), random.Random(5)
    await bench.start()
    cocotb.start_soon(bench.grant())
    commands = [command(rng, bench.engine) for _ in range(40)]

    async def run():
        waiting = []
        for item in commands:
            got, = await bench.port.receive(1, stall=stall)
            assert seen(bench.engine, got) == expected(bench.engine, item)
            waiting.append(item)
            while len(waiting) > rng.randrange(4):
                await ClockCycles(dut.clk, 1)
                assert await bench.retire() == waiting.pop(0).signal
    await gather(bench.send(commands, stall=stall), run())
    await ClockCycles(dut.clk, 2)
    assert int(dut.report__started.value) == len(commands)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_waiting_command_starts_in_the_cycle_it_is_wanted(dut):
    bench, rng = Bench(dut), random.Random(6)
    await bench.start()
    cocotb.start_soon(bench.grant())
    await bench.send([command(rng, bench.engine)])
    await bench.port.receive(1)
    size = WORDS[bench.engine]
    # While the first runs, the second is fetched: one word a cycle, offered two cycles later.
    sending = cocotb.start_soon(bench.send([command(rng, bench.engine)]))
    await RisingEdge(dut.clk)
    cycles = 1
    while not dut.port__command__valid.value:
        await RisingEdge(dut.clk)
        cycles += 1
    assert cycles == size + 2
    await sending


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_fence_waits_for_all_before(dut):
    bench, rng = Bench(dut), random.Random(7)
    await bench.start()
    cocotb.start_soon(bench.grant())
    cocotb.start_soon(bench.send([command(rng, bench.engine), command(rng, bench.engine),
                                  command(rng, bench.engine, fence=1)]))
    await bench.port.receive(2)
    await ClockCycles(dut.clk, 30)
    assert dut.activity__fenced.value
    assert not dut.request.value
    await bench.retire()
    await ClockCycles(dut.clk, 5)
    assert dut.activity__fenced.value
    await bench.retire()
    await bench.port.receive(1)
    assert dut.pending.value


@cocotb.test(timeout_time=50, timeout_unit="us")
async def waits_for_its_grant(dut):
    bench, rng = Bench(dut), random.Random(8)
    await bench.start()
    item = command(rng, bench.engine, wait=0x8421)
    await bench.send([item])
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert dut.activity__waiting.value
    assert int(dut.wait.value) == 0x8421
    assert not dut.port__command__valid.value
    assert not dut.pending.value
    dut.grant.value = 1
    await RisingEdge(dut.clk)
    dut.grant.value = 0
    got, = await bench.port.receive(1)
    assert seen(bench.engine, got) == expected(bench.engine, item)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def starts_nothing_without_run_or_when_halted(dut):
    bench, rng = Bench(dut), random.Random(9)
    await bench.start()
    cocotb.start_soon(bench.grant())
    dut.run.value = 0
    await bench.send([command(rng, bench.engine)])
    for run, halt in ((0, 0), (1, 1), (0, 1)):
        dut.run.value, dut.halt.value = run, halt
        await ClockCycles(dut.clk, 5)
        assert not dut.port__command__valid.value
        assert not dut.request.value
        assert dut.port__halt.value == halt
    dut.run.value, dut.halt.value = 1, 0
    await bench.port.receive(1)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_at_most_so_many_in_flight(dut):
    bench, rng = Bench(dut), random.Random(10)
    await bench.start()
    cocotb.start_soon(bench.grant())
    cocotb.start_soon(bench.send([command(rng, bench.engine) for _ in range(IN_FLIGHT + 1)]))
    await bench.port.receive(IN_FLIGHT)
    await ClockCycles(dut.clk, 30)
    assert not dut.port__command__valid.value
    await bench.retire()
    await bench.port.receive(1)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def an_unknown_opcode_is_reported_after_all_before(dut):
    bench, rng = Bench(dut), random.Random(11)
    await bench.start()
    cocotb.start_soon(bench.grant())
    await bench.send([command(rng, bench.engine)])
    cocotb.start_soon(bench.words.send([0] * WORDS[bench.engine]))
    await bench.port.receive(1)
    await ClockCycles(dut.clk, 30)
    assert not dut.report__error.value
    await bench.retire()
    await ClockCycles(dut.clk, 2)
    assert dut.report__error.value
    assert int(dut.report__cause.value) == Cause.UNKNOWN_OPCODE
    assert int(dut.report__index.value) == 1
    assert not dut.port__command__valid.value


@cocotb.test(timeout_time=50, timeout_unit="us")
async def an_error_of_the_engine_is_in_the_command_it_took_last(dut):
    bench, rng = Bench(dut), random.Random(12)
    await bench.start()
    cocotb.start_soon(bench.grant())
    cocotb.start_soon(bench.send([command(rng, bench.engine) for _ in range(4)]))
    await bench.port.receive(3)
    await ClockCycles(dut.clk, 30)
    dut.port__error.value, dut.port__cause.value = 1, Cause.ADDRESS
    await RisingEdge(dut.clk)
    assert dut.report__error.value
    assert int(dut.report__cause.value) == Cause.ADDRESS
    assert int(dut.report__index.value) == 2


@pytest.mark.parametrize("engine", LAYOUTS)
def test_sequencer(engine):
    simulate(Sequencer(engine=engine, layout=LAYOUTS[engine]), f"sequencer_{engine.name.lower()}",
             __name__, parameters={"engine": int(engine)})


@pytest.mark.parametrize(("engine", "name"), [(Engine.MATRIX, "rows"), (Engine.VECTOR, "rows"),
                                              (Engine.VECTOR, "source_base")])
def test_layout_is_of_the_engine(engine, name):
    with pytest.raises(ValueError, match=f"^'{name}' is not one field of all commands of the "
                                         f"{engine.name} engine$"):
        Sequencer(engine=engine, layout=data.StructLayout({name: 16}))
