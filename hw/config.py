"""The one configuration object: every size of the machine, checked, with all widths derived.

The hardware, the compiler, the functional device and the simulator read this object and nothing
else. A configuration is frozen; to change a size, use :meth:`Config.replace`.
"""
import dataclasses
import enum
import json
import zlib
from dataclasses import dataclass


class ConfigError(ValueError):
    """A configuration that the hardware cannot be built with. The message names value and limit."""


class Region(enum.IntEnum):
    """The memories of a core as the host and the mover address them (3 bits of the address)."""

    REGISTERS = 0
    QUEUES = 1
    ACT = 2
    WGT = 3
    VEC = 4
    CONST = 5
    ROW = 6
    ACC = 7


#: Host byte address: bits 30:25 core, bits 24:22 region, bits 21:0 byte offset in the region. 4 MiB
#: hold the weights of a layer 576 wide, and 64 cores are left.
CORE_SHIFT = 25
REGION_SHIFT = 22
OFFSET_BITS = 22
ADDRESS_BITS = 31

#: Bit of the host's byte address that means external memory, which is inside of a compact core.
EXTERNAL_BIT = 30

#: Cores that addresses tell apart, and nodes along one side of a mesh.
MOST_CORES = 1 << ADDRESS_BITS - CORE_SHIFT
MOST_NODES = 16

#: Cycles from an accepted read on a system port to its data, the same for every memory; more where
#: the memories' ports have registers, see :func:`system_latency`.
SYSTEM_READ_LATENCY = 3

#: Segments of a function table; a power of two.
TABLE_SEGMENTS = 64

#: Commands of an engine that may have started and not retired. Enough to cover the latency of an
#: engine, as fetching a command takes several cycles.
IN_FLIGHT = 8

#: Beats of the mover on their way. A memory that answers within about this many cycles costs no
#: throughput.
BEATS_IN_FLIGHT = 64

#: Insides that a core may have.
MICROARCHITECTURES = ("full", "compact")

#: The array of a compact core, what its block RAMs hold at most, and the bytes of the one memory
#: that holds all the rest: four single-port RAMs of an iCE40 UP5K.
COMPACT_ARRAY = {"rows": 8, "cols": 2, "lanes": 2, "hop": 0, "multiply_cycles": 1,
                 "lut_columns": 0}
COMPACT_LIMITS = {"act_depth": 512, "acc_depth": 512}
COMPACT_BYTES = 1 << 17


def system_latency(port_cycles: int) -> int:
    """Cycles from an accepted read on a system port to its data.

    Where there are registers at the memories' ports, there is one more for the answer, too: a wide
    word is brought together in two steps.
    """
    return SYSTEM_READ_LATENCY + 2 * port_cycles


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


