"""The command line's root: what stands before every command."""
from typing import Annotated

import typer

# Plain help and errors: they look the same on a terminal, in a log and in the README.
app = typer.Typer(name="systolith", no_args_is_help=True, rich_markup_mode=None,
                  pretty_exceptions_enable=False, add_completion=False,
                  help="Systolith: an INT8 transformer accelerator and its compiler.")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"systolith {version('systolith')}")
        raise typer.Exit


@app.callback()
def _main(_version: Annotated[bool, typer.Option(
        "--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """Systolith: an INT8 transformer accelerator and its compiler."""
