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
            _write_text(model, text if text is not None else prompt, tokens, slide,
                        {"temperature": temperature, "top_k": top_k, "top_p": top_p}, where, json)
        else:
            _run_layer(model, layer or "0", prompt, save, where, json)


def _write_text(model: str, prompt: str | None, tokens: int | None, slide: bool,
                sampling: dict, where: dict, json: str | None) -> None:
    from systolith.sim.commands import complete as command
    from systolith.sim.progress import Progress
    from systolith.sw.runtime.sampling import Sampling

    if not 0 < sampling["top_p"]:
        fail(f"--top-p must be above 0, not {sampling['top_p']}", USAGE)
    request = command.Request(
        model=command.model_of(model, prompt), prompt=prompt,
        tokens=tokens or command.DEFAULT_TOKENS, slide=slide,
        sampling=Sampling(seed=where["seed"], **sampling), **where)
    quiet = json == "-"
    result = command.complete(
        request, progress=Progress(),
        show=(lambda piece: None) if quiet else lambda piece: typer.echo(piece, nl=False))
    if write_json(result.as_json(), json):
        typer.echo("\n")
        command.print_completion(result)


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

        request = command.Request(model=model, config=config, device=device,
                                  max_cycles=DEFAULT_MAX_CYCLES)
        result = command.embed(request, [first, second], progress=Progress())
        if write_json({"similarity": result.similarity, **result.as_json()}, json):
            typer.echo(f"{result.similarity:.4f}")


@app.command(name="eval", epilog=_example("systolith eval minilm --samples 500 --plot minilm.png"))
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name of a model.")],
    samples: Annotated[int | None, typer.Option(
        "--samples", metavar="N", min=1, help="Only so many of the data; all by default.")] = None,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="PICTURE", callback=writable_path,
        help="Also draw the table (png, svg or pdf).")] = None,
    json: Json = None,
) -> None:
    """Measure accuracy on real data: floating point, INT8 in principle, and the machine."""
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


@app.command(epilog=_example("systolith bench attention-64 --json bench.json"))
def bench(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="NAME", help="Which benchmarks; all by default.")] = None,
    config: ConfigName = "sim16",
    device: DeviceOption = "rtl",
    json: Json = None,
) -> None:
    """Measure cycles and share of the peak of products and attention layers."""
    with user_errors():
        from systolith.sim.commands import bench as command
        from systolith.sim.progress import Progress

        for name in names or ():
            if name not in command.BENCHMARKS:
                fail(f"unknown benchmark {name!r}; choose among "
                     f"{', '.join(command.BENCHMARKS)}", USAGE)
        outcomes = list(command.bench(names or list(command.BENCHMARKS), config=config,
                                      device=device, progress=Progress()))
        if write_json({"benchmarks": [each.as_json() for each in outcomes]}, json):
            command.print_outcomes(outcomes)
    wrong = [each.name for each in outcomes if not each.bit_exact]
    if wrong:
        fail(f"{', '.join(wrong)}: the output differs from the NumPy reference")


@app.command(epilog=_example("systolith configs"))
def configs(json: Json = None) -> None:
    """List the named configurations and their sizes."""
    from systolith.sim.commands import configs as command

    if write_json(command.as_json(), json):
        command.print_configs()


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
