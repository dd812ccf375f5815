"""The matrix engine: a beat a cycle, never held back."""
import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import Product
from systolith.sw.estimate.ports import Ports
from systolith.sw.estimate.timeline import Ints
from systolith.sw.reference.addressing import loop_sum


class MatrixModel:
    """When products run, and when they read accumulators out of the memory.

    A beat that sets its accumulators reads nothing, nor does one that adds to what a beat of the
    last ``accumulate_latency - 1`` cycles left: the result is forwarded.
    """

    def __init__(self, config: Config, ports: Ports):
        self._config, self._ports = config, ports
        # A beat's accumulators are read one cycle after its address comes to them.
        self._read_delay = config.matrix_latency - config.accumulate_latency + 1
        self._forwarded = _forwarded(config)
        self._recent: tuple[int, Ints] = -1, np.empty(0, dtype=np.int64)

    def accept(self, command: Product, time: int) -> int:
        """Take a command in cycle ``time``; the cycle of its last beat."""
        beats = command.count0 * command.count1 * command.count2
        end = time + beats
        cycles = np.arange(time + 1, end + 1)
        addresses = loop_sum(command, "acc").ravel()
        reads = self._memory_reads(command, addresses, time)
        read_at = cycles[reads] + self._read_delay
        halves = addresses[reads] // self._config.acc_half
        for half in range(2):
            self._ports.array_reads(half, read_at[halves == half])
        self._ports.reads(Region.ACT, cycles)
        self._ports.reads(Region.WGT, cycles[_loads(command)])
        self._recent = end, addresses[-self._forwarded:]
        return end

    def _memory_reads(self, command: Product, addresses: Ints, time: int) -> Ints:
        """Numbers of the beats that read accumulators out of the memory."""
        reads = _reads_alone(command, addresses, self._forwarded)
        end, recent = self._recent
        for beat in range(min(self._forwarded, len(addresses))):
            # Beat -1 was in cycle `end`, and this one is in cycle `time + 1 + beat`.
            near = self._forwarded - (time + 1 + beat - end) + 1
            reads[beat] &= near <= 0 or addresses[beat] not in recent[-near:]
        return np.flatnonzero(reads)


def accumulators_read(config: Config, command: Product) -> int:
    """Beats that read accumulators out of the memory, when no product ran shortly before."""
    addresses = loop_sum(command, "acc").ravel()
    return int(_reads_alone(command, addresses, _forwarded(config)).sum())


def loads_of(command: Product) -> int:
    """Beats that take new weights."""
    beats = command.count0 * command.count1 * command.count2
    return len(range(beats)[_loads(command)])


def _forwarded(config: Config) -> int:
    """Cycles for which the result of a beat is forwarded to a later one."""
    return config.accumulate_latency - 1


def _reads_alone(command: Product, addresses: Ints, forwarded: int) -> np.ndarray:
    """Whether each beat reads accumulators, for all that a product knows of itself."""
    reads = ~_first(command)
    for distance in range(1, forwarded + 1):
        reads[distance:] &= addresses[distance:] != addresses[:-distance]
    return reads


def _first(command: Product) -> np.ndarray:
    """Whether each beat sets its accumulators, flat."""
    counts = command.count2, command.count1, command.count0
    first = np.full(counts, not command.accumulate)
    for axis, stride in enumerate((command.acc2_stride, command.acc1_stride, command.acc0_stride)):
        if stride == 0:
            first[(slice(None),) * axis + (slice(1, None),)] = False
    return first.ravel()


def _loads(command: Product) -> slice:
    """Which beats take new weights."""
    if command.wgt0_stride:
        return slice(None)
    return slice(None, None, command.count0)
