"""When a beat is where in the pipeline: cycles after its start, and what travels with it."""
from systolith.hw.vector.addend import ADDEND_LATENCY
from systolith.hw.vector.combine import COMBINE_LATENCY
from systolith.hw.vector.function import FUNCTION_LATENCY
from systolith.hw.vector.reduce import reduce_latency
from systolith.hw.vector.saturate import SATURATE_LATENCY
from systolith.hw.vector.scale import SCALE_LATENCY
from systolith.hw.vector.scale_word import SCALE_WORD_LATENCY
from systolith.hw.vector.sink import SINK_LATENCY

# Cycles after a beat's start in which its data are at the input of each stage. Memories answer in
# cycle 1, and what they gave is in registers in cycle 2; with a longer `source_latency`, a beat
# starts here cycles after its addresses went out. Scale words take longer than sums.
ADDEND_AT = 2
SCALE_AT = ADDEND_AT + max(SCALE_WORD_LATENCY, ADDEND_LATENCY)
FUNCTION_AT = SCALE_AT + SCALE_LATENCY
COMBINE_AT = FUNCTION_AT + FUNCTION_LATENCY
RESULT_AT = COMBINE_AT + COMBINE_LATENCY
SINK_AT = RESULT_AT + SATURATE_LATENCY
#: Cycle in which a beat's result is written.
WRITE_AT = SINK_AT + SINK_LATENCY


def reduction_at(config):
    """Cycle, after the start of a row's last beat, in which the row's reduction is written."""
    return RESULT_AT + reduce_latency(config.lanes) + config.scalar_cycles


# Fields of a beat that a stage and all that follow it need.
SINK_FIELDS = ("sink", "sink_address", "sink_place", "bank")
RESULT_FIELDS = (*SINK_FIELDS, "narrow", "output", "reduce", "scalar", "first", "last", "final",
                 "row_address")
COMBINE_FIELDS = (*RESULT_FIELDS, "combine")
FUNCTION_FIELDS = (*COMBINE_FIELDS, "function", "table", "load", "entry")
