# amaranth: UnusedElaboratable=no
"""The matrix engine with its memories against NumPy, and its timing to the cycle."""
import random

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from systolith.hw.config import Config
from systolith.hw.interfaces import command_layout
from systolith.hw.isa import Cause, Product
from systolith.hw.matrix import MatrixEngine
from tests.bench import pack, parameters, reset, simulate
from tests.hw.matrix_side import MatrixSide
from tests.hw.product_model import beats, execute
from tests.hw.system_master import SystemMaster

WORDS = 32
EXTREMES = np.array([-128, 127, -1, 0], dtype=np.int8)


def make_config(*, rows, cols, hop, port_cycles):
    return Config(name="test", rows=rows, cols=cols, lanes=min(rows, cols), hop=hop,
                  act_depth=WORDS, wgt_depth=WORDS, acc_depth=WORDS,
                  bus_bytes=min(rows, cols, 16), port_cycles=port_cycles)


class Bench:
    """The device under test, with the contents that its memories should have."""

    def __init__(self, dut):
        self.dut, self.config = dut, make_config(**parameters())
        self.edge = RisingEdge(dut.clk)
        self.random = random.Random(f"{parameters()} {cocotb.RANDOM_SEED}")
        self.numbers = np.random.default_rng(self.random.getrandbits(32))
        self.latency = MatrixEngine(config=self.config).latency
        self.systems = {name: SystemMaster(dut, f"{name}_system", bus_bytes=self.config.bus_bytes,
                                           latency=self.config.system_read_latency)
                        for name in ("act", "wgt", "acc")}
        rows, cols = self.config.rows, self.config.cols
        self.act = self._bytes(WORDS, rows)
        self.wgt = self._bytes(WORDS, rows, cols)
        self.acc = np.zeros((WORDS, cols), dtype=np.int64)
        self.cycle, self.taken, self.retired, self.errors = 0, [], [], []

    def _bytes(self, *shape):
        """Random bytes; a quarter of the words has extreme ones only."""
        values = self.numbers.integers(-128, 128, shape, dtype=np.int8)
        extreme = self.numbers.random(shape[0]) < 0.25
        values[extreme] = self.numbers.choice(EXTREMES, values[extreme].shape)
        return values

    async def start(self, *, fill=True):
        """Reset, then fill the memories."""
        for name in ("engine__command__valid", "engine__command__payload", "engine__halt",
                     "act__valid", "wgt__valid", "acc__valid"):
            self.dut[name].value = 0
        await reset(self.dut)
        for system in self.systems.values():
            cocotb.start_soon(system.watch())
        cocotb.start_soon(self._watch())
        if fill:
            await self.systems["act"].write(0, self.act.tobytes())
            await self.systems["wgt"].write(0, self.wgt.tobytes())
            clear = Product(count0=WORDS, count1=1, count2=1, acc0_stride=1)
            await self.run([clear])

    async def _watch(self):
        engine = {name: self.dut[f"engine__{name}"] for name in (
            "command__valid", "command__ready", "retire", "error", "cause", "active", "stall",
            "halt")}
        while True:
            await self.edge
            now = {name: int(signal.value) for name, signal in engine.items()}
            self.cycle += 1
            if now["command__valid"] and now["command__ready"]:
                assert not now["halt"], "a command was taken during halt"
                self.taken.append(self.cycle)
            if now["retire"]:
                self.retired.append(self.cycle)
            if now["error"]:
                assert not now["halt"]
                self.errors.append(Cause(now["cause"]))
            else:
                assert now["cause"] == 0
            assert now["stall"] == (now["active"] and (now["halt"] or now["error"]))

    async def send(self, command, *, valid_for=None):
        """Offer a command until it is taken, or for some cycles."""
        layout = command_layout(Product)
        fields = {name: getattr(command, name) for name, _ in layout}
        self.dut.engine__command__payload.value = pack(layout, fields)
        self.dut.engine__command__valid.value = 1
        await self.edge
        while not self.dut.engine__command__ready.value and valid_for != 0:
            valid_for = None if valid_for is None else valid_for - 1
            await self.edge
        self.dut.engine__command__valid.value = 0

    async def run(self, commands, *, stall=0.0):
        """Execute commands in hardware and in NumPy; wait for the last to retire."""
        done = len(self.retired) + len(commands)
        for command in commands:
            while self.random.random() < stall:
                await self.edge
            await self.send(command)
            execute(command, self.act, self.wgt, self.acc)
        while len(self.retired) < done:
            await self.edge
        # The last write is done: all is readable from this cycle on.

    async def vector_read(self, word):
        """One accumulator word through the vector unit's port."""
        self.dut.acc__valid.value = 1
        self.dut.acc__address.value = word
        await self.edge
        while not self.dut.acc__ready.value:
            await self.edge
        self.dut.acc__valid.value = 0
        for _ in range(self.config.source_latency):
            await self.edge
        data = int(self.dut.acc__data.value).to_bytes(4 * self.config.cols, "little")
        return np.frombuffer(data, dtype="<i4")

    async def check(self):
        """All accumulators, through both ports."""
        data = await self.systems["acc"].read(0, 4 * self.config.cols * WORDS)
        got = np.frombuffer(data, dtype="<i4").reshape(WORDS, -1)
        np.testing.assert_array_equal(got, self.acc)
        for word in self.random.sample(range(WORDS), 6):
            np.testing.assert_array_equal(await self.vector_read(word), self.acc[word])

    def random_command(self):
        """A product with random loops that stays inside the memories."""
        choose = self.random.randrange
        counts = [choose(1, 5) for _ in range(3)]
        fields = {f"count{loop}": count for loop, count in enumerate(counts)}
        for name in ("act", "wgt", "acc"):
            strides = [choose(4) if choose(3) else 0 for _ in range(3)]
            reach = sum((count - 1) * stride for count, stride in zip(counts, strides, strict=True))
            if reach >= WORDS:
                strides, reach = [0, 0, 0], 0
            fields[f"{name}_base"] = choose(WORDS - reach)
            fields |= {f"{name}{loop}_stride": stride for loop, stride in enumerate(strides)}
        return Product(**fields, left_unsigned=choose(2), accumulate=choose(2))


