"""Commands that measure: bench, trace, estimate."""
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.mesh import BenchCommand
from systolith.sim.cli.options import (
    RESULTS,
    ConfigName,
    DeviceOption,
    Json,
    MemoryName,
    ModelName,
    Prompt,
    check_memory,
    check_page,
    example,
    layer_number,
    picture_path,
    wave_path,
)
from systolith.sim.output import USAGE, fail, user_errors, writable_path, write_json
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES

commands = typer.Typer()


@commands.command(cls=BenchCommand, epilog=example(
    "systolith bench ragged attention-128 --json bench.json", "systolith bench --all --write",
    "systolith bench mesh --nodes 4x4 --plot mesh.png"))
def bench(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="NAME", help="Benchmarks, or the first words of their names; all but the slow ones "
        "by default.")] = None,
    config: ConfigName = "sim16",
    device: DeviceOption = "rtl",
    memory: MemoryName = "ideal",
    everything: Annotated[bool, typer.Option("--all", help="Run the slow ones, too.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only print the names.")] = False,
    write: Annotated[bool, typer.Option(
        "--write", help=f"Also put the tables into {RESULTS}.")] = False,
    json: Json = None,
) -> None:
    """Measure products, attention, layers and models: cycles, share of the limits, what is lost.

    `systolith bench mesh` measures the network between cores; it has options of its own.
    """
    if write and device == "functional":
        fail("--write needs --device rtl: the functional device has no cycles", USAGE)
    if write and memory != "ideal":
        fail("--write needs --memory ideal: the tables are made with it", USAGE)
    check_memory(memory, device)
    if write:
        check_page()
    chosen, slow = _benchmarks(names or [], everything)
    if listing:
        for name in [*(each.name for each in chosen), *(f"{name} (slow)" for name in slow)]:
            typer.echo(name)
        return
    with user_errors():
        from systolith.sim.commands import bench as command
        from systolith.sim.progress import Progress

        outcomes = list(command.bench(chosen, config=config, device=device, memory=memory,
                                      progress=Progress(), skip=not names))
        if write:
            from systolith.sim.results import bench_tables
            from systolith.sim.results_page import renew

            renew(bench_tables(outcomes), Path(RESULTS))
        if write_json([each.as_json() for each in outcomes], json):
            command.print_outcomes(outcomes)
            if slow:
                typer.echo(f"Left out, for they are slow: {', '.join(slow)}; --all runs them.")
    wrong = [each.name for each in outcomes if not each.bit_exact]
    if wrong:
        fail(f"{', '.join(wrong)}: the output differs from the NumPy reference")


def _benchmarks(names: list[str], everything: bool) -> tuple[list, list[str]]:
    """The benchmarks to run, and the names of those that are left out."""
    from systolith.sim.benchmarks import BENCHMARKS, BenchmarkError, select

    try:
        chosen = select(names) if names else list(BENCHMARKS.values())
    except BenchmarkError as error:
        fail(error, USAGE)
    slow = [] if names or everything else [each.name for each in chosen if each.slow]
    return [each for each in chosen if each.name not in slow], slow


@commands.command(epilog=example(
    "systolith trace glassllm --layer 2 -o trace.json --report report.html",
    "systolith trace minilm --prompt 'A cat sat.' -o trace.json --from 20000 --to 40000",
    "systolith trace product-512x512x512 -o trace.json",
    "systolith trace mathformer --prompt 7*8= --config tiny --wave wave.vcd --to 5000"))
