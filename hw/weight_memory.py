"""Weight memory: a bank along each row of the array, read as a wave that moves down the rows."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from systolith.hw.config import Config
from systolith.hw.interfaces import SystemPort, WeightWritePort
from systolith.hw.memory import Memory, operand_latency
from systolith.hw.one_hot import one_hot, placed
from systolith.hw.system_answer import SystemAnswer


class WeightRead(wiring.Signature):
    """Reads a tile of weights as a wave, seen from the array.

    Where ``load``, bank ``r`` reads ``address`` ``r`` cycles later, and ``data[r]`` has its
    ``cols`` bytes :func:`operand_latency` cycles after that, for this one cycle.
    """

    def __init__(self, config):
        row = data.ArrayLayout(8, config.cols)
        super().__init__({"load": Out(1), "address": Out(range(config.wgt_depth)),
                          "data": In(row).array(config.rows)})


class WeightMemory(wiring.Component):
    """``rows`` banks, words of ``cols`` bytes. A tile, ``rows x cols`` weights, is one address.

    Every cycle may start the read of another tile. The array reads and the vector unit writes
    without ever waiting; host, mover and mesh write when the vector unit does not, and read a bank
    when the wave does not. Lane ``c`` of bank ``r`` of word ``w`` has the system address
    ``(w * rows + r) * cols + c``.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    array : In(WeightRead)
        Reads of the array: latency :func:`operand_latency` in bank 0, ``r`` more in bank ``r``.
    write : In(WeightWritePort)
        Writes of the vector unit, readable from the next cycle on.
    system : In(SystemPort)
        Host, mover and mesh.
    """

    def __init__(self, *, config):
        if not isinstance(config, Config):
            raise TypeError(f"config must be a Config, not {config!r}")
        self._config = config
        super().__init__({
            "array": In(WeightRead(config)),
            "write": In(WeightWritePort(config)),
            "system": In(SystemPort(bus_bytes=config.bus_bytes)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        bus, tile = exact_log2(config.bus_bytes), exact_log2(config.rows * config.cols)
        read, write = self.system.read.address, self.system.write.address
        lane = one_hot(m, write[bus:exact_log2(config.cols)], config.cols // config.bus_bytes,
                       name="lane")
        (read_bank, read_word), (write_bank, write_word) = (
            (one_hot(m, address[exact_log2(config.cols):tile], config.rows, name=name),
             address[tile:tile + exact_log2(config.wgt_depth)])
            for address, name in ((read, "read_bank"), (write, "write_bank")))
        m.submodules.answer = answer = SystemAnswer(word_bytes=config.rows * config.cols,
                                                    bus_bytes=config.bus_bytes,
                                                    word_latency=operand_latency(config),
                                                    latency=config.system_read_latency)
        banks = []
        for row in range(config.rows):
            memory = Memory(width=8 * config.cols, depth=config.wgt_depth,
                            port_cycles=config.port_cycles)
            m.submodules[f"bank_{row}"] = memory
            banks.append(memory)
            late = Signal(8 * config.cols, name=f"late_{row}", reset_less=True)
            m.d.sync += late.eq(memory.read.data)
            m.d.comb += self.array.data[row].eq(late)
        loads, addresses = self._wave(m)
        self._read(m, banks, read_bank, read_word, loads, addresses, answer)
        m.d.comb += [answer.lane.eq(read[bus:tile]),
                     answer.word.eq(Cat(row.as_value() for row in self.array.data)),
                     self.system.read.data.eq(answer.read_data)]
        for row, memory in enumerate(banks):
            self._write(m, memory, row, write_bank[row], write_word, lane)
        return m

    def _wave(self, m):
        """Load bit and address at every bank, each one cycle after the bank above."""
        loads, addresses = [self.array.load], [self.array.address]
        for row in range(1, self._config.rows):
            load = Signal(name=f"load_{row}")
            address = Signal.like(self.array.address, name=f"address_{row}", reset_less=True)
            m.d.sync += [load.eq(loads[-1]), address.eq(addresses[-1])]
            loads.append(load)
            addresses.append(address)
        return loads, addresses

    def _read(self, m, banks, bank, word, loads, addresses, answer):
        """The wave has each bank first, the system port after it."""
        read = self.system.read
        free = Signal()
        m.d.comb += [
            free.eq(~(bank & Cat(loads)).any()),
            answer.accept.eq(read.valid & free),
            read.ready.eq(free), self.system.write.ready.eq(~self.write.valid),
        ]
        for row, memory in enumerate(banks):
            m.d.comb += [
                # Whether the port's read is accepted need not be known: if not, the wave reads.
                memory.read.valid.eq(loads[row] | (read.valid & bank[row])),
                memory.read.address.eq(Mux(loads[row], addresses[row], word)),
            ]

    def _write(self, m, memory, row, selected, word, lane):
        """The vector unit writes a bank first, the system port after it."""
        config, write, system = self._config, self.write, self.system.write
        with m.If(write.valid):
            m.d.comb += [
                memory.write.mask.eq(Mux(write.bank_mask[row], write.lane_mask, 0)),
                memory.write.address.eq(write.address),
                memory.write.data.eq(Mux(
                    write.transposed, write.data[row % config.lanes].replicate(config.cols),
                    write.data.as_value().replicate(config.cols // config.lanes))),
            ]
        with m.Else():
            mask = Mux(system.valid & selected, system.mask, 0)
            m.d.comb += [
                memory.write.mask.eq(placed(mask, lane)),
                memory.write.address.eq(word),
                memory.write.data.eq(system.data.replicate(len(lane))),
            ]
