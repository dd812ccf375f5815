"""The command that says what runs where: place."""
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.options import (
    ConfigName,
    Json,
    ModelName,
    Placement,
    Teams,
    WithoutCore,
    example,
    picture_path,
)
from systolith.sim.output import user_errors, write_json

commands = typer.Typer()


@commands.command(epilog=example("systolith place glassllm --config mesh4 --plot place.png",
                                 "systolith place minilm --config mesh4 --length 64 --json -",
                                 "systolith place glassllm --config mesh4 --without-core 2"))
def place(
    model: ModelName,
    config: ConfigName = "mesh4",
    length: Annotated[int | None, typer.Option(
        "--length", metavar="N", min=1, help="Tokens of an encoder's text, 128 by default; or "
        "before the one that a language model decodes, 100 by default.")] = None,
    placement: Placement = None,
    teams: Teams = None,
    without_core: WithoutCore = None,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="FILE", callback=picture_path,
        help="Picture of the mesh: cores, their work, beats of the links (.png, .svg, .pdf).")
    ] = None,
    json: Json = None,
) -> None:
    """Show what each core of a mesh does of a model, what it holds, loads and sends: read off the
    compiled programs, nothing runs."""
    with user_errors():
        from systolith.sim.commands import place as command
        from systolith.sim.progress import Progress

        if plot:
            from systolith.sim.commands.evaluate import check_plot

            check_plot()
        request = command.Request(model=model, config=config, length=length, placement=placement,
                                  without=without_core or (), teams=teams)
        placed = command.place(request, progress=Progress())
        if plot:
            command.plot(placed, Path(plot))
        if write_json(placed.as_json(), json):
            command.print_placed(placed)
