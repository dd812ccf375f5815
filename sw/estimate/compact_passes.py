"""What passes and tables take in the microprogram of the compact core, in cycles.

The way of an element depends on the data: which sums saturate, signs of factors, shifts of scale
words, bits of a row's sum. The numbers are of the usual way: nothing saturates, factors are
positive, scale words out of a memory shift by ``SHIFT``, and a row's sum has about ten bits. All
else is of the command, and exact. ``tests/system/test_estimate_compact.py`` says how far a model is
from it.
"""
from systolith.hw.config import Config
from systolith.hw.isa import Addend, Combine, Function, Output, Pass, Reduce, Scalar, Scale, Sink
from systolith.sw.reference.addressing import sink_granule

#: A TABLE, from its first line to its end.
TABLE = 4072

#: Shift of a scale word out of a memory.
SHIFT = 24

#: A pass without any choice: once, for each row, for each beat of two elements; less for an element
#: that is not valid.
ONCE, ROW, BEAT, INVALID = 558, 153, 244, 19

#: More than without: once, and for each beat.
SOURCE_VEC = (-11, -2)
ADDENDS = {Addend.NONE: (0, 0), Addend.COLUMN: (2, 42), Addend.ROW: (9, 36)}
CHECKED_ONCE = (-9, 0)  # the constants of both
FUNCTIONS = {Function.NONE: (0, 0), Function.LINEAR: (0, 290), Function.EXP2: (0, 294)}
COMBINES = {Combine.NONE: (0, 0), Combine.ADD: (66, 36), Combine.MULTIPLY: (71, 154),
            Combine.SELF: (0, 206), Combine.ROTATE: (76, 336), Combine.SQUARE: (0, 174)}
OUTPUTS = {Output.INT8: (0, 0), Output.UINT8: (3, 0), Output.INT16: (10, 0)}

#: A scale: once, for each row, and for each beat beside its shift; without and with a row's.
SCALES = {(Scale.NONE, 0): (0, 0, None), (Scale.TENSOR, 0): (0, 15, 0),
          (Scale.COLUMN, 0): (9, 0, 68), (Scale.NONE, 1): (10, 12, 0),
          (Scale.TENSOR, 1): (10, 57, 0), (Scale.COLUMN, 1): (19, 0, 172)}

#: A reduction: for each row, and for each valid element; once for any. A scalar for each row.
REDUCES = {Reduce.MAX: (143, 9), Reduce.SUM: (130, 28), Reduce.ABSMAX: (144, 12),
           Reduce.INDEX: (169, 9)}
REDUCED = 9
SCALARS = {Scalar.NONE: 0, Scalar.RECIPROCAL: 2842, Scalar.INVERSE_ROOT: 4299, Scalar.SCALE: 808,
           Scalar.MEAN: 2}

#: For each valid element; for each row.
NARROW, CAUSAL = 18, 9

#: A sink: once, and for each beat; the end of a word, of a row that stays in its words, and the
#: first row inside a word.
SINKS = {Sink.NONE: (0, 0), Sink.ACT: (216, 38), Sink.WGT_ROWS: (235, 38),
         Sink.WGT_LANES: (247, 38), Sink.VEC: (214, 42)}
WORD_END, STAYS, INSIDE = 10, -10, 20


def pass_cycles(command: Pass, config: Config) -> int:
    """From the first of a pass's own lines to its end."""
    rows, beats = command.rows, command.rows * command.beats
    valid = _valid(command, config)
    chosen = [ADDENDS[Addend(command.addend)], FUNCTIONS[Function(command.function)],
              COMBINES[Combine(command.combine)], OUTPUTS[Output(command.output)]]
    if command.source:
        chosen.append(SOURCE_VEC)
    if (command.addend, command.scale) == (Addend.COLUMN, Scale.COLUMN) or (
            command.addend == Addend.ROW and command.row_scale):
        chosen.append(CHECKED_ONCE)
    once = ONCE + sum(each for each, _ in chosen)
    beat = BEAT + sum(each for _, each in chosen)
    return (once + ROW * rows + beat * beats + _scale(command, rows, beats)
            + _reduction(command, rows, valid) + _sink(command, config, beats)
            + NARROW * command.narrow * valid + CAUSAL * command.causal * rows
            - INVALID * (config.lanes * beats - valid))


def _valid(command: Pass, config: Config) -> int:
    """Valid elements."""
    most = min(command.valid, command.beats * config.lanes)
    if not command.causal:
        return most * command.rows
    return sum(min(most, command.position + row + 1) for row in range(command.rows))


def _scale(command: Pass, rows: int, beats: int) -> int:
    kind = Scale(command.scale), command.row_scale
    once, row, beat = SCALES[kind]
    if beat is None:
        return 0
    shift = command.shift if kind == (Scale.TENSOR, 0) else SHIFT
    return once + row * rows + (beat + _shift(shift)) * beats


def _shift(shift: int) -> int:
    """A beat's multiplication and shift."""
    if shift < 16:
        return 224
    if shift == 16:
        return 78
    return 100 + 2 * (shift - 17) if shift < 48 else 54


def _reduction(command: Pass, rows: int, valid: int) -> int:
    if command.reduce == Reduce.NONE:
        return 0
    row, element = REDUCES[Reduce(command.reduce)]
    return REDUCED + (row + SCALARS[Scalar(command.scalar)]) * rows + element * valid


def _sink(command: Pass, config: Config, beats: int) -> int:
    sink = Sink(command.sink)
    once, beat = SINKS[sink]
    if sink == Sink.NONE:
        return 0
    tiles = command.rows * (command.beats * config.lanes // sink_granule(sink, config))
    fold = {Sink.WGT_ROWS: config.rows, Sink.WGT_LANES: config.cols}.get(sink, 1)
    phase = command.position % fold
    staying = command.rows - (phase + command.rows) // fold
    return once + beat * beats + WORD_END * tiles + STAYS * staying + INSIDE * (phase > 0)
