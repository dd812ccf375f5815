"""Commands that use models: similarity, eval."""
import os
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.options import (
    RESULTS,
    ConfigName,
    DeviceOption,
    Json,
    Placement,
    Teams,
    WithoutCore,
    check_page,
    example,
    picture_path,
)
from systolith.sim.output import USAGE, fail, user_errors, write_json
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES

commands = typer.Typer()


@commands.command(epilog=example("systolith similarity 'A cat sat.' 'A kitten was sitting.'"))
def similarity(
    first: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence.")],
    second: Annotated[str, typer.Argument(metavar="TEXT", help="Another one.")],
    model: Annotated[str, typer.Option(
        "--model", metavar="MODEL", help="Name of a sentence encoder, or its folder.")] = "minilm",
    config: ConfigName = "sim16",
    device: DeviceOption = "functional",
    placement: Placement = None,
    teams: Teams = None,
    without_core: WithoutCore = None,
    json: Json = None,
) -> None:
    """Cosine of the embeddings of two sentences: 1 for the same meaning, about 0 for unrelated."""
    with user_errors():
        from systolith.sim.commands import embed as command
        from systolith.sim.progress import Progress

        if not (first.strip() and second.strip()):
            fail("a text is empty; give two sentences", USAGE)
        request = command.Request(model=model, config=config, device=device,
                                  max_cycles=DEFAULT_MAX_CYCLES, placement=placement, teams=teams,
                                  without=without_core or ())
        result = command.embed(request, [first, second], progress=Progress())
        if write_json({"similarity": result.similarity, **result.as_json()}, json):
            typer.echo(f"{result.similarity:.4f}")


@commands.command(name="eval", epilog=example(
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
        "--plot", metavar="PICTURE", callback=picture_path,
        help="Also draw the table (png, svg or pdf).")] = None,
    write: Annotated[bool, typer.Option(
        "--write", help=f"Also put the rows into {RESULTS}.")] = False,
    json: Json = None,
) -> None:
    """Measure accuracy on real data: floating point, INT8 in principle, and the machine."""
    if write:
        check_page()
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
