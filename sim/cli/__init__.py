"""The command line. Only options and help are here; what commands do is imported when one runs."""
from systolith.sim.cli import boards, machine, measurements, models, predictions, programs
from systolith.sim.cli.app import app

# In the order in which the help lists them.
for module in (models, programs, measurements, predictions, machine, boards):
    app.add_typer(module.commands)


def main() -> None:
    """Entry point of ``systolith``."""
    app()
