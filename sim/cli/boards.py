"""Commands for boards: boards, bitstream, timing, flash, board-test, virtual-board."""
from typing import Annotated

import typer

from systolith.sim.cli.options import ConfigName, DeviceOption, Json, example
from systolith.sim.output import fail, user_errors, write_json

commands = typer.Typer()


@commands.command(epilog=example("systolith boards --json -"))
def boards(json: Json = None) -> None:
    """List the boards, what is built for them, and figures of the last build here."""
    from systolith.sim.commands import boards as command

    if write_json(command.as_json(), json):
        command.print_boards()


BoardName = Annotated[str, typer.Argument(metavar="BOARD", help="See `systolith boards`.")]


@commands.command(epilog=example("systolith bitstream ulx3s-85f --seeds 8 --jobs 4"))
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


@commands.command(epilog=example(
    "systolith timing ulx3s-85f accumulator --seeds 2",
    "systolith timing ulx3s-85f array --config ecp5-85f-256"))
def timing(
    board: BoardName,
    block: Annotated[str, typer.Argument(
        metavar="BLOCK", help="Such as array, accumulator, control, vector, chip.")],
    config: Annotated[str | None, typer.Option(
        "--config", metavar="NAME", help="Sizes of this configuration, not the board's.")] = None,
    seeds: Annotated[int, typer.Option(
        "--seeds", metavar="N", min=1, help="Place and route so often.")] = 1,
    jobs: Annotated[int, typer.Option(
        "--jobs", metavar="N", min=1, help="So many at a time.")] = 1,
    json: Json = None,
) -> None:
    """Place and route one block of a board's core by itself: how fast it is and what limits it."""
    with user_errors():
        from systolith.sim.commands import timing as command
        from systolith.sim.progress import Progress

        timed = command.run(board, block, config=config, seeds=seeds, jobs=jobs,
                            progress=Progress())
        if write_json(command.as_json(timed), json):
            command.print_timing(timed)


@commands.command(epilog=example("systolith flash icebreaker"))
def flash(board: BoardName, json: Json = None) -> None:
    """Write the built bitstream to a board, by iceprog, openFPGALoader or dfu-util."""
    with user_errors():
        from systolith.sim.commands import bitstream as command
        from systolith.sim.progress import Progress

        result = command.flash(board, progress=Progress())
        if write_json(result, json):
            typer.echo(f"{board} has been written")


@commands.command(name="board-test", epilog=example(
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


@commands.command(name="virtual-board", epilog=example(
    "systolith virtual-board --config tiny",
    "systolith virtual-board --board ulx3s-85f",
    "systolith virtual-board --board icebreaker --gates",
    "systolith run mathformer '7*8=' --config tiny --device serial:/dev/pts/3"))
def virtual_board(
    config: ConfigName = "tiny",
    board: Annotated[str | None, typer.Option(
        "--board", metavar="BOARD", help="Simulate the whole top level of this board, with its "
        "pads and its SDRAM, instead of a machine alone. See `systolith boards`.")] = None,
    gates: Annotated[bool, typer.Option(
        "--gates", help="With --board: simulate the netlist that goes into the FPGA, cell by cell, "
        "instead of the source. Slow; needs the tools of `systolith bitstream`.")] = False,
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

        if board is not None:
            command.serve_board(board, gates=gates, clocks_per_bit=clocks_per_bit,
                                ext_bytes=ext_bytes, show=typer.echo, progress=Progress())
        else:
            command.serve(config, gates=gates, clocks_per_bit=clocks_per_bit,
                          ext_bytes=ext_bytes, show=typer.echo, progress=Progress())