def tiled(m, k, n, *, inner="k", **fields):
    """``m`` activation rows, ``k`` contraction tiles, ``n`` output tiles, packed from word 0 on.

    ``act[i * k + j]``, ``wgt[l * k + j]``, ``acc[l * m + i]``; the loop ``inner`` is innermost,
    the output tiles are outermost.
    """
    strides = {"k": (k, 1, 1, 0), "m": (m, k, 0, 1)}
    order = "km" if inner == "k" else "mk"
    for loop, name in enumerate(order):
        count, act, wgt, acc = strides[name]
        fields |= {f"count{loop}": count, f"act{loop}_stride": act, f"wgt{loop}_stride": wgt,
                   f"acc{loop}_stride": acc}
    return Product(**fields, count2=n, wgt2_stride=k, acc2_stride=m)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_loop_order(dut):
    """Whole products with the contraction or the rows innermost equal one matrix product."""
    bench = Bench(dut)
    await bench.start()
    m, k, n = 5, 3, 4
    left = bench.act[:m * k].reshape(m, -1)
    right = bench.wgt[:n * k].reshape(n, -1, bench.config.cols)
    for unsigned in (0, 1):
        for inner in ("k", "m"):
            await bench.run([tiled(m, k, n, inner=inner, left_unsigned=unsigned)])
            kind = np.uint8 if unsigned else np.int8
            whole = left.view(kind).astype(np.int64) @ right.astype(np.int64)
            np.testing.assert_array_equal(bench.acc[:m * n].reshape(n, m, -1), whole)
            await bench.check()


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(stall=[0.0, 0.8])
async def random_commands(dut, stall):
    """Random loops over all words: every distance between beats on the same accumulators."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(3):
        await bench.run([bench.random_command() for _ in range(20)], stall=stall)
        await bench.check()


@cocotb.test(timeout_time=500, timeout_unit="us")
async def random_halts(dut):
    """A halt at any time delays beats and loses none."""
    bench = Bench(dut)
    await bench.start()

    async def halts():
        while True:
            dut.engine__halt.value = int(bench.random.random() < 0.4)
            await bench.edge

    task = cocotb.start_soon(halts())
    await bench.run([bench.random_command() for _ in range(25)])
    task.cancel()
    dut.engine__halt.value = 0
    await bench.check()


@cocotb.test(timeout_time=500, timeout_unit="us")
async def system_port_beside_products(dut):
    """Host reads of operands disturb no product, nor do products disturb them."""
    bench = Bench(dut)
    await bench.start()
    done = False
    answers = {"act": 0, "wgt": 0}

    async def traffic(name, words):
        system, size = bench.systems[name], words[0].nbytes
        while not done:
            address = bench.random.randrange(WORDS * size // system.bus_bytes) * system.bus_bytes
            got = await system.read(address, system.bus_bytes, stall=0.5)
            assert got == words.tobytes()[address:address + system.bus_bytes]
            answers[name] += 1

    tasks = [cocotb.start_soon(traffic("act", bench.act)),
             cocotb.start_soon(traffic("wgt", bench.wgt))]
    await bench.run([bench.random_command() for _ in range(25)], stall=0.9)
    done = True
    for task in tasks:
        await task
    assert min(answers.values()) > 10
    await bench.check()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def one_row_at_full_rate(dut):
    """A product of one row and one with many take a cycle a beat, back to back as well."""
    bench = Bench(dut)
    await bench.start()
    commands = [tiled(1, 4, 8), tiled(1, 1, 1), tiled(1, 1, 1, accumulate=1), tiled(4, 4, 2),
                tiled(1, 16, 2), tiled(1, 16, 1, accumulate=1)]
    first = len(bench.taken)
    await bench.run(commands)
    taken, retired = bench.taken[first:], bench.retired[first:]
    lengths = [command.count0 * command.count1 * command.count2 for command in commands]
    ends = taken[0] + np.cumsum(lengths)
    assert taken[1:] == ends[:-1].tolist(), "a command was taken late"
    assert retired == (ends + bench.latency).tolist(), "a beat was issued late"
    await bench.check()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def result_is_readable_after_retire(dut):
    """The vector unit may read in the cycle after the pulse of retire."""
    bench = Bench(dut)
    await bench.start()
    for word in (0, WORDS - 1):
        command = Product(count0=1, count1=1, count2=1, acc_base=word, act_base=word, wgt_base=word)
        await bench.send(command)
        execute(command, bench.act, bench.wgt, bench.acc)
        while not dut.engine__retire.value:
            await bench.edge
        np.testing.assert_array_equal(await bench.vector_read(word), bench.acc[word])


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(where=["act", "wgt", "acc"], far=[False, True])
async def address_past_the_end(dut, where, far):
    """Beats before the fault write, the one at fault and all after it do not; reset mends it."""
    bench = Bench(dut)
    await bench.start()
    stride = 65535 if far else 1
    good = Product(count0=3, count1=1, count2=1, acc0_stride=1, act_base=5, wgt_base=6)
    bad = Product(count0=4, count1=2, count2=1, accumulate=1,
                  **{f"{where}_base": WORDS - (1 if far else 2), f"{where}0_stride": stride})
    await bench.run([good])
    retired = len(bench.retired)
    await bench.send(bad)
    await bench.send(good, valid_for=60)
    assert bench.errors == [Cause.ADDRESS]
    assert len(bench.retired) == retired, "a command at fault, or one after it, retired"
    inside = list(beats(bad))[:1 if far else 2]
    for beat in inside:
        bench.acc[beat.acc] += bench.act[beat.act].astype(np.int64) @ bench.wgt[beat.wgt].astype(
            np.int64)
    await bench.check()
    await reset_again(bench)
    await bench.run([good])
    await bench.check()


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(field=["count0", "count1", "count2"])
async def zero_loop(dut, field):
    """A zero count stops the engine before any beat."""
    bench = Bench(dut)
    await bench.start()
    retired = len(bench.retired)
    counts = {"count0": 2, "count1": 2, "count2": 2, field: 0}
    await bench.send(Product(**counts, acc0_stride=1))
    await bench.send(Product(count0=1, count1=1, count2=1), valid_for=60)
    assert bench.errors == [Cause.ZERO_LOOP]
    assert len(bench.retired) == retired
    await bench.check()
    await reset_again(bench)
    await bench.run([tiled(2, 2, 2)])
    await bench.check()


async def reset_again(bench):
    bench.dut.rst.value = 1
    await bench.edge
    bench.dut.rst.value = 0


@pytest.mark.parametrize(("rows", "cols", "hop", "port_cycles"), [
    (4, 4, 0, 0), (8, 4, 1, 0), (4, 8, 2, 1), (16, 16, 0, 0)])
def test_matrix(rows, cols, hop, port_cycles):
    sizes = {"rows": rows, "cols": cols, "hop": hop, "port_cycles": port_cycles}
    side = MatrixSide(config=make_config(**sizes))
    groups = cols // hop if hop else 1
    assert side.matrix.latency == rows + groups + 4 + port_cycles
    simulate(side, f"matrix_{rows}x{cols}_hop{hop}", __name__, parameters=sizes)


def test_rejects_what_is_no_config():
    with pytest.raises(TypeError, match=r"^config must be a Config, not 'tiny'$"):
        MatrixEngine(config="tiny")
