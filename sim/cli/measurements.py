"""Commands that measure: bench, trace."""
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
    Prompt,
    check_memory,
    check_page,
    example,
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
