"""The four single-port RAMs that hold all but activations and accumulators."""
from amaranth import *
from amaranth.hdl import MemoryData, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: RAMs side by side, 16 bits each, and their words.
BANKS = 4
DEPTH = 1 << 14


class SharedRam(wiring.Component):
    """Four RAMs with one address: a word of 64 bits is read or written a cycle.

    Parameters
    ----------
    vendor : bool
        Take ``SB_SPRAM256KA`` of the iCE40 UP5K; else its function, for simulation.

    Members
    -------
    address : In(14), write : In(1), mask : In(8), data : In(64)
        Bytes of ``data`` whose ``mask`` bit is set are written where ``write``.
    read_data : Out(64)
        The word of the cycle before, where ``write`` was 0; after a write undefined.
    """

    def __init__(self, *, vendor=False):
        self._vendor = vendor
        super().__init__({"address": In(range(DEPTH)), "write": In(1), "mask": In(2 * BANKS),
                          "data": In(16 * BANKS), "read_data": Out(16 * BANKS)})

    def elaborate(self, platform):
        m = Module()
        for bank in range(BANKS):
            mask, data, read = (self.mask.word_select(bank, 2), self.data.word_select(bank, 16),
                                self.read_data.word_select(bank, 16))
            if self._vendor:
                m.submodules[f"bank_{bank}"] = self._part(mask, data, read)
            else:
                m.submodules[f"bank_{bank}"] = self._model(mask, data, read)
        return m

    def _part(self, mask, data, read):
        return Instance("SB_SPRAM256KA", i_ADDRESS=self.address, i_DATAIN=data,
                        i_MASKWREN=Cat(mask[0].replicate(2), mask[1].replicate(2)),
                        i_WREN=self.write, i_CHIPSELECT=Const(1), i_CLOCK=ClockSignal(),
                        i_STANDBY=Const(0), i_SLEEP=Const(0), i_POWEROFF=Const(1),
                        o_DATAOUT=read)

    def _model(self, mask, data, read):
        instance = MemoryInstance(data=MemoryData(shape=16, depth=DEPTH, init=[]))
        instance.write_port(domain="sync", addr=self.address, data=data,
                            en=mask & self.write.replicate(2))
        instance.read_port(domain="sync", addr=self.address, data=read, en=~self.write,
                           transparent_for=())
        return instance
