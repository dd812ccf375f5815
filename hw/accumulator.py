"""Accumulator memory: adds the sums of the array to 32-bit accumulators, every cycle."""
from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.config import Config
from systolith.hw.interfaces import AccumulatorReadPort, SystemPort
from systolith.hw.memory import READ_LATENCY, Memory
from systolith.hw.system_answer import SystemAnswer
from systolith.hw.vector.delay import delayed, register


def sums_delay(config):
    """Cycles from a beat's address to its sums."""
    return config.accumulate_latency - 1


class AccumulatorUpdate(wiring.Signature):
    """Beats for the accumulators, seen from the array.

    In a cycle with ``valid``, ``acc[address]`` is set (``first``) or increased; ``sums`` come
    :func:`sums_delay` cycles later.
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
    on the other. A half is also free while the array sets accumulators or adds to those of the
    last ``accumulate_latency - 1`` beats, as then it reads nothing.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    array : In(AccumulatorUpdate)
        Beats of the array; written ``accumulate_latency`` cycles after ``valid``.
    read : In(AccumulatorReadPort)
        Vector unit; waits while the array reads the same half. Latency ``source_latency``.
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
        halves, words = [], []
        for half in range(2):
            memory = Memory(width=32 * self._config.cols, depth=self._config.acc_half,
                            granularity=32 * self._config.cols)
            m.submodules[f"half_{half}"] = memory
            halves.append(memory)
            words.append(delayed(m, memory.read.data, self._config.read_cycles - READ_LATENCY,
                                 f"late_{half}"))
        stages, sources = self._beats(m)
        self._add(m, halves, words, stages, sources)
        self._read(m, halves, words, stages[0], sources[0])
        return m

    def _beats(self, m):
        """The last beats and where each finds its accumulators.

        Source bit 0: memory; bit d: the result of the beat d cycles earlier, whose write is still
        ahead. No bit: the beat is a first one.
        """
        latency = self._config.accumulate_latency
        address_bits = len(self.array.address)
        valids, addresses, sources = [], [], []
        for stage in range(latency):
            valids.append(Signal(name=f"valid_{stage}"))
            addresses.append(Signal(address_bits, name=f"address_{stage}", reset_less=True))
            sources.append(Signal(latency, name=f"source_{stage}", reset_less=True))
        same = Signal(latency - 1)
        m.d.comb += same.eq(Cat(valids[stage] & (addresses[stage] == self.array.address)
                                for stage in range(latency - 1)))
        later = [self.array.valid, *valids[:-1]]
        m.d.sync += [valid.eq(former) for valid, former in zip(valids, later, strict=True)]
        later = [self.array.address, *addresses[:-1]]
        m.d.sync += [address.eq(former) for address, former in zip(addresses, later, strict=True)]
        m.d.sync += [source.eq(former)
                     for source, former in zip(sources[1:], sources[:-1], strict=True)]
        # Of several beats the latest counts.
        latest = Cat(bit & ~same[:place].any() for place, bit in enumerate(same))
        m.d.sync += sources[0].eq(Mux(self.array.first, 0, Cat(same == 0, latest)))
        return list(zip(valids, addresses, strict=True)), sources

    def _add(self, m, halves, words, stages, sources):
        """Choose, add, write: one cycle each, so that no path has both a memory and an adder."""
        chosen = self._config.read_cycles
        source, (_, read_address) = sources[chosen], stages[chosen]
        valid, address = stages[-1]
        results = []
        for column in range(self._config.cols):
            base = Signal(32, name=f"base_{column}", reset_less=True)
            result = Signal(32, name=f"result_{column}", reset_less=True)
            read = Mux(read_address[-1], *(words[half].word_select(column, 32)
                                           for half in (1, 0)))
            # The beat before this one is not added yet, the one before that just has been.
            former = [result]
            for distance in range(3, len(source)):
                former.append(register(m, former[-1], f"written_{column}_{distance}"))
            # One source at most: a choice that needs no order.
            found = [read & source[0].replicate(32)] + [
                value & source[distance].replicate(32)
                for distance, value in enumerate(former, start=2)]
            m.d.sync += base.eq(reduce(or_, found))
            before = Mux(sources[chosen + 1][1], result, base)
            m.d.sync += result.eq((before.as_signed() + self.array.sums[column])[:32])
            results.append(result)
        for index, half in enumerate(halves):
            m.d.comb += [half.write.mask.eq(valid & (address[-1] if index else ~address[-1])),
                         half.write.address.eq(address[:-1]),
                         half.write.data.eq(Cat(results))]

    def _read(self, m, halves, words, stage, source):
        """A half's read port goes to the array, else the vector unit, else the system port."""
        config, read, system = self._config, self.read, self.system
        bus, word_lsb = exact_log2(config.bus_bytes), exact_log2(4 * config.cols)
        top = word_lsb + exact_log2(config.acc_depth) - 1
        m.submodules.answer = answer = SystemAnswer(
            word_bytes=8 * config.cols, bus_bytes=config.bus_bytes,
            word_latency=config.read_cycles, latency=config.system_read_latency)
        array_reads, vector_reads, system_reads = Signal(2), Signal(2), Signal(2)
        valid, address = stage
        half_of_system = system.read.address[top]
        half_of_read = delayed(m, read.address[-1], config.read_cycles, "half_of_read")
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
            # As late as what the vector unit reads of the other memories.
            read.data.eq(delayed(m, Mux(half_of_read, words[1], words[0]), config.port_cycles,
                                 "vector_data")),
            system.read.ready.eq(free), system.write.ready.eq(1),
            answer.accept.eq(system.read.valid & free),
            answer.lane.eq(Cat(system.read.address[bus:word_lsb], half_of_system)),
            answer.word.eq(Cat(words)),
            system.read.data.eq(answer.read_data),
        ]
