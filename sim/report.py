"""The report of ``systolith run`` as text."""
from systolith.hw.config import MEMORIES, Config, Region
from systolith.sim.commands.run import LayerRun, Run
from systolith.sim.measure import Measure
from systolith.sim.text import number, percent, print_facts, print_table, size

#: Columns of the table of cycles by engine: key of the JSON report, heading.
STATES = (("commands", "commands"), ("busy", "busy"), ("wait_semaphore", "semaphore"),
          ("wait_fence", "fence"), ("stall", "stalled"), ("idle", "idle"))

DEVICES = {"rtl": "rtl: the generated Verilog in Verilator",
           "functional": "functional: NumPy, which has no cycles"}

_NAMES = {Region.ACT: "activations", Region.WGT: "weights", Region.VEC: "vectors",
          Region.CONST: "column constants", Region.ROW: "row constants",
          Region.ACC: "accumulators"}


def print_report(run: Run) -> None:
    """What ran, whether it is bit exact, what it cost, and how far it is from floating point."""
    print_facts(_what(run))
    print_facts(_cost(run))
    if len(run.layers) > 1:
        heads = ("layer", "bit exact", "cycles", "utilization", "mean error", "largest error")
        print_table(heads, map(_layer_row, run.layers))
    _print_engines(run.measure)
    print_facts([("Float error", _error(run))])


def _what(run: Run) -> list[tuple[str, str]]:
    model, config = run.model, run.config
    layers = (f"all {model.layers} layers" if len(run.layers) > 1
              else f"layer {run.layers[0].layer.index} of {model.layers}")
    stall = f", {run.request.stall} % stalls, seed {run.request.seed}" if run.request.stall else ""
    return [
        ("Model", f"{model.name}, attention of {layers}"),
        ("Layer", f"width {model.width}, {model.heads} heads of {model.head_dim}, "
                  f"{model.kv_heads} of keys and values"),
        ("Prompt", f"{run.prompt} ({run.tokens} tokens)"),
        ("Configuration", f"{config.name}: {config.rows} x {config.cols} cells, {config.lanes} "
                          f"lanes, bus of {config.bus_bytes} bytes"),
        ("Memories", ", ".join(_memory(config, region) for region in MEMORIES)),
        ("Device", DEVICES.get(run.request.device, run.request.device) + stall),
    ]


def _memory(config: Config, region: Region) -> str:
    return f"{_NAMES[region]} {size(config.region_bytes(region))}"


def _cost(run: Run) -> list[tuple[str, str]]:
    measure = run.measure
    exact = (f"yes: all {run.output_bytes:,} output bytes equal the NumPy reference"
             if run.bit_exact else f"NO: {run.different_bytes:,} of {run.output_bytes:,} output "
             "bytes differ from the NumPy reference")
    return [
        ("Bit exact", exact),
        ("Cycles", number(measure.cycles)),
        ("Useful MACs", f"{measure.macs:,} (peak {run.config.peak_macs_per_cycle} a cycle)"),
        ("Utilization", percent(measure.utilization)),
        ("Bytes moved", number(measure.counters.move_bytes)),
    ]


def _print_engines(measure: Measure) -> None:
    first = "beats by engine" if measure.cycles is None else "cycles by engine"
    print_table((first, *(head for _, head in STATES)),
                ([name, *(number(engine[key]) for key, _ in STATES)]
                 for name, engine in measure.engines().items()))


def _layer_row(each: LayerRun) -> tuple[str, ...]:
    result = each.result
    return (str(each.layer.index), "yes" if result.bit_exact else "NO",
            number(each.measure.cycles), percent(each.measure.utilization),
            f"{result.mean_abs_error:.5f}", f"{result.max_abs_error:.5f}")


def _error(run: Run) -> str:
    mean, largest = run.mean_abs_error, run.max_abs_error
    return (f"mean {mean:.5f}, largest {largest:.5f}: {percent(mean / run.output_rms)} and "
            f"{percent(largest / run.output_rms)} of output RMS")
