"""Commands that write and read what is generated: generate, disasm, verify."""
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.options import ConfigName, Json, Prompt, example
from systolith.sim.output import USAGE, fail, user_errors, write_json

commands = typer.Typer()


@commands.command(epilog=example("systolith generate --config tiny -o build/tiny",
                             "systolith generate --config tiny --port wishbone"))
def generate(
    config: ConfigName = "sim16",
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Folder for the Verilog and manifest.json; "
        "build/NAME by default.")] = None,
    port: Annotated[str, typer.Option(
        "--port", metavar="native|wishbone", help="Streams, or buses with a description for "
        "FuseSoC.")] = "native",
    json: Json = None,
) -> None:
    """Write the chip's Verilog and a manifest of its ports, memories and addresses."""
    with user_errors():
        from systolith.hw.configs import get_config
        from systolith.sim.commands.generate import write_chip
        from systolith.sim.progress import Progress

        chosen = get_config(config)
        result = write_chip(chosen, output or Path("build", config), port=port,
                            progress=Progress())
        if write_json(result, json):
            typer.echo(f"{result['verilog']} ({result['lines']} lines)\n{result['manifest']}")
            if "core" in result:
                typer.echo(result["core"])


def _program(path: Path):
    from systolith.sw.runtime.program import load_program

    if not path.is_file():
        fail(f"there is no program file {path}; `systolith run --save {path}` writes one", USAGE)
    return load_program(path)


ProgramPath = Annotated[Path, typer.Argument(
    metavar="PROGRAM", help="Program file, as `systolith run --save` writes it.")]


@commands.command(epilog=example("systolith disasm --model glassllm --layer 0",
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


@commands.command(epilog=example("systolith verify layer0.program"))
def verify(program: ProgramPath, json: Json = None) -> None:
    """Prove a program free of deadlock, races and stray addresses, or name the command."""
    with user_errors():
        from systolith.sim.commands import verify as command

        result = command.as_json(_program(program))
        if write_json(result, json):
            typer.echo(f"{program}: {result['commands']} commands verified, "
                       f"{result['words']} words free of races")
