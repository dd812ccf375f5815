"""The simulated chip as a Python object: a thin layer over the C interface of ``harness.cpp``."""
import ctypes
import enum
from collections.abc import Sequence
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: One event: when, in cycles, and what.
EVENT = np.dtype([("time", "<u8"), ("value", "<u8")])

#: Cycles after which a host access that gets no answer is given up.
HOST_LIMIT = 1_000_000


class Outcome(enum.IntEnum):
    """How a call ended; the numbers of ``Outcome`` in ``harness.cpp``."""

    OK = 0
    TIMEOUT = 1
    ERROR = 2
    EXT_FAULT = 3
    NO_ANSWER = 4
    NO_TRACE = 5
    STUCK = 6
    LOOPED = 7


class HarnessError(RuntimeError):
    """The chip did not do what was asked, or memory outside its range was named."""


class RunResult(NamedTuple):
    """How a run of the queues ended.

    Attributes
    ----------
    outcome : Outcome
        ``OK``: idle with all words pushed; ``TIMEOUT``: ``max_cycles`` passed; ``ERROR``: STATUS
        shows an error; ``EXT_FAULT``: access outside external memory; ``NO_ANSWER``: the host port
        is stuck.
    cycles : int
        Cycles from the write to CONTROL to the last STATUS; at most about 16 more than the chip
        needed.
    status : int
        The last STATUS read.
    pushed : tuple of int
        Words pushed into each queue.
    """

    outcome: Outcome
    cycles: int
    status: int
    pushed: tuple[int, int, int]


class ClusterResult(NamedTuple):
    """How a run of the queues of several cores ended.

    Attributes
    ----------
    outcome : Outcome
        As of :class:`RunResult`. ``ERROR``: cores show an error, and the others are idle or cannot
        go on; ``STUCK``: no core can go on.
    cycles : int
        Cycles from the first write to CONTROL to the last STATUS.
    statuses : tuple of int
        The last STATUS of each core.
    pushed : tuple of tuples of int
        Words pushed into each queue of each core.
    """

    outcome: Outcome
    cycles: int
    statuses: tuple[int, ...]
    pushed: tuple[tuple[int, int, int], ...]


class _CoreArguments(Structure):
    _fields_ = [
        ("words", POINTER(c_uint32) * 3), ("counts", c_uint64 * 3), ("pushed", c_uint64 * 3),
        ("address", c_uint32), ("status", c_uint32)]


class _RunArguments(Structure):
    _fields_ = [
        ("cores", POINTER(_CoreArguments)), ("count", c_uint64), ("windows", c_uint32 * 3),
        ("space_address", c_uint32), ("control_address", c_uint32), ("control_value", c_uint32),
        ("status_address", c_uint32), ("idle_mask", c_uint32), ("error_mask", c_uint32),
        ("active_mask", c_uint32), ("max_cycles", c_uint64), ("cycles", c_uint64)]


_WORDS = POINTER(c_uint32)
_BYTES = POINTER(c_uint8)
_SIGNATURES = {
    "create": (c_void_p, [c_uint64, c_uint32, c_double, c_uint32, c_uint64, c_uint32]),
    "destroy": (None, [c_void_p]),
    "reset": (None, [c_void_p, c_uint32]),
    "switch_off": (c_int, [c_void_p, c_uint32]),
    "step": (None, [c_void_p, c_uint64]),
    "cycles": (c_uint64, [c_void_p]),
    "ext_write": (c_int, [c_void_p, c_uint64, _BYTES, c_uint64]),
    "ext_read": (c_int, [c_void_p, c_uint64, _BYTES, c_uint64]),
    "ext_fault": (c_int, [c_void_p, _WORDS]),
    "ext_written": (c_void_p, [c_void_p, POINTER(c_uint64)]),
    "host_write": (c_int, [c_void_p, c_uint32, c_uint32, _WORDS, c_uint64, c_uint64]),
    "host_read": (c_int, [c_void_p, c_uint32, c_uint32, _WORDS, c_uint64, c_uint64]),
    "run_queues": (c_int, [c_void_p, POINTER(_RunArguments)]),
    "trace_open": (c_int, [c_void_p, c_char_p, c_uint64, c_uint64]),
    "trace_close": (None, [c_void_p]),
    "record": (c_int, [c_void_p, c_uint32, c_uint32]),
    "recorded_cycles": (c_uint64, [c_void_p]),
    "recorded_events": (c_void_p, [c_void_p, c_uint32, POINTER(c_uint64)]),
    "record_end": (None, [c_void_p]),
}


class _Interface:
    """The functions of a library, each with its types declared, under their short names."""

    def __init__(self, library: Path):
        loaded = ctypes.CDLL(str(library))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, f"systolith_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)


def _pointer(array: np.ndarray, kind):
    return array.ctypes.data_as(POINTER(kind))


def _events(start: int, count: int) -> NDArray:
    """A copy of so many events in the library's memory."""
    size = count * EVENT.itemsize
    return np.frombuffer(ctypes.string_at(start, size) if size else b"", EVENT)


