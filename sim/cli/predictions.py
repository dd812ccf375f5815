"""Commands that predict: estimate, energy, scaling."""
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.options import (
    ConfigName,
    Json,
    MemoryName,
    ModelName,
    Prompt,
    example,
    layer_number,
    picture_path,
)
from systolith.sim.output import USAGE, fail, user_errors, write_json

commands = typer.Typer()


@commands.command(epilog=example("systolith estimate glassllm --length 100",
                             "systolith estimate glassllm --layer 0 --length 64 --config tiny",
                             "systolith estimate minilm --length 128 --memory sdram",
                             "systolith estimate minilm --length 32 --config sim16@2x2"))
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
    """Predict the cycles of a model without the RTL, and say what bounds them; on several cores, of
    each way to place it."""
    if length is not None and prompt is not None:
        fail("give --length or --prompt, not both", USAGE)
    if not 0 < mhz < float("inf"):
        fail(f"--mhz must be a frequency above 0, not {mhz:g}", USAGE)
    with user_errors():
        from systolith.hw.configs import get_config
        from systolith.sim.commands import estimate, estimate_mesh
        from systolith.sim.progress import Progress

        request = estimate.Request(
            model=model, layer=layer if layer in (None, "all") else int(layer), length=length,
            prompt=prompt, config=config, mhz=mhz,
            external=estimate.external(memory, config, ext_latency, ext_bytes))
        command = estimate_mesh if get_config(config).cores > 1 else estimate
        result = command.run(request, progress=Progress())
        if write_json(result.as_json(), json):
            command.print_estimated(result)


@commands.command(epilog=example("systolith energy glassllm --length 33",
                             "systolith energy minilm --board ulx3s-85f --plot energy.png",
                             "systolith energy mathformer --config tiny --measure"))
def energy(
    model: ModelName = "glassllm",
    config: Annotated[str | None, typer.Option(
        "--config", metavar="NAME", help="Named configuration; the board's, or sim16.")] = None,
    board: Annotated[str | None, typer.Option(
        "--board", metavar="NAME", help="A board of `systolith boards`; without, a 45 nm chip.")
    ] = None,
    length: Annotated[int | None, typer.Option(
        "--length", metavar="N", min=1, help="So many tokens, instead of a prompt's.")] = None,
    prompt: Prompt = None,
    mhz: Annotated[float | None, typer.Option(
        "--mhz", help="Clock; the board's, or 100 MHz.")] = None,
    measure: Annotated[bool, typer.Option(
        "--measure", help="Measure on the RTL how often the array's bits toggle.")] = False,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="FILE", callback=picture_path, help="Draw joules a token by part.")
    ] = None,
    json: Json = None,
) -> None:
    """Estimate the joules of a token out of counts of operations and published energies."""
    if length is not None and (prompt is not None or measure):
        fail("give --length, or --prompt and --measure, which run a text; not both", USAGE)
    if mhz is not None and not 0 < mhz < float("inf"):
        fail(f"--mhz must be a frequency above 0, not {mhz:g}", USAGE)
    with user_errors():
        from systolith.sim.commands import energy as command
        from systolith.sim.commands.evaluate import check_plot
        from systolith.sim.progress import Progress

        if plot:
            check_plot()
        result = command.run(command.Request(
            model=model, config=config, board=board, length=length, prompt=prompt, mhz=mhz,
            measure=measure), progress=Progress())
        if plot:
            command.plot(result, Path(plot))
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