@dataclass(frozen=True, kw_only=True)
class Config:
    """All sizes of one core.

    Parameters
    ----------
    name : str
        Name under which the configuration is listed.
    microarchitecture : str
        ``"full"``: engines that work side by side, a beat a cycle each. ``"compact"``: the same
        commands, registers and memories from one microprogrammed engine beside an array of 8 x 2
        cells, for the smallest FPGAs; external memory is inside the core.
    rows, cols : int
        Cells of the array: ``rows`` along the contraction, ``cols`` along the outputs. Powers of
        two, 4 to 64. A compact core has 8 and 2.
    lanes : int
        Elements a cycle of the vector unit. A power of two, at least 2, at most ``rows`` and
        ``cols``.
    hop : int
        Columns between two activation registers along a row; 0 broadcasts to the whole row.
        A divisor of ``cols``.
    multiply_cycles : int
        Cycles from the operands of a cell to its product: 1, or 2 with one more register behind the
        multiplier. A product is a cycle longer then.
    lut_columns : int
        Columns, the last of each row, that multiply in tables of logic, for an FPGA with fewer
        multipliers than cells; 0 to ``cols``. Needs ``multiply_cycles`` 2.
    act_depth : int
        Words of activation memory, ``rows`` bytes each.
    wgt_depth : int
        Words of each of the ``rows`` weight banks, ``cols`` bytes each.
    acc_depth : int
        Words of accumulator memory, ``cols`` times 32 bits each, in two halves.
    vec_depth : int
        Words of vector memory, ``lanes`` times 16 bits each.
    const_depth : int
        Words of column constants, ``lanes`` times (32 bit bias, 32 bit scale word).
    row_depth : int
        Row constants, 32 bits each.
    tables : int
        Function tables held at once; a power of two.
    queue_depth : int
        32-bit words of each command queue; a power of two, at most 512.
    semaphores : int
        Counting semaphores, at most 16.
    semaphore_width : int
        Bits of a semaphore.
    bus_bytes : int
        Bytes a cycle of the system bus and of the external memory: 4, 8 or 16; at most a word of
        the activation, weight and vector memories.
    scalar_cycles : int
        Cycles from the sum of a row's reduction to what is stored of it: 6, or 10 for the clock of
        an FPGA. All that waits for a reduction waits as long.
    read_cycles : int
        Cycles from an address to the data of the accumulators and of the vector unit's memories:
        1, or 2 with the register that a block RAM of an FPGA has behind it. A pass is a cycle
        longer then; a product is not.
    port_cycles : int
        Registers in front of the ports of all memories but the accumulators: 0, or 1 for the clock
        of an FPGA, where a port reaches block RAMs all over the chip. Who waits for a port waits as
        before, and all that is read comes a cycle later.
    ext_bytes : int
        Bytes of external memory; 0 when the chip has none.
    mesh_width, mesh_height : int
        Cores of the chip along x and y, up to 16 each and 64 together. All are alike; core ``n`` is
        at x = n % mesh_width, y = n // mesh_width. One core has no mesh.

    Raises
    ------
    ConfigError
        When a size is outside its limit.
    """

    name: str
    microarchitecture: str = "full"
    rows: int
    cols: int
    lanes: int
    hop: int = 0
    multiply_cycles: int = 1
    lut_columns: int = 0
    act_depth: int = 4096
    wgt_depth: int = 1024
    acc_depth: int = 1024
    vec_depth: int = 4096
    const_depth: int = 512
    row_depth: int = 512
    tables: int = 2
    queue_depth: int = 512
    semaphores: int = 16
    semaphore_width: int = 8
    bus_bytes: int = 4
    scalar_cycles: int = 6
    read_cycles: int = 1
    port_cycles: int = 0
    ext_bytes: int = 1 << 24
    mesh_width: int = 1
    mesh_height: int = 1

    def __post_init__(self):
        self._check_integers()
        if self.microarchitecture not in MICROARCHITECTURES:
            raise ConfigError(f"microarchitecture must be one of {', '.join(MICROARCHITECTURES)}, "
                              f"not {self.microarchitecture!r}")
        if self.compact:
            self._check_compact()
        else:
            for field in ("rows", "cols"):
                self._check(field, 4, 64, power=True)
        self._check("lanes", 2, min(self.rows, self.cols), power=True)
        if self.hop and (self.hop < 0 or self.cols % self.hop):
            raise ConfigError(f"hop must be 0 or a divisor of cols ({self.cols}), not {self.hop}")
        self._check("multiply_cycles", 1, 2)
        self._check("lut_columns", 0, self.cols)
        if self.lut_columns and self.multiply_cycles == 1:
            raise ConfigError(f"lut_columns is {self.lut_columns}, but a multiplier in tables of "
                              "logic takes two cycles: set multiply_cycles to 2")
        for region in MEMORIES:
            self._check(f"{region.name.lower()}_depth", 16, 1 << 16, power=True)
        self._check("tables", 1, 2, power=True)
        self._check("queue_depth", 32, 512, power=True)
        self._check("semaphores", 6, 16)
        self._check("semaphore_width", 2, 8)
        widest = 4 if self.compact else min(self.rows, self.cols, 2 * self.lanes, 16)
        self._check("bus_bytes", 4, widest, power=True)
        if self.scalar_cycles not in (6, 10):
            raise ConfigError(f"scalar_cycles must be 6 or 10, not {self.scalar_cycles}")
        self._check("read_cycles", 1, 2)
        self._check("port_cycles", 0, 1)
        for field in ("mesh_width", "mesh_height"):
            self._check(field, 1, MOST_NODES)
        if self.cores > MOST_CORES:
            raise ConfigError(f"a mesh of {self.mesh_width} x {self.mesh_height} has {self.cores} "
                              f"cores, but addresses tell only {MOST_CORES} apart")
        if self.ext_bytes and not (_power_of_two(self.ext_bytes) and self.ext_bytes <= 1 << 32):
            raise ConfigError(
                f"ext_bytes must be 0 or a power of two up to {1 << 32}, not {self.ext_bytes}")
        for region in MEMORIES:
            if self.region_bytes(region) > 1 << OFFSET_BITS:
                raise ConfigError(
                    f"{region.name.lower()} memory has {self.region_bytes(region)} bytes, "
                    f"but a region holds {1 << OFFSET_BITS}: lower {region.name.lower()}_depth")

    def _check_integers(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is str:
                if not isinstance(value, str) or not value:
                    raise ConfigError(f"{field.name} must be a non-empty string, not {value!r}")
            elif not isinstance(value, int) or isinstance(value, bool):
                raise ConfigError(f"{field.name} must be an integer, not {value!r}")

    def _check_compact(self):
        for field, size in COMPACT_ARRAY.items():
            if getattr(self, field) != size:
                raise ConfigError(f"{field} of a compact core must be {size}, "
                                  f"not {getattr(self, field)}")
        for field, limit in COMPACT_LIMITS.items():
            self._check(field, 16, limit)
        self._check("ext_bytes", 4, COMPACT_BYTES, power=True)
        if self.cores > 1:
            raise ConfigError(f"a compact core is alone on its chip, but a mesh of "
                              f"{self.mesh_width} x {self.mesh_height} has {self.cores} cores")
        shared = sum(self.region_bytes(region) for region in COMPACT_SHARED) + self.ext_bytes
        # Three queues end with part of a command; registers and semaphores; function tables.
        shared += 4 * (3 * (self.queue_depth + 10) + 80) + 8 * TABLE_SEGMENTS * self.tables
        if shared > COMPACT_BYTES:
            raise ConfigError(
                f"weights, vector memory, constants, external memory, queues and tables of a "
                f"compact core have {COMPACT_BYTES} bytes together, not {shared}: lower a depth")

    def _check(self, field, low, high, *, power=False):
        value = getattr(self, field)
        if not low <= value <= high or (power and not _power_of_two(value)):
            kind = "a power of two" if power else "an integer"
            raise ConfigError(f"{field} must be {kind} from {low} to {high}, not {value}")

    def replace(self, **changes) -> "Config":
        """A checked copy with some sizes changed. Give it a ``name`` of its own, too."""
        return dataclasses.replace(self, **changes)

    @property
    def compact(self) -> bool:
        """Whether the core is the compact one."""
        return self.microarchitecture == "compact"

    @property
    def cores(self) -> int:
        """Cores of the chip."""
        return self.mesh_width * self.mesh_height

    @property
    def core(self) -> "Config":
        """The same core alone, on a chip without a mesh."""
        return self.replace(name=self.name.partition("@")[0], mesh_width=1, mesh_height=1)

    # Derived sizes ---------------------------------------------------------------------------

    @property
    def peak_macs_per_cycle(self) -> int:
        """Multiply-accumulates a cycle when every cell of a core works."""
        return self.rows * self.cols

    @property
    def dsp_columns(self) -> int:
        """Columns, the first of each row, whose cells have multipliers of the FPGA."""
        return self.cols - self.lut_columns

    @property
    def chain_width(self) -> int:
        """Bits of a partial sum inside a column: ``rows`` products of at most 255 * -128, exact."""
        return 17 + (self.rows - 1).bit_length()

    @property
    def acc_half(self) -> int:
        """Words in one half of the accumulator memory. The top address bit selects the half."""
        return self.acc_depth // 2

    @property
    def column_groups(self) -> int:
        """Groups of columns, each one cycle behind its left neighbour."""
        return self.cols // self.hop if self.hop else 1

    @property
    def matrix_latency(self) -> int:
        """Cycles from a beat's issue in the matrix engine to the write of its accumulators."""
        return self.rows + self.column_groups + 3 + self.multiply_cycles + self.port_cycles

    @property
    def accumulate_latency(self) -> int:
        """Cycles from a beat's address at the accumulators to the write of its sum; readable one
        later. What the beats of as many cycles minus one left is forwarded, not read."""
        return 3 + self.read_cycles

    @property
    def system_read_latency(self) -> int:
        """Cycles from an accepted read on a system port to its data."""
        return system_latency(self.port_cycles)

    @property
    def source_latency(self) -> int:
        """Cycles from a beat's start in the vector unit to what it reads, of any memory."""
        return self.read_cycles + self.port_cycles

    @property
    def pass_latency(self) -> int:
        """Cycles from a beat's start in the vector unit to its write."""
        return 22 + self.source_latency

    @property
    def reduction_latency(self) -> int:
        """Cycles from the start of a row's last beat in the vector unit to its reduction."""
        return 20 + self.source_latency + self.scalar_cycles + self.lanes.bit_length()

    def depth(self, region: Region) -> int:
        """Words of a memory."""
        return {Region.ACT: self.act_depth, Region.WGT: self.wgt_depth, Region.VEC: self.vec_depth,
                Region.CONST: self.const_depth, Region.ROW: self.row_depth,
                Region.ACC: self.acc_depth}[region]

    def word_bytes(self, region: Region) -> int:
        """Bytes of one word of a memory as host and mover address it.

        A weight word is one address of all banks: byte ``row * cols + column``.
        """
        return {Region.ACT: self.rows, Region.WGT: self.rows * self.cols,
                Region.VEC: 2 * self.lanes, Region.CONST: 8 * self.lanes, Region.ROW: 4,
                Region.ACC: 4 * self.cols}[region]

    def region_bytes(self, region: Region) -> int:
        """Bytes of a memory."""
        return self.depth(region) * self.word_bytes(region)

    def host_address(self, region: Region, offset: int = 0, *, core: int = 0) -> int:
        """The host's byte address of a byte offset in a region."""
        if not 0 <= offset < 1 << OFFSET_BITS:
            raise ConfigError(f"offset {offset} is outside a region of {1 << OFFSET_BITS} bytes")
        return core << CORE_SHIFT | int(region) << REGION_SHIFT | offset

    @property
    def identity(self) -> int:
        """CRC-32 of all sizes but the name: the value of the ID register."""
        sizes = dataclasses.asdict(self)
        del sizes["name"]
        if not self.compact:
            del sizes["microarchitecture"]
        return zlib.crc32(json.dumps(sizes, sort_keys=True).encode())


#: The regions that are memories, in address order.
MEMORIES = (Region.ACT, Region.WGT, Region.VEC, Region.CONST, Region.ROW, Region.ACC)

#: The memories of a compact core that share its single-port RAMs.
COMPACT_SHARED = (Region.WGT, Region.VEC, Region.CONST, Region.ROW)


def check_one_core(config: Config, what: str) -> None:
    """Refuse a mesh for ``what``, which knows a single core.

    Raises
    ------
    ConfigError
        When the configuration has several cores.
    """
    if config.cores > 1:
        raise ConfigError(f"configuration {config.name!r} has {config.cores} cores, but {what} has "
                          f"one so far; choose {config.core.name!r}, or run a whole model, which "
                          "several cores share")