class Harness:
    """One simulated chip with its external memory. Use it in a ``with`` statement or ``close`` it.

    Parameters
    ----------
    library : Path
        From :func:`systolith.sim.verilate.build_simulator`.
    ext_bytes : int
        Bytes of external memory, zero at first.
    latency : int
        Cycles from a read request to its data, at least 1.
    gap : float
        Cycles from beat to beat of external memory on average, at least 1.
    stall_percent : int
        Share of the cycles, 0 to 95, in which each ready and valid that the harness drives is held
        back at random.
    seed : int
        Seed of the stalls.
    threads : int
        Threads that simulate the cores of a chip with several.
    """

    def __init__(self, library: Path, *, ext_bytes: int, latency: int = 8, gap: float = 1,
                 stall_percent: int = 0, seed: int = 0, threads: int = 1):
        self._handle = None
        if ext_bytes < 0 or latency < 1 or gap < 1:
            raise ValueError(f"ext_bytes must be at least 0, latency and gap at least 1, "
                             f"not {ext_bytes}, {latency} and {gap}")
        if not 0 <= stall_percent <= 95:
            raise ValueError(f"stall_percent must be from 0 to 95, not {stall_percent}")
        self._call = _Interface(library)
        self._handle = self._call.create(ext_bytes, latency, gap, stall_percent, seed % (1 << 64),
                                         threads)
        if not self._handle:
            raise HarnessError(f"cannot allocate {ext_bytes} bytes of external memory")

    def __enter__(self) -> "Harness":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free the chip; a second call does nothing."""
        if self._handle:
            self._call.destroy(self._handle)
            self._handle = None

    @property
    def cycles(self) -> int:
        """Clock cycles since creation."""
        return self._call.cycles(self._handle)

    def reset(self, cycles: int = 4) -> None:
        """Hold reset for so many cycles. External memory keeps its content."""
        self._call.reset(self._handle, cycles)

    def switch_off(self, core: int) -> None:
        """Keep a core of a chip with several in reset from here on; it answers nothing.

        Raises
        ------
        HarnessError
            When there is no such core, or no other.
        """
        if self._call.switch_off(self._handle, core):
            raise HarnessError(f"core {core} cannot be switched off: the chip has no such core, or "
                               "no other")

    def step(self, cycles: int) -> None:
        """Let the chip run."""
        self._call.step(self._handle, cycles)

    def write_ext(self, address: int, data: bytes | NDArray[np.uint8]) -> None:
        """Write bytes to external memory, in no time.

        Raises
        ------
        HarnessError
            When they do not fit.
        """
        array = np.frombuffer(bytes(data), np.uint8)
        if self._call.ext_write(self._handle, address, _pointer(array, c_uint8), array.size):
            raise HarnessError(f"{array.size} bytes at {address:#x} are outside external memory")

    def read_ext(self, address: int, count: int) -> NDArray[np.uint8]:
        """Read bytes of external memory, in no time; raises like :meth:`write_ext`."""
        array = np.zeros(count, np.uint8)
        if self._call.ext_read(self._handle, address, _pointer(array, c_uint8), count):
            raise HarnessError(f"{count} bytes at {address:#x} are outside external memory")
        return array

    @property
    def ext_fault(self) -> int | None:
        """Address of the chip's first bad access to external memory since reset or last run."""
        address = c_uint32()
        return address.value if self._call.ext_fault(self._handle, byref(address)) else None

    @property
    def ext_written(self) -> NDArray:
        """Beats that the chip has written to external memory since the last run began, as
        :data:`EVENT`: the clock cycle, and the address."""
        count = c_uint64()
        return _events(self._call.ext_written(self._handle, byref(count)), count.value)

    def host_write(self, address: int, words, *, stride: int = 4, limit: int = HOST_LIMIT) -> None:
        """Write 32-bit words through the host port, one a cycle where the chip is ready.

        Parameters
        ----------
        address : int
            Byte address of the first word.
        words : int or sequence of int or array
            One word or several.
        stride : int
            Bytes from word to word; 0 writes all to the same address.
        limit : int
            Cycles for all of them.

        Raises
        ------
        HarnessError
            When the chip does not take them within the limit. It must be reset then.
        """
        array = np.atleast_1d(np.asarray(words, dtype=np.uint32))
        outcome = self._call.host_write(self._handle, address, stride, _pointer(array, c_uint32),
                                        array.size, limit)
        self._check_host(outcome, "write", address, array.size, limit)

    def host_read(self, address: int, count: int | None = None, *, stride: int = 4,
                  limit: int = HOST_LIMIT):
        """Read one 32-bit word (an ``int``) or, with ``count``, an array of words (``uint32``).

        Parameters and errors are those of :meth:`host_write`.
        """
        array = np.zeros(1 if count is None else count, np.uint32)
        outcome = self._call.host_read(self._handle, address, stride, _pointer(array, c_uint32),
                                       array.size, limit)
        self._check_host(outcome, "read", address, array.size, limit)
        return int(array[0]) if count is None else array

    def _check_host(self, outcome: int, what: str, address: int, count: int, limit: int) -> None:
        if outcome:
            raise HarnessError(f"the host port did not finish the {what} of {count} words at "
                               f"{address:#x} within {limit} cycles")

    def run_queues(self, words: Sequence[Sequence[int]], *, windows: Sequence[int],
                   space_address: int, control_address: int, control_value: int,
                   status_address: int, idle_mask: int, error_mask: int,
                   max_cycles: int) -> RunResult:
        """Push three streams of command words, set the core running, wait until it is idle.

        Words are pushed as QUEUE_SPACE (bits 9:0, 19:10, 29:20: free words of each queue) permits,
        before the run is started and while it lasts.

        Parameters
        ----------
        words : three sequences of int
            Command words of each queue.
        windows : three int
            Byte addresses whose writes push into each queue.
        space_address, control_address, status_address : int
            Byte addresses of the registers.
        control_value : int
            What starts the core when written to CONTROL.
        idle_mask, error_mask : int
            Bits of STATUS that show an idle and a stopped core.
        max_cycles : int
            Cycles after which the run ends with ``Outcome.TIMEOUT``.
        """
        result = self.run_cores(
            [words], [0], windows=windows, space_address=space_address,
            control_address=control_address, control_value=control_value,
            status_address=status_address, idle_mask=idle_mask, error_mask=error_mask,
            active_mask=0, max_cycles=max_cycles)
        return RunResult(result.outcome, result.cycles, result.statuses[0], result.pushed[0])

    def run_cores(self, words: Sequence[Sequence[Sequence[int]]], addresses: Sequence[int], *,
                  windows: Sequence[int], max_cycles: int, **registers: int) -> ClusterResult:
        """As :meth:`run_queues`, for several cores at once.

        Parameters
        ----------
        words : sequence of three sequences of int
            Command words of each queue of each core.
        addresses : sequence of int
            What is added to all addresses to reach each core.
        windows, max_cycles, registers
            As of :meth:`run_queues`, and ``active_mask``: bits of STATUS that show a core at work.
        """
        arrays = [[np.ascontiguousarray(queue, dtype=np.uint32) for queue in core]
                  for core in words]
        cores = (_CoreArguments * len(arrays))(*(_CoreArguments(
            words=(_WORDS * 3)(*(_pointer(array, c_uint32) for array in core)),
            counts=(c_uint64 * 3)(*(array.size for array in core)), address=address)
            for core, address in zip(arrays, addresses, strict=True)))
        run = _RunArguments(cores=cores, count=len(arrays), windows=(c_uint32 * 3)(*windows),
                            max_cycles=max_cycles, **registers)
        outcome = Outcome(self._call.run_queues(self._handle, byref(run)))
        if outcome == Outcome.LOOPED:
            raise HarnessError("an output of a core follows an input within a cycle: the simulated "
                               "chip is wrong")
        return ClusterResult(outcome, run.cycles, tuple(core.status for core in cores),
                             tuple(tuple(core.pushed) for core in cores))

    def trace_open(self, path: Path, first: int = 0, last: int | None = None) -> None:
        """Write a VCD from here on, until :meth:`trace_close` or the end.

        Parameters
        ----------
        path : Path
            The file.
        first, last : int
            Only cycles from ``first`` up to, not including, ``last``: those of the recording where
            there is one, else clock cycles. A cycle takes 1 us, and its clock rises in the middle.

        Raises
        ------
        HarnessError
            When the library was built without ``trace=True`` or the file cannot be written.
        """
        end = (1 << 64) - 1 if last is None else last
        if self._call.trace_open(self._handle, str(path).encode(), first, end):
            raise HarnessError(f"cannot write a trace to {path}: the simulator was built without "
                               f"traces, or the folder cannot be written")

    def trace_close(self) -> None:
        """Finish the VCD."""
        self._call.trace_close(self._handle)

    def record(self, *, semaphores: int, semaphore_width: int) -> None:
        """Record what the engines do from here on; an earlier recording is dropped.

        Raises
        ------
        HarnessError
            When the library was built without ``probes=True``.
        """
        if self._call.record(self._handle, semaphores, semaphore_width):
            raise HarnessError("the simulator was built without probes, so it cannot record")

    @property
    def recorded_cycles(self) -> int:
        """Cycles in the recording: those that the chip's counters count."""
        return self._call.recorded_cycles(self._handle)

    def recorded(self, channel: int) -> NDArray:
        """A copy of the events of a channel (``Channel`` in ``recorder.h``), as :data:`EVENT`."""
        count = c_uint64()
        start = self._call.recorded_events(self._handle, channel, byref(count))
        return _events(start, count.value)

    def record_end(self) -> None:
        """Stop recording and forget what was recorded."""
        self._call.record_end(self._handle)
