"""The command line. Only options and help are here; what commands do is imported when one runs."""
from enum import StrEnum
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


class DeviceName(StrEnum):
    """Where a program can run."""

    functional = "functional"
    rtl = "rtl"


def _example(*lines: str) -> str:
    return "\n\n".join(["Example:", *(f"  {line}" for line in lines)])


def _layer(value: str) -> str:
    if value != "all" and not value.isdecimal():
        raise typer.BadParameter(f"{value!r} is neither a number nor 'all'")
    return value


Json = Annotated[str | None, typer.Option(
    "--json", metavar="FILE|-", callback=writable_path,
    help="Write the result as JSON; '-' prints it instead of the report.")]
ConfigName = Annotated[str, typer.Option(
    "--config", metavar="NAME", help="Named configuration, see `systolith configs`.")]
ModelName = Annotated[str, typer.Argument(
    metavar="MODEL", help="Name of a model, or path of a checkpoint.")]
Layer = Annotated[str, typer.Option(
    "--layer", metavar="N|all", callback=_layer, help="Which layer, or all of them.")]
Prompt = Annotated[str | None, typer.Option(
    "--prompt", metavar="TEXT", help="Text to run on; one of the model's own by default.")]
DeviceOption = Annotated[DeviceName, typer.Option("--device", help="Where to run.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"systolith {version('systolith')}")
        raise typer.Exit


@app.callback()
def _main(_version: Annotated[bool, typer.Option(
        "--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """Systolith: an INT8 transformer accelerator and its compiler."""


@app.command(epilog=_example("systolith run glassllm --layer 2 --prompt 'Alice was' --json -"))
def run(
    model: ModelName = "glassllm",
    layer: Layer = "0",
    prompt: Prompt = None,
    config: ConfigName = "sim16",
    device: DeviceOption = DeviceName.rtl,
    max_cycles: Annotated[int, typer.Option(
        "--max-cycles", min=1, help="Give up after so many cycles (rtl).")] = DEFAULT_MAX_CYCLES,
    stall: Annotated[int, typer.Option(
        "--stall", metavar="PERCENT", min=0, max=95,
        help="Share of cycles in which host and external memory hold back at random.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the stalls.")] = 0,
    save: Annotated[str | None, typer.Option(
        "--save", metavar="PROGRAM", callback=writable_path,
        help="Also write the compiled layer as a program file.")] = None,
    json: Json = None,
) -> None:
    """Run the attention of a layer and compare every byte with the NumPy reference."""
    if stall and device is DeviceName.functional:
        fail("--stall needs --device rtl: the functional device has no cycles", USAGE)
    if save and layer == "all":
        fail("--save writes one layer: name it with --layer N", USAGE)
    with user_errors():
        from systolith.sim.commands import run as command
        from systolith.sim.progress import Progress
        from systolith.sim.report import print_report

        request = command.Request(
            model=model, layer=layer if layer == "all" else int(layer), prompt=prompt,
            config=config, device=device.value, max_cycles=max_cycles, stall=stall, seed=seed)
        result = command.run(request, save=Path(save) if save else None, progress=Progress())
        if write_json(result.as_json(), json):
            print_report(result)
    if not result.bit_exact:
        fail(f"{result.different_bytes} of {result.output_bytes} output bytes differ from the "
             "NumPy reference")


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
    device: DeviceOption = DeviceName.rtl,
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
                                      device=device.value, progress=Progress()))
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
