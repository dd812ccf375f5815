"""The vector unit with models of the memories around it, beside the functional model."""
import random
from collections import deque

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from systolith.hw.config import Config, Region
from systolith.hw.isa import Command
from systolith.hw.vector.work import COMMAND_LAYOUT
from systolith.sw.reference import numerics
from systolith.sw.reference.addressing import accesses
from systolith.sw.runtime.execute import Memories, execute
from tests.bench import Stream, pack, reset
from tests.hw.vector.lanes import numbers, pack_lanes, unpack_lanes

SYSTEM = {Region.VEC: "vec_system", Region.CONST: "const_system", Region.ROW: "row_system"}


def payload(command: Command) -> dict:
    """The engine port's payload of a command."""
    fields = {name: int(getattr(command, name)) for name, *_ in command.layout()
              if name not in ("opcode", "fence", "wait", "signal")}
    return {"opcode": int(command.OPCODE), type(command).__name__.lower(): fields}


class Harness:
    """Runs commands on the hardware and the model at once.

    Attributes
    ----------
    model : Memories
        What the memories must hold.
    act, wgt : arrays
        What the hardware wrote.
    """

    def __init__(self, dut, config: Config, rng: np.random.Generator, *, acc_stall: float = 0.0):
        self.dut, self.config, self.rng, self.acc_stall = dut, config, rng, acc_stall
        self.model = Memories.empty(config)
        self.engine = Stream(dut, "engine__command", shape=COMMAND_LAYOUT)
        self.retired = self.started = 0
        self.cycle = 0
        self.retire_cycles: list[int] = []
        self._written: deque = deque()
        self._edge = RisingEdge(dut.clk)
        self._random = random.Random(int(rng.integers(1 << 30)))

    async def start(self) -> None:
        """Reset, fill all memories with random contents on both sides."""
        dut = self.dut
        for port in SYSTEM.values():
            for name in ("valid", "write", "address", "mask", "data"):
                dut[f"{port}__{name}"].value = 0
        dut.engine__halt.value = dut.acc__ready.value = 0
        dut.acc__data.value = 0
        self._fill()
        self.act, self.wgt = self.model.act.copy(), self.model.wgt.copy()
        await reset(dut, sources=[self.engine])
        cocotb.start_soon(self._watch())
        for region in SYSTEM:
            await self.write(region, self.model.raw(region).tobytes())

    def _fill(self) -> None:
        model, rng = self.model, self.rng
        model.acc[:] = numbers(rng, 32, model.acc.shape)
        model.vec[:] = numbers(rng, 16, model.vec.shape)
        tables = numerics.exp2_table().reshape(-1, self.config.lanes)
        model.vec[:len(tables)] = tables
        words = numerics.scale_word(rng.integers(1 << 16, size=1 << 12),
                                    rng.choice([0, 12, 15, 16, 20, 24, 32, 40, 63], 1 << 12))
        columns, rows = model.const.shape[:2], model.row.shape
        model.const[:, :, 0] = numbers(rng, 32, columns) & 0xFFFFFFFF
        # The upper bits of a scale's word mean nothing.
        ignored = rng.integers(1 << 10, size=columns) << 22
        model.const[:, :, 1] = rng.choice(words, columns) | ignored
        model.row[:] = np.where(rng.random(rows) < 0.5, rng.choice(words, rows),
                                numbers(rng, 32, rows) & 0xFFFFFFFF)
        model.act[:] = rng.integers(256, size=model.act.shape)
        model.wgt[:] = rng.integers(256, size=model.wgt.shape)

    async def execute(self, command: Command) -> None:
        """Start a command (after what it depends on has retired) and compute what it must do."""
        await self._fence(command)
        await self.issue(command)
        execute(command, self.model)

    async def issue(self, command: Command) -> None:
        """Hand a command to the hardware only; it is shown a cycle before it is offered."""
        self.engine.payload.value = self.engine_bits(command)
        await self._edge
        await self.engine.send([payload(command)])
        self.started += 1

    def engine_bits(self, command: Command) -> int:
        """The bits of a command on the engine port."""
        return pack(COMMAND_LAYOUT, payload(command))

    async def _fence(self, command: Command) -> None:
        used = accesses(command, self.config)
        while self._written and self._written[0][0] <= self.retired:
            self._written.popleft()
        for number, memory, words in list(self._written):
            if any(not access.write and access.memory == memory
                   and np.intersect1d(access.words, words).size for access in used):
                await self.drain(number)
        self._written.extend((self.started + 1, access.memory, access.words) for access in used
                             if access.write and access.memory in (Region.VEC, Region.ROW))

    async def drain(self, commands: int | None = None, limit: int = 5000) -> None:
        """Wait until so many commands (all) have retired."""
        target = self.started if commands is None else commands
        for _ in range(limit):
            if self.retired >= target:
                return
            await self._edge
        raise AssertionError(f"{self.retired} of {target} commands retired in {limit} cycles")

    async def _watch(self) -> None:
        """Play the memories outside the unit, and note what it writes."""
        dut, config = self.dut, self.config
        coming = deque([0] * (config.source_latency - 1))
        while True:
            await self._edge
            self.cycle += 1
            accepted = int(dut.acc__valid.value) and int(dut.acc__ready.value)
            # Where nothing was read there is rubbish, and none of it may matter.
            values = (self.model.acc[int(dut.acc__address.value)] if accepted
                      else self.rng.integers(-(1 << 31), 1 << 31, config.cols))
            coming.append(pack_lanes(values, 32))
            dut.acc__data.value = coming.popleft()
            dut.acc__ready.value = int(self._random.random() >= self.acc_stall)
            if int(dut.act__valid.value):
                self._write_act()
            if int(dut.wgt__valid.value):
                self._write_wgt()
            if int(dut.engine__retire.value):
                self.retired += 1
                self.retire_cycles.append(self.cycle)

    def _bits(self, name: str, count: int) -> np.ndarray:
        return unpack_lanes(int(self.dut[name].value), 1, count, signed=False).astype(bool)

    def _write_act(self) -> None:
        data = unpack_lanes(int(self.dut.act__data.value), 8, self.config.lanes, signed=False)
        mask = self._bits("act__mask", self.config.rows)
        word = np.tile(data, self.config.rows // self.config.lanes)
        self.act[int(self.dut.act__address.value), mask] = word[mask]

    def _write_wgt(self) -> None:
        config, dut = self.config, self.dut
        data = unpack_lanes(int(dut.wgt__data.value), 8, config.lanes, signed=False)
        bank, lane = np.indices((config.rows, config.cols))
        word = data[(bank if int(dut.wgt__transposed.value) else lane) % config.lanes]
        mask = np.outer(self._bits("wgt__bank_mask", config.rows),
                        self._bits("wgt__lane_mask", config.cols))
        self.wgt[int(dut.wgt__address.value)][mask] = word[mask]

    async def write(self, region: Region, data: bytes, offset: int = 0) -> None:
        """Write bytes through a system port."""
        port, step = SYSTEM[region], self.config.bus_bytes
        for place in range(0, len(data), step):
            chunk = int.from_bytes(data[place:place + step], "little")
            await self._request(f"{port}__write", offset + place, mask=(1 << step) - 1, data=chunk)
        self.dut[f"{port}__write__valid"].value = 0

    async def read(self, region: Region, offset: int = 0, size: int | None = None) -> bytes:
        """Read bytes through a system port, a beat a cycle where it is ready."""
        port, step = SYSTEM[region], self.config.bus_bytes
        size = self.config.region_bytes(region) if size is None else size
        answers: list = []
        collector = cocotb.start_soon(self._collect(port, answers, size // step))
        for place in range(0, size, step):
            await self._request(f"{port}__read", offset + place)
        self.dut[f"{port}__read__valid"].value = 0
        await collector
        return b"".join(answer.to_bytes(step, "little") for answer in answers)

    async def _request(self, port: str, address: int, **values: int) -> None:
        for name, value in {"valid": 1, "address": address, **values}.items():
            self.dut[f"{port}__{name}"].value = value
        await self._edge
        while not int(self.dut[f"{port}__ready"].value):
            await self._edge

    async def _collect(self, port: str, answers: list, count: int) -> None:
        """Answers come exactly on time after acceptance; in all other cycles there is 0."""
        due = [False] * self.config.system_read_latency
        while len(answers) < count:
            await self._edge
            value = int(self.dut[f"{port}__read__data"].value)
            if due.pop(0):
                answers.append(value)
            else:
                assert value == 0, f"{port} shows {value:#x} without a request"
            due.append(all(int(self.dut[f"{port}__read__{name}"].value)
                           for name in ("valid", "ready")))

    async def compare(self) -> None:
        """Drain, then every memory must equal the model's."""
        await self.drain()
        await self._edge
        for region in SYSTEM:
            got = await self.read(region)
            want = self.model.raw(region).tobytes()
            assert got == want, self._difference(region, got, want)
        for name in ("act", "wgt"):
            got, want = getattr(self, name), getattr(self.model, name)
            assert np.array_equal(got, want), self._difference(name, got.tobytes(), want.tobytes())

    def _difference(self, name, got: bytes, want: bytes) -> str:
        wrong = [place for place, pair in enumerate(zip(got, want, strict=True))
                 if pair[0] != pair[1]]
        return f"{name}: {len(wrong)} bytes differ, the first at {wrong[:8]}"



