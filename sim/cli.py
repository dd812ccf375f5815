"""The command line. Only options and help are here; what commands do is imported when one runs."""
import os
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.output import (
    FAILURE,
    USAGE,
    fail,
    user_errors,
    writable_path,
    write_json,
)
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES

# Plain help and errors: they look the same on a terminal, in a log and in the README.
app = typer.Typer(name="systolith", no_args_is_help=True, rich_markup_mode=None,
                  pretty_exceptions_enable=False, add_completion=False,
                  help="Systolith: an INT8 transformer accelerator and its compiler.")


#: The page that has the tables of measurements, seen from the project's folder.
RESULTS = "docs/results.md"


def _wave(value: str | None) -> str | None:
    if value and not value.endswith(".vcd"):
        raise typer.BadParameter(f"{value} must end in .vcd, the format that is written; "
                                 "`vcd2fst` of GTKWave turns it into FST")
    return writable_path(value)


def _picture(value: str | None) -> str | None:
    if value and not value.endswith((".png", ".svg", ".pdf")):
        raise typer.BadParameter(f"{value} must end in .png, .svg or .pdf")
    return writable_path(value)


def _example(*lines: str) -> str:
    return "\n\n".join(["Example:", *(f"  {line}" for line in lines)])


def _device(value: str) -> str:
    from systolith.sim.devices import check_name

    try:
        return check_name(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _layer(value: str | None) -> str | None:
    if value is not None and value != "all" and not value.isdecimal():
        raise typer.BadParameter(f"{value!r} is neither a number nor 'all'")
    return value


Json = Annotated[str | None, typer.Option(
    "--json", metavar="FILE|-", callback=writable_path,
    help="Write the result as JSON; '-' prints it instead of the report.")]
ConfigName = Annotated[str, typer.Option(
    "--config", metavar="NAME", help="Named configuration, see `systolith configs`.")]
ModelName = Annotated[str, typer.Argument(
    metavar="MODEL", help="Name of a model, or path of a checkpoint.")]
Layer = Annotated[str | None, typer.Option(
    "--layer", metavar="N|all", callback=_layer, help="Which layer, or all of them; 0 by default.")]
Prompt = Annotated[str | None, typer.Option(
    "--prompt", metavar="TEXT", help="Text to run on; one of the model's own by default.")]
DeviceOption = Annotated[str, typer.Option(
    "--device", metavar="functional|rtl|serial:PORT[@BAUD]", callback=_device,
    help="Where to run: NumPy, the simulated chip, or a board on a serial port.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"systolith {version('systolith')}")
        raise typer.Exit


@app.callback()
def _main(_version: Annotated[bool, typer.Option(
        "--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """Systolith: an INT8 transformer accelerator and its compiler."""


@app.command(epilog=_example("systolith run glassllm --layer 2 --prompt 'Alice was' --json -",
                             "systolith run glassllm --prompt 'Alice was' --tokens 40",
                             "systolith run mathformer '7*8='",
                             "systolith run minilm --text sentences.txt"))
def run(
    model: ModelName = "glassllm",
    text: Annotated[str | None, typer.Argument(
        metavar="PROMPT", help="As --prompt, and lets the whole model go on with it.")] = None,
    layer: Layer = None,
    tokens: Annotated[int | None, typer.Option(
        "--tokens", metavar="N", min=1,
        help="Run the whole model and write so many tokens; 40 after PROMPT.")] = None,
    prompt: Prompt = None,
    config: ConfigName = "sim16",
    device: DeviceOption = "rtl",
    max_cycles: Annotated[int, typer.Option(
        "--max-cycles", min=1, help="Give up after so many cycles (rtl).")] = DEFAULT_MAX_CYCLES,
    stall: Annotated[int, typer.Option(
        "--stall", metavar="PERCENT", min=0, max=95,
        help="Share of cycles in which host and external memory hold back at random.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the stalls.")] = 0,
    lines: Annotated[Path | None, typer.Option(
        "--text", metavar="FILE",
        help="For a sentence encoder: texts to embed, one a line.")] = None,
    save: Annotated[str | None, typer.Option(
        "--save", metavar="PROGRAM", callback=writable_path,
        help="Also write the compiled layer as a program file.")] = None,
    temperature: Annotated[float, typer.Option(
        "--temperature", min=0, help="Of sampling; 0 takes the best token.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(
        "--top-k", min=1, help="Sample among so many best tokens.")] = None,
    top_p: Annotated[float, typer.Option(
        "--top-p", max=1, help="Sample among the best tokens that reach this probability.")] = 1.0,
    slide: Annotated[bool, typer.Option(
        "--slide", help="Go on with the last half of a full context.")] = False,
    compare: Annotated[bool, typer.Option(
        "--compare", help="Compare what a whole model gives with the functional device.")] = False,
    json: Json = None,
) -> None:
    """Run the attention of a layer and compare every byte with the NumPy reference; or, with PROMPT
    or --tokens, let the whole model write text; or, with --text, embed sentences."""
    if stall and device != "rtl":
        fail("--stall needs --device rtl: only there can its surroundings hold back", USAGE)
    writes = text is not None or tokens is not None
    if writes and (layer is not None or save):
        fail("--layer and --save run one layer; leave out PROMPT and --tokens", USAGE)
    if text is not None and prompt is not None:
        fail("the prompt is given twice, as PROMPT and by --prompt", USAGE)
    if compare and (not writes or device == "functional"):
        fail("--compare is for a whole model, with PROMPT or --tokens, on another device than the "
             "functional one", USAGE)
    if lines is not None and (writes or layer is not None or prompt is not None or save):
        fail("--text is for sentence encoders and takes no prompt, layer or tokens", USAGE)
    where = {"config": config, "device": device, "max_cycles": max_cycles, "stall": stall,
             "seed": seed}
    with user_errors():
        from systolith.sw.models.encoders import ENCODERS

        if lines is not None:
            _embed(model, lines, where, json)
        elif model in ENCODERS:
            fail(f"{model} is a sentence encoder: give it texts with --text FILE, one a line",
                 USAGE)
        elif model == "mathformer" and not writes:
            fail("mathformer chooses its model by the sign of a problem: give it as PROMPT, for "
                 "example '7*8=', or name mathformer-add, -sub, -mul or -div", USAGE)
        elif writes:
            _write_text(model, text if text is not None else prompt, tokens, slide, compare,
                        {"temperature": temperature, "top_k": top_k, "top_p": top_p}, where, json)
        else:
            _run_layer(model, layer or "0", prompt, save, where, json)


def _write_text(model: str, prompt: str | None, tokens: int | None, slide: bool, compare: bool,
                sampling: dict, where: dict, json: str | None) -> None:
    from systolith.sim.commands import complete as command
    from systolith.sim.progress import Progress
    from systolith.sw.runtime.sampling import Sampling

    if not 0 < sampling["top_p"]:
        fail(f"--top-p must be above 0, not {sampling['top_p']}", USAGE)
    request = command.Request(
        model=command.model_of(model, prompt), prompt=prompt,
        tokens=tokens or command.DEFAULT_TOKENS, slide=slide, compare=compare,
        sampling=Sampling(seed=where["seed"], **sampling), **where)
    quiet = json == "-"
    result = command.complete(
        request, progress=Progress(),
        show=(lambda piece: None) if quiet else lambda piece: typer.echo(piece, nl=False))
    if write_json(result.as_json(), json):
        typer.echo("\n")
        command.print_completion(result)
    if result.bit_exact is False:
        fail("logits or tokens differ from those of the functional device")


def _embed(model: str, path: Path, where: dict, json: str | None) -> None:
    from systolith.sim.commands import embed as command
    from systolith.sim.progress import Progress

    result = command.embed(command.Request(model=model, **where), command.texts_of(path),
                           progress=Progress())
    if write_json(result.as_json(), json):
        command.print_embedded(result)


def _run_layer(model: str, layer: str, prompt: str | None, save: str | None, where: dict,
               json: str | None) -> None:
    if save and layer == "all":
        fail("--save writes one layer: name it with --layer N", USAGE)
    from systolith.sim.commands import run as command
    from systolith.sim.progress import Progress
    from systolith.sim.report import print_report

    request = command.Request(model=model, layer=layer if layer == "all" else int(layer),
                              prompt=prompt, **where)
    result = command.run(request, save=Path(save) if save else None, progress=Progress())
    if write_json(result.as_json(), json):
        print_report(result)
    if not result.bit_exact:
        fail(f"{result.different_bytes} of {result.output_bytes} output bytes differ from the "
             "NumPy reference")


@app.command(epilog=_example("systolith similarity 'A cat sat.' 'A kitten was sitting.'"))
def similarity(
    first: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence.")],
    second: Annotated[str, typer.Argument(metavar="TEXT", help="Another one.")],
    model: Annotated[str, typer.Option(
        "--model", metavar="MODEL", help="Name of a sentence encoder, or its folder.")] = "minilm",
    config: ConfigName = "sim16",
    device: DeviceOption = "functional",
    json: Json = None,
) -> None:
    """Cosine of the embeddings of two sentences: 1 for the same meaning, about 0 for unrelated."""
    with user_errors():
        from systolith.sim.commands import embed as command
        from systolith.sim.progress import Progress

        if not (first.strip() and second.strip()):
            fail("a text is empty; give two sentences", USAGE)
        request = command.Request(model=model, config=config, device=device,
                                  max_cycles=DEFAULT_MAX_CYCLES)
        result = command.embed(request, [first, second], progress=Progress())
        if write_json({"similarity": result.similarity, **result.as_json()}, json):
            typer.echo(f"{result.similarity:.4f}")


@app.command(name="eval", epilog=_example(
    "systolith eval mathformer --json -",
    "systolith eval minilm --samples 500 --plot minilm.png",
    "systolith eval smollm2 --samples 4096 --write"))
def evaluate(
    model: Annotated[str, typer.Argument(
        metavar="MODEL", help="glassllm, minilm, smollm2, mathformer-add, -sub, -mul or -div, or "
        "mathformer for all four.")],
    samples: Annotated[int | None, typer.Option(
        "--samples", metavar="N", min=1, help="So many texts, or tokens of each text, instead of "
        "the usual: what the results have.")] = None,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="PICTURE", callback=_picture,
        help="Also draw the table (png, svg or pdf).")] = None,
    write: Annotated[bool, typer.Option(
        "--write", help=f"Also put the rows into {RESULTS}.")] = False,
    json: Json = None,
) -> None:
    """Measure accuracy on real data: floating point, INT8 in principle, and the machine."""
    if write:
        _check_page()
    # Many short products: threads cost more than they bring. Read when NumPy is first imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with user_errors():
        from systolith.sim.commands import evaluate as command

        if plot:
            command.check_plot()
        with command.bar(model) as progress:
            rows = command.evaluate(model, samples, progress)
        if plot:
            command.plot(rows, Path(plot))
        if write:
            from systolith.sim.accuracy_table import accuracy_section
            from systolith.sim.results_page import renew

            renew([accuracy_section(rows, Path(RESULTS))], Path(RESULTS))
        if write_json(command.as_json(rows), json):
            command.print_rows(rows)


@app.command(epilog=_example("systolith generate --config tiny -o build/tiny"))
def generate(
    config: ConfigName = "sim16",
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Folder for chip.v and manifest.json; "
        "build/NAME by default.")] = None,
    json: Json = None,
) -> None:
    """Write the chip's Verilog and a manifest of its ports, memories and parameters."""
    with user_errors():
        from systolith.hw.configs import get_config
        from systolith.sim.commands.generate import write_chip
        from systolith.sim.progress import Progress

        chosen = get_config(config)
        result = write_chip(chosen, output or Path("build", config), progress=Progress())
        if write_json(result, json):
            typer.echo(f"{result['verilog']} ({result['lines']} lines)\n{result['manifest']}")


def _program(path: Path):
    from systolith.sw.runtime.program import load_program

    if not path.is_file():
        fail(f"there is no program file {path}; `systolith run --save {path}` writes one", USAGE)
    return load_program(path)


ProgramPath = Annotated[Path, typer.Argument(
    metavar="PROGRAM", help="Program file, as `systolith run --save` writes it.")]


@app.command(epilog=_example("systolith disasm --model glassllm --layer 0",
                             "systolith disasm layer0.program --json commands.json"))
def disasm(
    program: Annotated[Path | None, typer.Argument(
        metavar="PROGRAM", help="Program file; without one, a layer is compiled.")] = None,
    model: Annotated[str | None, typer.Option(
        "--model", metavar="MODEL", help="Model to compile a layer of.")] = None,
    layer: Annotated[int | None, typer.Option("--layer", min=0, help="Which layer.")] = None,
    prompt: Prompt = None,
    config: Annotated[str | None, typer.Option(
        "--config", metavar="NAME", help="Configuration to compile for.")] = None,
    json: Json = None,
) -> None:
    """List the commands of a program: engine, index, word address, semaphores and fields."""
    compiled = {"--model": model, "--layer": layer, "--prompt": prompt, "--config": config}
    given = [name for name, value in compiled.items() if value is not None]
    if program and given:
        fail(f"give a program file or {' '.join(given)}, not both", USAGE)
    if not program and model is None:
        fail("give a program file, or --model and --layer to compile one", USAGE)
    with user_errors():
        from systolith.sim.commands import disasm as command

        chosen = _program(program) if program else command.compile_layer(
            str(model), layer or 0, prompt, config or "sim16")
        if write_json(command.as_json(chosen), json):
            typer.echo("\n".join(command.listing(chosen)))


@app.command(epilog=_example("systolith verify layer0.program"))
def verify(program: ProgramPath, json: Json = None) -> None:
    """Prove a program free of deadlock, races and stray addresses, or name the command."""
    with user_errors():
        from systolith.sim.commands import verify as command

        result = command.as_json(_program(program))
        if write_json(result, json):
            typer.echo(f"{program}: {result['commands']} commands verified, "
                       f"{result['words']} words free of races")


@app.command(epilog=_example("systolith bench ragged attention-128 --json bench.json",
                             "systolith bench --all --write"))
def bench(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="NAME", help="Benchmarks, or the first words of their names; all but the slow ones "
        "by default.")] = None,
    config: ConfigName = "sim16",
    device: DeviceOption = "rtl",
    everything: Annotated[bool, typer.Option("--all", help="Run the slow ones, too.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only print the names.")] = False,
    write: Annotated[bool, typer.Option(
        "--write", help=f"Also put the tables into {RESULTS}.")] = False,
    json: Json = None,
) -> None:
    """Measure products, attention, layers and models: cycles, share of the limits, what is lost."""
    if write and device == "functional":
        fail("--write needs --device rtl: the functional device has no cycles", USAGE)
    if write:
        _check_page()
    chosen, slow = _benchmarks(names or [], everything)
    if listing:
        for name in [*(each.name for each in chosen), *(f"{name} (slow)" for name in slow)]:
            typer.echo(name)
        return
    with user_errors():
        from systolith.sim.commands import bench as command
        from systolith.sim.progress import Progress

        outcomes = list(command.bench(chosen, config=config, device=device,
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


def _check_page() -> None:
    if not Path(RESULTS).is_file():
        fail(f"--write renews {RESULTS}, which is not here; run it in the project's folder", USAGE)


def _benchmarks(names: list[str], everything: bool) -> tuple[list, list[str]]:
    """The benchmarks to run, and the names of those that are left out."""
    from systolith.sim.benchmarks import BENCHMARKS, BenchmarkError, select

    try:
        chosen = select(names) if names else list(BENCHMARKS.values())
    except BenchmarkError as error:
        fail(error, USAGE)
    slow = [] if names or everything else [each.name for each in chosen if each.slow]
    return [each for each in chosen if each.name not in slow], slow


@app.command(epilog=_example(
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
        "--wave", metavar="FILE", callback=_wave,
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


@app.command(epilog=_example("systolith estimate glassllm --length 100",
                             "systolith estimate glassllm --layer 0 --length 64 --config tiny",
                             "systolith estimate minilm --length 128 --ext-bytes-per-cycle 4"))
def estimate(
    model: ModelName = "glassllm",
    config: ConfigName = "sim16",
    length: Annotated[int | None, typer.Option(
        "--length", metavar="N", min=1, help="So many tokens, instead of a prompt's.")] = None,
    prompt: Prompt = None,
    layer: Annotated[str | None, typer.Option(
        "--layer", metavar="N|all", callback=_layer,
        help="Only the attention of a layer; the whole model by default.")] = None,
    ext_latency: Annotated[int, typer.Option(
        "--ext-latency", metavar="CYCLES", min=1,
        help="From a read request of external memory to its data.")] = 8,
    ext_bytes: Annotated[float | None, typer.Option(
        "--ext-bytes-per-cycle", metavar="N",
        help="What external memory moves at most; as much as the bus by default.")] = None,
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
        from systolith.sw.estimate import ExternalMemory

        request = command.Request(
            model=model, layer=layer if layer in (None, "all") else int(layer), length=length,
            prompt=prompt, config=config, mhz=mhz,
            external=ExternalMemory(latency=ext_latency, bytes_per_cycle=ext_bytes))
        result = command.run(request, progress=Progress())
        if write_json(result.as_json(), json):
            command.print_estimated(result)


@app.command(epilog=_example("systolith configs"))
def configs(json: Json = None) -> None:
    """List the named configurations and their sizes."""
    from systolith.sim.commands import configs as command

    if write_json(command.as_json(), json):
        command.print_configs()


@app.command(epilog=_example("systolith boards --json -"))
def boards(json: Json = None) -> None:
    """List the boards, what is built for them, and figures of the last build here."""
    from systolith.sim.commands import boards as command

    if write_json(command.as_json(), json):
        command.print_boards()


BoardName = Annotated[str, typer.Argument(metavar="BOARD", help="See `systolith boards`.")]


@app.command(epilog=_example("systolith bitstream ulx3s-85f --seeds 8 --jobs 4"))
def bitstream(
    board: BoardName,
    seeds: Annotated[int, typer.Option(
        "--seeds", metavar="N", min=1, help="Place and route so often; the fastest is taken.")] = 3,
    jobs: Annotated[int | None, typer.Option(
        "--jobs", metavar="N", min=1,
        help="So many at a time; one a processor by default.")] = None,
    force: Annotated[bool, typer.Option(
        "--force", help="Write a bitstream that misses its timing, too.")] = False,
    json: Json = None,
) -> None:
    """Build a board's bitstream with Yosys and nextpnr. It is written only when timing is met."""
    with user_errors():
        from systolith.sim.commands import bitstream as command
        from systolith.sim.progress import Progress

        built = command.run(board, seeds=seeds, jobs=jobs, force=force, progress=Progress())
        if write_json(built.report, json):
            command.print_built(built)


@app.command(epilog=_example("systolith flash icebreaker"))
def flash(board: BoardName, json: Json = None) -> None:
    """Write the built bitstream to a board, by iceprog, openFPGALoader or dfu-util."""
    with user_errors():
        from systolith.sim.commands import bitstream as command
        from systolith.sim.progress import Progress

        result = command.flash(board, progress=Progress())
        if write_json(result, json):
            typer.echo(f"{board} has been written")


@app.command(name="board-test", epilog=_example(
    "systolith board-test --device serial:/dev/ttyUSB1 --config tiny",
    "systolith board-test --device rtl --config tiny --json health.json"))
def board_test(
    device: DeviceOption = "rtl",
    config: ConfigName = "tiny",
    full: Annotated[bool, typer.Option(
        "--full", help="Test all of every memory; the ends only by default.")] = False,
    json: Json = None,
) -> None:
    """Check a device's health: link loop-back, memory march, one product, one attention layer."""
    with user_errors():
        from systolith.sim.commands import board_test as command
        from systolith.sim.progress import Progress

        checks = command.run(device, config, full=full, progress=Progress())
        if write_json(command.as_json(device, config, checks), json):
            command.print_checks(checks)
    failed = [check.name for check in checks if check.passed is False]
    if failed:
        fail(f"not in good health: {', '.join(failed)}")


@app.command(name="virtual-board", epilog=_example(
    "systolith virtual-board --config tiny",
    "systolith run mathformer '7*8=' --config tiny --device serial:/dev/pts/3"))
def virtual_board(
    config: ConfigName = "tiny",
    clocks_per_bit: Annotated[float, typer.Option(
        "--clocks-per-bit", metavar="N", min=4, max=10_000,
        help="Clock cycles in a bit of the UART; fewer are faster.")] = 4,
    ext_bytes: Annotated[int | None, typer.Option(
        "--ext-bytes", metavar="N", help="Bytes of external memory, a power of two.")] = None,
) -> None:
    """Simulate a board behind a pseudo-terminal, until interrupted. The line that is printed is
    the device for other commands."""
    with user_errors():
        from systolith.sim.commands import virtual_board as command
        from systolith.sim.progress import Progress

        command.serve(config, clocks_per_bit=clocks_per_bit, ext_bytes=ext_bytes,
                      show=typer.echo, progress=Progress())


@app.command(epilog=_example("systolith doctor --json doctor.json"))
def doctor(json: Json = None) -> None:
    """Check compiler, make, perl, Verilator, Yosys, cocotb, cache and disk."""
    from systolith.sim import doctor as command

    checks = list(command.check_all())
    if write_json(command.as_json(checks), json):
        command.print_checks(checks)
    if not command.healthy(checks):
        raise typer.Exit(FAILURE)


def main() -> None:
    """Entry point of ``systolith``."""
    app()
