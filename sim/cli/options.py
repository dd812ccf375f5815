"""Options that several commands have, and the checks of their values."""
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.output import USAGE, fail, writable_path

#: The page that has the tables of measurements, seen from the project's folder.
RESULTS = "docs/results.md"


def check_page() -> None:
    """End when the page that ``--write`` renews is not here."""
    if not Path(RESULTS).is_file():
        fail(f"--write renews {RESULTS}, which is not here; run it in the project's folder", USAGE)


def wave_path(value: str | None) -> str | None:
    """The path of a wave, if it has the right ending."""
    if value and not value.endswith(".vcd"):
        raise typer.BadParameter(f"{value} must end in .vcd, the format that is written; "
                                 "`vcd2fst` of GTKWave turns it into FST")
    return writable_path(value)


def picture_path(value: str | None) -> str | None:
    """The path of a picture, if it has one of the right endings."""
    if value and not value.endswith((".png", ".svg", ".pdf")):
        raise typer.BadParameter(f"{value} must end in .png, .svg or .pdf")
    return writable_path(value)


def example(*lines: str) -> str:
    """The end of a command's help: how it is called."""
    return "\n\n".join(["Example:", *(f"  {line}" for line in lines)])


def device_name(value: str) -> str:
    """The name of a device, if there is such a kind."""
    from systolith.sim.devices import check_name

    try:
        return check_name(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def memory_name(value: str) -> str:
    """The name of a simulated external memory, if it is one."""
    from systolith.sw.estimate import MEMORIES

    if value not in MEMORIES:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(MEMORIES)}")
    return value


def check_memory(memory: str, device: str) -> None:
    """End when a memory is to be simulated beside a device that has its own."""
    if memory != "ideal" and device != "rtl":
        fail("--memory needs --device rtl: only there is external memory simulated", USAGE)


def layer_number(value: str | None) -> str | None:
    """A layer, if it is a number or 'all'."""
    if value is not None and value != "all" and not value.isdecimal():
        raise typer.BadParameter(f"{value!r} is neither a number nor 'all'")
    return value


Json = Annotated[str | None, typer.Option(
    "--json", metavar="FILE|-", callback=writable_path,
    help="Write the result as JSON; '-' prints it instead of the report.")]
ConfigName = Annotated[str, typer.Option(
    "--config", metavar="NAME", help="Named configuration, see `systolith configs`.")]
ModelName = Annotated[str, typer.Argument(
    metavar="MODEL", help="Name of a model, or path of a checkpoint.")]
Layer = Annotated[str | None, typer.Option(
    "--layer", metavar="N|all", callback=layer_number,
    help="Which layer, or all of them; 0 by default.")]
Prompt = Annotated[str | None, typer.Option(
    "--prompt", metavar="TEXT", help="Text to run on; one of the model's own by default.")]
DeviceOption = Annotated[str, typer.Option(
    "--device", metavar="functional|rtl|serial:PORT[@BAUD]", callback=device_name,
    help="Where to run: NumPy, the simulated chip, or a board on a serial port.")]
Placement = Annotated[str | None, typer.Option(
    "--placement", metavar="NAME", help="How several cores share the work: `texts` gives each one "
    "a text of its own, `layers` some layers, `groups` gives them to teams of cores, `auto` takes "
    "what the cycle model finds fastest; otherwise all work on one text.")]
Teams = Annotated[int | None, typer.Option(
    "--teams", metavar="N", min=1, help="Teams of cores, for `--placement groups`; by default as "
    "many as suit the layers.")]
WithoutCore = Annotated[list[int] | None, typer.Option(
    "--without-core", metavar="N", min=0,
    help="Work around this core, which is switched off; once for each.")]
MemoryName = Annotated[str, typer.Option(
    "--memory", metavar="ideal|sdram", callback=memory_name,
    help="External memory of the simulated chip: a beat a cycle, or like an SDRAM of 16 bits.")]
