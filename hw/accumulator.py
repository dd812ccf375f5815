"""Accumulator memory: adds the sums of the array to 32-bit accumulators, every cycle."""
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.config import ACCUMULATE_LATENCY, Config
from systolith.hw.interfaces import AccumulatorReadPort, SystemPort
from systolith.hw.memory import Memory
from systolith.hw.system_answer import SystemAnswer

#: Cycles from a beat's address to its sums.
SUMS_DELAY = 3


class AccumulatorUpdate(wiring.Signature):
    """Beats for the accumulators, seen from the array.

    In a cycle with ``valid``, ``acc[address]`` is set (``first``) or increased; ``sums`` come
    ``SUMS_DELAY`` cycles later.
    """

    def __init__(self, config):
        super().__init__({
            "valid": Out(1), "first": Out(1), "address": Out(range(config.acc_depth)),
            "sums": Out(signed(config.chain_width)).array(config.cols),
        })


class Accumulator(wiring.Component):
    """``acc[address] = (0 if first else acc[address]) + sums``, one word a cycle.

    A word has ``cols`` accumulators of 32 bits that wrap. Any sequence of addresses runs at full
    rate: a result which is not in the memory yet is taken from the pipeline. The memory has two
    halves, selected by the top bit of the address; the vector unit reads one while the array works
    on the other. A half is also free while the array sets accumulators or adds to those it wrote
    in the last three cycles, as then it reads nothing.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    array : In(AccumulatorUpdate)
        Beats of the array; written ``ACCUMULATE_LATENCY`` cycles after ``valid``.
    read : In(AccumulatorReadPort)
        Vector unit; waits while the array reads the same half.
    system : In(SystemPort)
        Host and mover, after the two others. A write is accepted and has no effect. Accumulator
        ``c`` of word ``w`` has the system address ``4 * (w * cols + c)``.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        super().__init__({
            "array": In(AccumulatorUpdate(config)),
            "read": In(AccumulatorReadPort(config)),
            "system": In(SystemPort(bus_bytes=config.bus_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        halves = []
        for half in range(2):
            memory = Memory(width=32 * self._config.cols, depth=self._config.acc_half,
                            granularity=32 * self._config.cols)
            m.submodules[f"half_{half}"] = memory
            halves.append(memory)
        stages, sources = self._beats(m)
        self._add(m, halves, stages, sources)
        self._read(m, halves, stages[0], sources[0])
        return m

    def _beats(self, m):
        """The last four beats and where each finds its accumulators.

        Source bit 0: memory; bits 1 to 3: the result of the beat 1, 2 or 3 cycles earlier, whose
        write is still ahead. No bit: the beat is a first one.
        """
        address_bits = len(self.array.address)
        valids, addresses, sources = [], [], []
        for stage in range(ACCUMULATE_LATENCY):
            valids.append(Signal(name=f"valid_{stage}"))
            addresses.append(Signal(address_bits, name=f"address_{stage}", reset_less=True))
            sources.append(Signal(4, name=f"source_{stage}", reset_less=True))
        same = Signal(3)
        m.d.comb += same.eq(Cat(valids[stage] & (addresses[stage] == self.array.address)
                                for stage in range(3)))
        later = [self.array.valid, *valids[:-1]]
        m.d.sync += [valid.eq(former) for valid, former in zip(valids, later, strict=True)]
        later = [self.array.address, *addresses[:-1]]
        m.d.sync += [address.eq(former) for address, former in zip(addresses, later, strict=True)]
        m.d.sync += [source.eq(former)
                     for source, former in zip(sources[1:], sources[:-1], strict=True)]
        with m.If(self.array.first):
            m.d.sync += sources[0].eq(0b0000)
        with m.Elif(same[0]):
            m.d.sync += sources[0].eq(0b0010)
        with m.Elif(same[1]):
            m.d.sync += sources[0].eq(0b0100)
        with m.Elif(same[2]):
            m.d.sync += sources[0].eq(0b1000)
        with m.Else():
            m.d.sync += sources[0].eq(0b0001)
        return list(zip(valids, addresses, strict=True)), sources

    def _add(self, m, halves, stages, sources):
        """Choose, add, write: one cycle each, so that no path has both a memory and an adder."""
        valid, address = stages[ACCUMULATE_LATENCY - 1]
        read_half = Signal(reset_less=True)
        m.d.sync += read_half.eq(stages[0][1][-1])
        results = []
        for column in range(self._config.cols):
            base = Signal(32, name=f"base_{column}", reset_less=True)
            result = Signal(32, name=f"result_{column}", reset_less=True)
            written = Signal(32, name=f"written_{column}", reset_less=True)
            words = [half.read.data.word_select(column, 32) for half in halves]
            with m.If(sources[1][0]):
                m.d.sync += base.eq(Mux(read_half, words[1], words[0]))
            with m.Elif(sources[1][2]):
                m.d.sync += base.eq(result)
            with m.Elif(sources[1][3]):
                m.d.sync += base.eq(written)
            with m.Else():
                m.d.sync += base.eq(0)
            before = Mux(sources[2][1], result, base)
            m.d.sync += [result.eq((before.as_signed() + self.array.sums[column])[:32]),
                         written.eq(result)]
            results.append(result)
        for index, half in enumerate(halves):
            m.d.comb += [half.write.mask.eq(valid & (address[-1] if index else ~address[-1])),
                         half.write.address.eq(address[:-1]),
                         half.write.data.eq(Cat(results))]

    def _read(self, m, halves, stage, source):
        """A half's read port goes to the array, else the vector unit, else the system port."""
        config, read, system = self._config, self.read, self.system
        bus, word_lsb = exact_log2(config.bus_bytes), exact_log2(4 * config.cols)
        top = word_lsb + exact_log2(config.acc_depth) - 1
        m.submodules.answer = answer = SystemAnswer(word_bytes=8 * config.cols,
                                                    bus_bytes=config.bus_bytes)
        array_reads, vector_reads, system_reads = Signal(2), Signal(2), Signal(2)
        valid, address = stage
        half_of_system = system.read.address[top]
        half_of_read = Signal(reset_less=True)
        m.d.sync += half_of_read.eq(read.address[-1])
        for index, half in enumerate(halves):
            def here(top_bit, index=index):
                return top_bit if index else ~top_bit
            m.d.comb += [
                array_reads[index].eq(valid & source[0] & here(address[-1])),
                vector_reads[index].eq(read.valid & here(read.address[-1])),
                system_reads[index].eq(system.read.valid & here(half_of_system)),
                half.read.valid.eq(
                    array_reads[index] | vector_reads[index] | system_reads[index]),
                half.read.address.eq(Mux(
                    array_reads[index], address[:-1],
                    Mux(vector_reads[index], read.address[:-1],
                        system.read.address[word_lsb:top]))),
            ]
        taken = array_reads | vector_reads
        free = ~Mux(half_of_system, taken[1], taken[0])
        m.d.comb += [
            read.ready.eq(~Mux(read.address[-1], array_reads[1], array_reads[0])),
            read.data.eq(Mux(half_of_read, halves[1].read.data, halves[0].read.data)),
            system.read.ready.eq(free), system.write.ready.eq(1),
            answer.accept.eq(system.read.valid & free),
            answer.lane.eq(Cat(system.read.address[bus:word_lsb], half_of_system)),
            answer.word.eq(Cat(half.read.data for half in halves)),
            system.read.data.eq(answer.read_data),
        ]
