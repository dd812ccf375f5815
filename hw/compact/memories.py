"""All memories of the compact core, the array that reads them, and the engine's way to them."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.compact.array import ACCUMULATOR_CYCLE, CompactArray
from systolith.hw.compact.layout import ADDRESS_BITS, Space
from systolith.hw.compact.product_loops import CompactLoops
from systolith.hw.compact.shared_ram import SharedRam
from systolith.hw.memory import Memory


class EngineAccess(wiring.Signature):
    """The engine's access to the memories, seen from the engine.

    ``address`` in bytes, see :class:`Space`; ``data`` is a word whose bytes with ``mask`` are
    written. Taken with ``ready``; ``read_data`` has the word in the next cycle.
    """

    def __init__(self):
        super().__init__({"valid": Out(1), "ready": In(1), "write": Out(1),
                          "address": Out(ADDRESS_BITS), "data": Out(32), "mask": Out(4),
                          "read_data": In(32)})


class Memories(wiring.Component):
    """Memories and array. While the engine waits for a memory, no beat is issued, and it gets the
    memory when those under way are done.

    Parameters
    ----------
    config : Config
        Sizes.
    vendor : bool
        Take the parts of the iCE40 UP5K; else their functions, for simulation.

    Members
    -------
    access : In(EngineAccess)
        The engine.
    setup : In(1), place : In(4), data : In(32)
        Products, see :class:`CompactLoops`.
    busy : Out(1)
        A product runs.
    """

    def __init__(self, *, config, vendor=False):
        self._config, self._vendor = config, vendor
        super().__init__({"access": In(EngineAccess()), "setup": In(1), "place": In(4),
                          "data": In(32), "busy": Out(1)})

    def elaborate(self, platform):
        m = Module()
        config, access = self._config, self.access
        m.submodules.loops = loops = CompactLoops(config=config)
        m.submodules.array = array = CompactArray(config=config, vendor=self._vendor)
        m.submodules.shared = shared = SharedRam(vendor=self._vendor)
        halves = [Memory(width=32, depth=config.act_depth) for _ in range(2)]
        m.submodules.act_0, m.submodules.act_1 = halves
        m.submodules.acc = sums = Memory(width=64, depth=config.acc_depth, granularity=64)
        stages = self._stages(m, loops)
        under_way = Cat(stage["valid"] for stage in stages[1:]).any()
        m.d.comb += [
            loops.write.eq(self.setup), loops.place.eq(self.place), loops.data.eq(self.data),
            loops.hold.eq(access.valid), access.ready.eq(~under_way),
            self.busy.eq(loops.running | under_way), array.unsigned.eq(loops.unsigned),
            array.load.eq(Cat(stages[1]["load"], stages[2]["load"])),
            array.activations.eq(Cat(half.read.data for half in halves)),
            array.weights.eq(shared.read_data),
        ]
        granted = access.valid & access.ready
        space = [granted & (access.address[-2:] == kind) for kind in Space]
        self._weights(m, shared, stages, granted, space[Space.SHARED])
        self._activations(m, halves, stages, granted, space[Space.ACT])
        self._accumulators(m, array, sums, stages, granted)
        self._answer(m, shared, halves, sums)
        return m

    def _stages(self, m, loops):
        """What each cycle of a beat needs to know of it."""
        beat = loops.beat
        current = {name: getattr(beat, name) for name in ("valid", "load", "first", "act", "wgt",
                                                          "acc")}
        current["load"] = beat.load & beat.valid
        lasting = {"valid": ACCUMULATOR_CYCLE + 1, "load": 2, "first": ACCUMULATOR_CYCLE + 1,
                   "act": 1, "wgt": 1, "acc": ACCUMULATOR_CYCLE + 1}
        stages = [current]
        for cycle in range(1, ACCUMULATOR_CYCLE + 2):
            stage = {}
            for name, last in lasting.items():
                if cycle <= last:
                    source = Value.cast(stages[-1][name])
                    stage[name] = Signal(len(source), name=f"{name}_{cycle}")
                    m.d.sync += stage[name].eq(source)
            stages.append(stage)
        return stages

    def _weights(self, m, shared, stages, granted, selected):
        access = self.access
        lower = stages[1]["load"]
        tile = Mux(lower, Cat(Const(1, 1), stages[1]["wgt"]), Cat(Const(0, 1), stages[0]["wgt"]))
        m.d.comb += [
            shared.address.eq(Mux(granted, access.address[3:], tile)),
            shared.write.eq(selected & access.write),
            shared.data.eq(access.data.replicate(2)),
            shared.mask.eq(Mux(access.address[2], access.mask << 4, access.mask)),
        ]

    def _activations(self, m, halves, stages, granted, selected):
        access = self.access
        word = access.address[3:3 + exact_log2(self._config.act_depth)]
        for index, half in enumerate(halves):
            mine = selected & access.write & (access.address[2] == index)
            m.d.comb += [
                half.read.valid.eq(1),
                half.read.address.eq(Mux(granted, word, stages[index]["act"])),
                half.write.address.eq(word), half.write.data.eq(access.data),
                half.write.mask.eq(access.mask & mine.replicate(4)),
            ]

    def _accumulators(self, m, array, sums, stages, granted):
        word = self.access.address[3:3 + exact_log2(self._config.acc_depth)]
        last = stages[ACCUMULATOR_CYCLE + 1]
        m.d.comb += [
            sums.read.valid.eq(1),
            sums.read.address.eq(Mux(granted, word, stages[ACCUMULATOR_CYCLE]["acc"])),
            sums.write.address.eq(last["acc"]), sums.write.mask.eq(last["valid"]),
        ]
        for column in range(self._config.cols):
            old = sums.read.data.word_select(column, 32) & ~last["first"].replicate(32)
            m.d.comb += sums.write.data.word_select(column, 32).eq(
                old.as_signed() + getattr(array, f"sums_{column}"))

    def _answer(self, m, shared, halves, sums):
        """The word of the memory that was read in the cycle before."""
        access = self.access
        both = {Space.SHARED: shared.read_data,
                Space.ACT: Cat(half.read.data for half in halves), Space.ACC: sums.read.data}
        result = Const(0, 32)
        for space, data in both.items():
            for upper in range(2):
                chosen = Signal(name=f"from_{space.name.lower()}_{upper}")
                m.d.sync += chosen.eq((access.address[-2:] == space)
                                      & (access.address[2] == upper))
                result |= data.word_select(upper, 32) & chosen.replicate(32)
        m.d.comb += access.read_data.eq(result)
