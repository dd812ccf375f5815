"""Commands that describe what is there: configs, doctor."""
import typer

from systolith.sim.cli.options import Json, example
from systolith.sim.output import FAILURE, write_json

commands = typer.Typer()


@commands.command(epilog=example("systolith configs"))
def configs(json: Json = None) -> None:
    """List the named configurations and their sizes."""
    from systolith.sim.commands import configs as command

    if write_json(command.as_json(), json):
        command.print_configs()


@commands.command(epilog=example("systolith doctor --json doctor.json"))
def doctor(json: Json = None) -> None:
    """Check compiler, make, perl, Verilator, Yosys, cocotb, cache and disk."""
    from systolith.sim import doctor as command

    checks = list(command.check_all())
    if write_json(command.as_json(checks), json):
        command.print_checks(checks)
    if not command.healthy(checks):
        raise typer.Exit(FAILURE)