def trace(
    model: Annotated[str, typer.Argument(
        metavar="MODEL", help="Name of a model or of a benchmark, or path of a checkpoint.")
    ] = "glassllm",
    layer: Annotated[int | None, typer.Option(
        "--layer", min=0, help="Only the attention of this layer; by default the whole model.")
    ] = None,
    prompt: Prompt = None,
    tokens: Annotated[int, typer.Option(
        "--tokens", metavar="N", min=1, help="Tokens that a language model writes.")] = 1,
    config: ConfigName = "sim16",
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", callback=writable_path,
        help="Timeline for https://ui.perfetto.dev; 1 us of it is 1 cycle.")] = None,
    report: Annotated[str | None, typer.Option(
        "--report", metavar="FILE", callback=writable_path,
        help="HTML page: roofline, utilization by part, lost cycles by cause.")] = None,
    wave: Annotated[str | None, typer.Option(
        "--wave", metavar="FILE", callback=wave_path,
        help="Waveform (VCD), with views for GTKWave and Surfer beside it; 10,000 cycles "
        "without --to.")] = None,
    start: Annotated[int, typer.Option(
        "--from", metavar="CYCLE", min=0, help="First cycle of timeline and waveform.")] = 0,
    end: Annotated[int | None, typer.Option(
        "--to", metavar="CYCLE", min=1, help="Where timeline and waveform end.")] = None,
    stall: Annotated[int, typer.Option(
        "--stall", metavar="PERCENT", min=0, max=95,
        help="Share of cycles in which host and external memory hold back at random.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the stalls.")] = 0,
    json: Json = None,
) -> None:
    """Record what every engine does in every cycle, and say where the cycles went."""
    if end is not None and end <= start:
        fail(f"--to must be after --from {start}, not {end}", USAGE)
    with user_errors():
        from systolith.sim.commands import trace as command
        from systolith.sim.commands.evaluate import check_plot
        from systolith.sim.progress import Progress

        if report:
            check_plot("--report")
        progress = Progress()
        traced = command.record(command.Request(
            model=model, layer=layer, prompt=prompt, tokens=tokens, config=config, stall=stall,
            seed=seed, max_cycles=DEFAULT_MAX_CYCLES, start=start, end=end,
            wave=Path(wave) if wave else None), progress=progress)
        command.write(traced, Path(output) if output else None, Path(report) if report else None,
                      progress)
        if write_json(traced.as_json(), json):
            command.print_traced(traced)


@commands.command(epilog=example("systolith estimate glassllm --length 100",
                             "systolith estimate glassllm --layer 0 --length 64 --config tiny",
                             "systolith estimate minilm --length 128 --memory sdram"))
def estimate(
    model: ModelName = "glassllm",
    config: ConfigName = "sim16",
    length: Annotated[int | None, typer.Option(
        "--length", metavar="N", min=1, help="So many tokens, instead of a prompt's.")] = None,
    prompt: Prompt = None,
    layer: Annotated[str | None, typer.Option(
        "--layer", metavar="N|all", callback=layer_number,
        help="Only the attention of a layer; the whole model by default.")] = None,
    memory: MemoryName = "ideal",
    ext_latency: Annotated[int | None, typer.Option(
        "--ext-latency", metavar="CYCLES", min=1,
        help="From a read request of external memory to its data, if not as the memory.")] = None,
    ext_bytes: Annotated[float | None, typer.Option(
        "--ext-bytes-per-cycle", metavar="N",
        help="What external memory moves at most, if not as the memory.")] = None,
    mhz: Annotated[float, typer.Option("--mhz", help="Clock, for tokens a second.")] = 100.0,
    json: Json = None,
) -> None:
    """Predict the cycles of a model without the RTL, and say what bounds them."""
    if length is not None and prompt is not None:
        fail("give --length or --prompt, not both", USAGE)
    if not 0 < mhz < float("inf"):
        fail(f"--mhz must be a frequency above 0, not {mhz:g}", USAGE)
    with user_errors():
        from systolith.sim.commands import estimate as command
        from systolith.sim.progress import Progress

        request = command.Request(
            model=model, layer=layer if layer in (None, "all") else int(layer), length=length,
            prompt=prompt, config=config, mhz=mhz,
            external=command.external(memory, config, ext_latency, ext_bytes))
        result = command.run(request, progress=Progress())
        if write_json(result.as_json(), json):
            command.print_estimated(result)


@commands.command(epilog=example("systolith scaling --length 512 --mhz 100 --plot scaling.png"))
def scaling(
    length: Annotated[int, typer.Option(
        "--length", min=1, help="Positions of the cache.")] = 512,
    mhz: Annotated[float, typer.Option(
        "--mhz", min=0.001, help="Clock of the chips.")] = 100.0,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="FILE", callback=picture_path, help="Draw the curves.")] = None,
    json: Json = None,
) -> None:
    """How many chips hold a language model of a billion weights, and what bounds its tokens."""
    from systolith.sim.commands import scaling as command

    with user_errors():
        if plot:
            from systolith.sim.commands.evaluate import check_plot

            check_plot()
        spreads = command.scale(length=length, mhz=mhz)
        if plot:
            command.plot(spreads, Path(plot))
        if write_json([each.as_json() for each in spreads], json):
            command.print_spreads(spreads)
