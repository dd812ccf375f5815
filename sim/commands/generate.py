"""``systolith generate``: the chip's Verilog, its manifest, and what else a system needs."""
import shutil
from pathlib import Path

from systolith.hw.config import Config
from systolith.hw.generate import top_module
from systolith.sim.chip import chip_folder
from systolith.sim.commands.core_description import core_description
from systolith.sim.progress import Progress


def write_chip(config: Config, folder: Path, *, port: str = "native",
               progress: Progress) -> dict[str, object]:
    """Write Verilog and ``manifest.json`` into a folder, which is made where missing.

    The Verilog is ``chip.v``. With ``port="wishbone"`` it is ``systolith.v``, and
    ``systolith.core`` describes it for FuseSoC.

    Raises
    ------
    ConfigError
        When there is no such port.
    """
    # First, because they may fail at once.
    top = top_module(port)
    folder.mkdir(parents=True, exist_ok=True)
    source = chip_folder(config, port=port, progress=progress)
    verilog, manifest = (Path(shutil.copy(source / name, folder))
                         for name in (f"{top}.v", "manifest.json"))
    result = {"config": config.name, "port": port, "verilog": str(verilog),
              "manifest": str(manifest), "lines": verilog.read_text().count("\n")}
    if port == "native":
        return result
    core = folder / f"{top}.core"
    core.write_text(core_description(config, top=top))
    return result | {"core": str(core)}
