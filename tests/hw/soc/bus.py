"""A Wishbone master and a memory in cocotb, and the rules that both sides keep."""
import random

from cocotb.triggers import RisingEdge


class Refused(Exception):
    """An access ended with ``err``."""


class _Side:
    """The signals of a bus, whose names start with ``prefix`` and two underscores, or one."""

    def __init__(self, dut, prefix, *, stall, seed, separator="__"):
        self._dut, self._prefix, self._stall = dut, prefix + separator, stall
        self._random = random.Random(f"{prefix} {stall} {seed}")
        self._edge = RisingEdge(dut.clk)

    def _get(self, name):
        return int(self._dut[self._prefix + name].value)

    def _set(self, **values):
        for name, value in values.items():
            self._dut[self._prefix + name].value = value

    def _holds_back(self):
        return self._random.random() < self._stall


class Master(_Side):
    """A master of 32 bits that checks the slave: ends only while it asks, and one at a time.

    Parameters
    ----------
    stall : float
        Probability of a cycle without an access before each.
    pipelined : bool
        Withdraw ``stb``, but not ``cyc``, when ``stall`` is 0.
    classic : bool
        The slave has no ``stall``.

    Attributes
    ----------
    cycles : int
        Of the last access, the first and the last included.
    """

    def __init__(self, dut, prefix, *, stall=0.0, pipelined=False, classic=False, seed=0,
                 separator="__"):
        super().__init__(dut, prefix, stall=stall, seed=seed, separator=separator)
        self._pipelined, self._classic = pipelined, classic
        self.cycles = 0
        self._set(cyc=0, stb=0, we=0, adr=0, sel=0, dat_w=0)

    async def idle(self, cycles=1):
        """Ask for nothing."""
        self._set(cyc=0, stb=0)
        for _ in range(cycles):
            await self._edge
            assert not self._get("ack")
            assert not self._get("err")

    async def begin(self, address, data=None, sel=15):
        """Put an access onto the bus, after idle cycles at random."""
        while self._holds_back():
            await self.idle()
        self._set(cyc=1, stb=1, adr=address // 4, we=int(data is not None), sel=sel,
                  dat_w=self._random.getrandbits(32) if data is None else data)

    async def access(self, address, data=None, *, sel=15, limit=1000):
        """Read, or write ``data``; returns what was read."""
        await self.begin(address, data, sel)
        return await self.end(limit=limit)

    async def end(self, *, limit=1000):
        """Wait for the end of what has begun; returns what was read."""
        for self.cycles in range(1, limit):
            await self._edge
            ack, err = self._get("ack"), self._get("err")
            assert self._classic or self._get("stall") == (not (ack or err))
            if ack or err:
                assert not (ack and err)
                word = self._get("dat_r")
                self._set(stb=0, cyc=int(self._pipelined))
                if err:
                    raise Refused
                return word
        raise AssertionError(f"no answer in {limit} cycles")

    async def store(self, address, data):
        """Write bytes, whole words, from an address on."""
        for place in range(0, len(data), 4):
            await self.access(address + place, int.from_bytes(data[place:place + 4], "little"))

    async def load(self, address, size):
        """Read bytes, whole words."""
        words = [await self.access(address + place) for place in range(0, size, 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)


class Memory(_Side):
    """A memory that checks its master: an access stays as it is until its end.

    Parameters
    ----------
    content : bytearray
        From the address ``base`` on.
    width : int
        Bytes of a word.
    stall : float
        Probability of not answering, each cycle.

    Attributes
    ----------
    refuses : bool
        Answer with ``err``.
    accesses : int
        That have ended.
    """

    def __init__(self, dut, prefix, content, *, width, base=0, stall=0.0, seed=0):
        super().__init__(dut, prefix, stall=stall, seed=seed)
        self.content, self._width, self._base = content, width, base
        self.refuses, self.accesses = False, 0
        self._set(ack=0, err=0, dat_r=0)

    async def run(self):
        """Serve for ever. Answers in the cycle after the first, or later."""
        waiting = None
        while True:
            await self._edge
            ended, offered = self._get("ack") or self._get("err"), self._offered()
            assert waiting is None or offered == waiting, f"{waiting} became {offered}"
            self._set(ack=0, err=0, dat_r=self._random.getrandbits(8 * self._width))
            waiting = None if ended else offered
            if waiting and not self._holds_back():
                self._serve(*waiting)

    def _offered(self):
        if not (self._get("cyc") and self._get("stb")):
            return None
        write = self._get("we")
        return write, self._get("adr"), self._get("sel"), self._get("dat_w") if write else None

    def _serve(self, write, word, sel, data):
        assert sel == (1 << self._width) - 1
        place = word * self._width - self._base
        assert 0 <= place < len(self.content), f"{word * self._width:#x} is outside the memory"
        self.accesses += 1
        if self.refuses:
            self._set(err=1)
            return
        place = slice(place, place + self._width)
        if write:
            self.content[place] = data.to_bytes(self._width, "little")
        else:
            self._set(dat_r=int.from_bytes(self.content[place], "little"))
        self._set(ack=1)
