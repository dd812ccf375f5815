"""What a command means to the pipeline: fields of a pass and of a table load in one form."""
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from systolith.hw import isa
from systolith.hw.config import TABLE_SEGMENTS
from systolith.hw.interfaces import command_layout

#: Payload of the engine port: the operation code (PASS or TABLE) and both views of its words.
COMMAND_LAYOUT = data.StructLayout({
    "opcode": 4, "pass": command_layout(isa.Pass), "table": command_layout(isa.Table)})

_PASS = command_layout(isa.Pass)
_CHECKS = data.StructLayout({"fault": 1, "cause": 4})


def place_bits(config):
    """Bits of the number of a beat in its tile, for any source and sink."""
    beats = max(config.rows, config.cols) // config.lanes
    return max(1, (max(beats, config.lanes // 2) - 1).bit_length())


def work_layout(config):
    """A command as the issue stage keeps it.

    All fields of a pass, and: ``load``, it fills a table; ``uses_stream``, ``uses_column``,
    ``uses_row``, what it reads; ``source_last``, ``sink_last``, beats in a tile minus 1;
    ``fold_last``, rows in a fold minus 1; ``fault`` and ``cause``, it must not run and why.
    """
    return data.StructLayout({**_PASS.members, **_uses_layout(config).members, **_CHECKS.members})


def _uses_layout(config):
    places = place_bits(config)
    return data.StructLayout({
        "load": 1, "uses_stream": 1, "uses_column": 1, "uses_row": 1,
        "source_last": places, "sink_last": places, "fold_last": fold_bits(config)})


def fold_bits(config):
    """Bits of a bank number and of a byte lane of the weight memory."""
    return (max(config.rows, config.cols) - 1).bit_length()


class Work(wiring.Component):
    """Translates a command and checks its fields. Combinational.

    A table load becomes a pass over vector memory that reads each word ``lanes / 2`` times, once
    for each pair in it, and does nothing else with the elements.

    Parameters
    ----------
    config : Config
        Sizes.

    Members
    -------
    command : In(COMMAND_LAYOUT)
        The command.
    fields, uses, checks : Out
        Its translation, the members of ``work_layout(config)``. In parts, because what is derived
        from a struct must not be in it: simulators take that for a loop. ``cause`` is ZERO_LOOP
        before ILLEGAL.
    """

    def __init__(self, *, config):
        self._config = config
        super().__init__({"command": In(COMMAND_LAYOUT), "fields": Out(_PASS),
                          "uses": Out(_uses_layout(config)), "checks": Out(_CHECKS)})

    def elaborate(self, platform):
        m = Module()
        fields, load = self.fields, Signal()
        m.d.comb += load.eq(self.command.opcode == isa.Opcode.TABLE)
        with m.If(load):
            self._load(m, fields)
        with m.Else():
            m.d.comb += fields.eq(self.command["pass"])
        m.d.comb += self.uses.load.eq(load)
        self._uses(m, fields)
        self._tiles(m, fields, load)
        self._check(m, fields)
        return m

    def _load(self, m, fields):
        m.d.comb += [
            fields.source.eq(isa.Source.VEC), fields.rows.eq(1), fields.beats.eq(TABLE_SEGMENTS),
            fields.table.eq(self.command.table.table),
            fields.source_base.eq(self.command.table.source_base),
            fields.source_tile_stride.eq(1),
        ]

    def _uses(self, m, fields):
        combine = fields.combine
        m.d.comb += [
            self.uses.uses_stream.eq((combine == isa.Combine.ADD) | (combine == isa.Combine.ROTATE)
                                     | (combine == isa.Combine.MULTIPLY)),
            self.uses.uses_column.eq((fields.addend == isa.Addend.COLUMN)
                                     | (fields.scale == isa.Scale.COLUMN)),
            self.uses.uses_row.eq((fields.addend == isa.Addend.ROW) | fields.row_scale),
        ]

    def _tiles(self, m, fields, load):
        rows, cols = (size // self._config.lanes - 1
                      for size in (self._config.rows, self._config.cols))
        with m.If(load):
            m.d.comb += self.uses.source_last.eq(self._config.lanes // 2 - 1)
        with m.Elif(fields.source == isa.Source.ACC):
            m.d.comb += self.uses.source_last.eq(cols)
        with m.Switch(fields.sink):
            with m.Case(isa.Sink.ACT):
                m.d.comb += self.uses.sink_last.eq(rows)
            with m.Case(isa.Sink.WGT_ROWS):
                m.d.comb += [self.uses.sink_last.eq(cols),
                             self.uses.fold_last.eq(self._config.rows - 1)]
            with m.Case(isa.Sink.WGT_LANES):
                m.d.comb += [self.uses.sink_last.eq(rows),
                             self.uses.fold_last.eq(self._config.cols - 1)]

    def _check(self, m, fields):
        illegal = [
            (fields.addend > max(isa.Addend)), (fields.scale > max(isa.Scale)),
            (fields.function > max(isa.Function)), (fields.combine > max(isa.Combine)),
            (fields.reduce > max(isa.Reduce)), (fields.scalar > max(isa.Scalar)),
            (fields.output > max(isa.Output)), (fields.sink > max(isa.Sink)),
            (fields.source == isa.Source.VEC) & self.uses.uses_stream,
        ]
        if self._config.tables == 1:
            illegal.append(fields.table)
        zero = (fields.rows == 0) | (fields.beats == 0)
        m.d.comb += [
            self.checks.fault.eq(zero | Cat(illegal).any()),
            self.checks.cause.eq(Mux(zero, isa.Cause.ZERO_LOOP, isa.Cause.ILLEGAL)),
        ]
