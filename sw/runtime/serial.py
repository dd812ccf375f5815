"""The serial device: a board, or the virtual one, at the end of a serial port."""
import contextlib
from collections.abc import Mapping, Sequence

from systolith.hw.config import Config, Region
from systolith.hw.configs import CONFIGS
from systolith.hw.frames import DEFAULT_BAUD, MAX_WORDS, REQUEST_HEADER, Space
from systolith.hw.isa import (
    ENGINES,
    SPACE_BITS,
    VERSION,
    WORDS,
    CommandError,
    Control,
    Engine,
    Register,
    decode,
)
from systolith.sw.reference.addressing import CommandFault, check
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES, Counters, Memory, StuckError
from systolith.sw.runtime.link import WINDOW, DeadError, Link, LinkError, Wire
from systolith.sw.runtime.port import SerialWire
from systolith.sw.runtime.registers import RegisterDevice, status_mask, stopped
from systolith.sw.runtime.waiting import describe

#: Seconds that a computer, its USB and a simulated board may take beside the bits on the line.
PATIENCE = 0.5


class SerialDevice(RegisterDevice):
    """A board on a serial port. Use it in a ``with`` statement.

    Parameters
    ----------
    config : Config
        What the board must have been built with.
    wire : Wire
        Usually a :class:`SerialWire`.
    baud : int
        Of the wire; how long an answer may take follows from it.

    Attributes
    ----------
    link : Link
        The link, with its statistics.

    Raises
    ------
    LinkError
        When no device answers, or it has another configuration; and from all methods when the link
        breaks for longer than its retries last.
    """

    name = "serial"

    def __init__(self, config: Config, wire: Wire, *, baud: int = DEFAULT_BAUD):
        self.config = config
        self._wire = wire
        # Ten bits a byte, twice as many bytes where all are escaped.
        window = WINDOW * 20 * 4 * (REQUEST_HEADER + MAX_WORDS) / baud
        self.link = Link(wire, timeout=PATIENCE + window)
        self.reset()
        self._check_identity()

    def __enter__(self) -> "SerialDevice":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Give the port back."""
        if isinstance(self._wire, SerialWire):
            self._wire.close()

    def _check_identity(self) -> None:
        identity = self.read_register(Register.ID)
        if identity != self.config.identity:
            named = next((f"is {name!r}" for name, config in CONFIGS.items()
                          if config.identity == identity), "has no name here")
            raise LinkError(
                f"the board on {self._wire.name} has the configuration with ID {identity:#010x}, "
                f"which {named}, but {self.config.name!r} ({self.config.identity:#010x}) is asked "
                "for: choose it with --config, or build the board again")
        version = self.read_register(Register.VERSION)
        if version != VERSION:
            raise LinkError(f"the board on {self._wire.name} has ISA version {version}, this is "
                            f"version {VERSION}: build its bitstream again")

    def reset(self) -> None:
        self.link.reset()
        self._queues: dict[Engine, list[int]] = {engine: [] for engine in ENGINES}
        self._retired = dict.fromkeys(ENGINES, 0)

    # Registers -----------------------------------------------------------------------------

    def read_register(self, offset: int) -> int:
        return self.read_registers(offset, 1)[0]

    def read_registers(self, offset: int, count: int) -> list[int]:
        data = self.link.read(self.config.host_address(Region.REGISTERS, offset), 4 * count)
        return [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]

    def write_register(self, offset: int, value: int) -> None:
        self.link.write(self.config.host_address(Region.REGISTERS, offset),
                        int(value).to_bytes(4, "little"))

    # Memories ------------------------------------------------------------------------------

    def size(self, memory: Memory) -> int:
        size = super().size(memory)
        return size if isinstance(memory, Region) else min(size, self.link.facts.ext_bytes)

    def write(self, memory: Memory, offset: int, data: bytes) -> None:
        self._check_reach(memory, offset + len(data))
        self.check_range(memory, offset, len(data))
        if isinstance(memory, Region):
            self.link.write(self.config.host_address(memory, offset), data)
        elif data:
            start, end = self._beats(offset, len(data))
            before = self._external(start, offset - start)
            after = self._external(offset + len(data), end - offset - len(data))
            self.link.write(start, before + data + after, Space.EXTERNAL)

    def read(self, memory: Memory, offset: int, size: int) -> bytes:
        self._check_reach(memory, offset + size)
        self.check_range(memory, offset, size)
        if isinstance(memory, Region):
            return self.link.read(self.config.host_address(memory, offset), size)
        return self._external(offset, size)

    def _beats(self, offset: int, size: int) -> tuple[int, int]:
        """The whole beats that a range touches: external memory knows no parts of them."""
        beat = self.link.facts.bus_bytes
        return offset // beat * beat, -(-(offset + size) // beat) * beat

    def _external(self, offset: int, size: int) -> bytes:
        if size == 0:
            return b""
        start, end = self._beats(offset, size)
        return self.link.read(start, end - start, Space.EXTERNAL)[offset - start:][:size]

    def _check_reach(self, memory: Memory, end: int) -> None:
        """Say so when the configuration allows for more external memory than the board has."""
        if memory == "ext" and self.size(memory) < end <= super().size(memory):
            raise LinkError(f"byte {end - 1} of external memory is needed, but the board on "
                            f"{self._wire.name} has {self.size(memory)}: take a smaller model or "
                            "a board with more memory")

    # Commands ------------------------------------------------------------------------------

    def run_words(self, queues: Mapping[Engine, Sequence[int]]) -> None:
        self._check_moves(queues.get(Engine.MOVE, ()))
        for engine, words in queues.items():
            self._queues[engine].extend(words)

    def _check_moves(self, words: Sequence[int]) -> None:
        """The mover must not leave a memory that is smaller than the configuration says."""
        actual = self.size("ext")
        if actual == self.config.ext_bytes:
            return
        config = self.config.replace(ext_bytes=actual)
        for start in range(0, len(words), WORDS[Engine.MOVE]):
            with contextlib.suppress(CommandError):
                command = decode(Engine.MOVE, words[start:start + WORDS[Engine.MOVE]])
                try:
                    check(command, config)
                except CommandFault:
                    raise LinkError(
                        f"MOVE command {start // WORDS[Engine.MOVE]} leaves the {actual} bytes of "
                        f"external memory of the board on {self._wire.name}: take a smaller model "
                        f"or a board with more memory ({command})") from None

    def wait(self, max_cycles: int = DEFAULT_MAX_CYCLES) -> Counters:
        try:
            return self._wait(max_cycles)
        except DeadError as error:
            raise StuckError(str(error)) from None

    def _wait(self, max_cycles: int) -> Counters:
        queues = {engine: list(self._queues[engine]) for engine in ENGINES}
        before, left = dict(self._retired), {engine: list(queues[engine]) for engine in ENGINES}
        self.write_register(Register.CONTROL, 0)
        self._push(left, self.read_register(Register.QUEUE_SPACE))
        self.write_register(Register.CONTROL, Control.RUN | Control.CLEAR_COUNTERS)
        while True:
            # Whether all was pushed is asked before STATUS is read, so idle means finished.
            complete = not any(left.values())
            registers = self.read_registers(Register.STATUS,
                                            (Register.CYCLES - Register.STATUS) // 4 + 1)
            status, space, cycles = registers[0], registers[1], registers[-1]
            if status & status_mask("error"):
                raise stopped(status)
            if complete and status & status_mask("idle"):
                break
            if cycles >= max_cycles:
                raise StuckError(f"not finished after {max_cycles} cycles: " + describe(
                    status, self.semaphores(), queues, self.counters(), before))
            self._push(left, space)
        self._queues = {engine: [] for engine in ENGINES}
        counters = self.counters()
        for engine in ENGINES:
            self._retired[engine] += counters.engines[engine].commands
        return counters

    def _push(self, left: dict[Engine, list[int]], space: int) -> None:
        """Push as many words as the queues have room for."""
        for engine, words in left.items():
            room = space >> SPACE_BITS * engine & (1 << SPACE_BITS) - 1
            now, left[engine] = words[:room], words[room:]
            data = b"".join(int(word).to_bytes(4, "little") for word in now)
            self.link.write(self.config.host_address(Region.QUEUES, 4 * engine), data, Space.FIXED)
