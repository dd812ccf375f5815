"""Signatures of the connections between the blocks of a core."""
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw.config import OFFSET_BITS
from systolith.hw.isa import Command


def command_layout(command: type[Command]) -> data.StructLayout:
    """The fields of a command (no operation code, wait, signal or fence) as an Amaranth struct."""
    skip = ("opcode", "fence", "wait", "signal")
    return data.StructLayout({field.name: field.width for field in command.layout()
                              if field.name not in skip})


class SystemPort(wiring.Signature):
    """Access of host, mover and other cores to one memory, seen from the master: ``read`` and
    ``write``, each with requests of its own.

    A request is accepted in a cycle with ``valid`` and ``ready``; the master keeps it unchanged
    until it is accepted, or the core halts. ``address`` is a byte offset in the region, a multiple
    of ``bus_bytes``. Accepted reads give ``read.data`` exactly ``system_read_latency`` cycles after
    acceptance. An address past the memory's end must not be presented: the master checks it.
    """

    def __init__(self, *, bus_bytes):
        request = {"valid": Out(1), "ready": In(1), "address": Out(OFFSET_BITS)}
        super().__init__({
            "read": Out(wiring.Signature({**request, "data": In(8 * bus_bytes)})),
            "write": Out(wiring.Signature({**request, "mask": Out(bus_bytes),
                                           "data": Out(8 * bus_bytes)})),
        })


class EnginePort(wiring.Signature):
    """Between sequencer (master) and engine.

    ``command`` carries the fields of the engine's command (see each engine for its layout) whose
    waits are satisfied; the engine takes it when it starts. The fields are there from the cycle
    before ``command.valid`` on, so an engine may look at them early. ``retire`` pulses once for
    each command, in order, when all its writes have been done. ``active``: a command is being
    issued. ``stall``: active, but nothing was issued this cycle. ``error`` with ``cause`` (one
    cycle is enough): the command being issued is at fault; the engine issues nothing more. ``halt``
    from the sequencer forbids the engine to issue anything.
    """

    def __init__(self, layout):
        super().__init__({
            "command": Out(stream.Signature(layout)), "halt": Out(1), "retire": In(1),
            "active": In(1), "stall": In(1), "error": In(1), "cause": In(4),
        })


class AccumulatorReadPort(wiring.Signature):
    """Vector unit (master) reads accumulators: ``data`` comes ``config.source_latency`` cycles
    after ``valid & ready``."""

    def __init__(self, config):
        super().__init__({
            "valid": Out(1), "ready": In(1), "address": Out(range(config.acc_depth)),
            "data": In(data.ArrayLayout(32, config.cols)),
        })


class ActivationWritePort(wiring.Signature):
    """Vector unit (master) writes activations; always accepted. Byte ``r`` gets
    ``data[r % lanes]`` where ``mask[r]``."""

    def __init__(self, config):
        super().__init__({
            "valid": Out(1), "address": Out(range(config.act_depth)), "mask": Out(config.rows),
            "data": Out(data.ArrayLayout(8, config.lanes)),
        })


class WeightWritePort(wiring.Signature):
    """Vector unit (master) writes K and V; always accepted.

    For banks in ``bank_mask``, lane ``c`` in ``lane_mask`` gets ``data[c % lanes]``, or, where
    ``transposed``, ``data[bank % lanes]``.
    """

    def __init__(self, config):
        super().__init__({
            "valid": Out(1), "address": Out(range(config.wgt_depth)), "transposed": Out(1),
            "bank_mask": Out(config.rows), "lane_mask": Out(config.cols),
            "data": Out(data.ArrayLayout(8, config.lanes)),
        })
