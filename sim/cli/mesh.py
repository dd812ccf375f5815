"""``systolith bench mesh``: a command below ``bench``."""
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from systolith.sim.cli.options import Json, example, picture_path
from systolith.sim.output import USAGE, fail, user_errors, write_json

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


class BenchCommand(TyperCommand):
    """``bench``, whose arguments are names of benchmarks, but for ``bench mesh``."""

    def make_context(self, info_name: str | None, args: list[str],
                     parent: typer.Context | None = None, **extra: Any) -> typer.Context:
        """The context of this command, or of the one below it."""
        if args[:1] == ["mesh"]:
            command = typer.main.get_command(app)
            return command.make_context(f"{info_name} mesh", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@app.command(epilog=example("systolith bench mesh --nodes 4x4 --plot mesh.png",
                            "systolith bench mesh --nodes 8x8 --pattern transpose --json -",
                            "systolith bench mesh --what area --no-crosspoint --bus-bytes 8",
                            "systolith bench mesh --what speed-up --nodes 2x2 --core sim16",
                            "systolith bench mesh --what speed-up --nodes 2x2 --work glassllm "
                            "--core-size wgt_depth=2048",
                            "systolith bench mesh --what simulation --nodes 2x2 --core tiny",
                            "systolith bench mesh --what pipeline --nodes 3x2 --requests 12"))
def bench_mesh(
    nodes: Annotated[str, typer.Option(
        "--nodes", metavar="WxH", help="Columns and rows of the mesh.")] = "4x4",
    what: Annotated[list[str] | None, typer.Option(
        "--what", metavar="traffic|gather|area|core-gather|speed-up|simulation|pipeline",
        help="What to measure, once for each; traffic and gather by default. The last four have "
        "cores on the mesh.")] = None,
    pattern: Annotated[str, typer.Option(
        "--pattern", metavar="uniform|transpose|hot-spot|all-to-one|neighbour|all",
        help="Where packets go.")] = "all",
    cycles: Annotated[int, typer.Option(
        "--cycles", metavar="N", min=100, help="Cycles in which each load is measured, after half "
        "as many to warm up.")] = 4000,
    crosspoint: Annotated[bool, typer.Option(
        "--crosspoint/--no-crosspoint",
        help="A queue for each input and output of a router, or one for each input.")] = True,
    depth: Annotated[int, typer.Option(
        "--queue-depth", metavar="N", help="Packets in a queue.")] = 4,
    bus_bytes: Annotated[int, typer.Option(
        "--bus-bytes", metavar="N", help="Bytes of data in a packet.")] = 16,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the traffic.")] = 1,
    core: Annotated[str, typer.Option(
        "--core", metavar="CONFIG", help="What the cores are, where there are cores.")] = "sim16",
    size: Annotated[list[str] | None, typer.Option(
        "--core-size", metavar="NAME=N", help="Another size than a core of that configuration has, "
        "such as wgt_depth=2048; once for each.")] = None,
    work: Annotated[str | None, typer.Option(
        "--work", metavar="TEXT", help="How the names of the works begin whose speed-up is "
        "measured; all by default.")] = None,
    requests: Annotated[int, typer.Option(
        "--requests", metavar="N", min=1, help="Texts that go through the pipeline one right after "
        "the other; more than there are cores.")] = 10,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="FILE", callback=picture_path,
        help="Picture of curves, bounds and loads of the links (.png, .svg, .pdf).")] = None,
    json: Json = None,
) -> None:
    """Measure the mesh: latency, throughput, links, an all-gather, area, speed-up over cores, a
    pipeline of MiniLM's layers."""
    with user_errors():
        from systolith.hw.mesh.config import MeshConfig
        from systolith.sim.commands import bench_mesh as command
        from systolith.sim.mesh.cores import core_of
        from systolith.sim.progress import Progress

        chosen = tuple(dict.fromkeys(what or command.DEFAULT))
        if plot and "traffic" not in chosen:
            fail("--plot shows traffic; add --what traffic", USAGE)
        if plot:
            from systolith.sim.commands.evaluate import check_plot

            check_plot()
        width, height = command.size_of(nodes)
        config = MeshConfig(width=width, height=height, bus_bytes=bus_bytes, queue_depth=depth,
                            crosspoint=crosspoint)
        request = command.Request(config, command.patterns_of(pattern, config), cycles, seed,
                                  core_of(core, size or ()), work, requests)
        results = command.run(request, chosen, progress=Progress())
        if plot:
            from systolith.sim.mesh.pictures import write_picture

            write_picture(config, results["traffic"].curves, Path(plot))
        if write_json(command.as_json(request, results), json):
            for result in results.values():
                result.print()
