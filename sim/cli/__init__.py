"""The command line. Only options and help are here; what commands do is imported when one runs."""
from systolith.sim.cli import (
    boards,
    machine,
    measurements,
    models,
    place,
    predictions,
    programs,
    run,
)
from systolith.sim.cli.app import app

# In the order in which the help lists them.
for module in (run, models, place, programs, measurements, predictions, machine, boards):
    app.add_typer(module.commands)


def main() -> None:
    """Entry point of ``systolith``."""
    app()
