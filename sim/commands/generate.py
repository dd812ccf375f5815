"""``systolith generate``: the chip's Verilog and its manifest."""
import shutil
from pathlib import Path

from systolith.hw.config import Config
from systolith.sim.chip import chip_folder
from systolith.sim.progress import Progress


def write_chip(config: Config, folder: Path, *, progress: Progress) -> dict[str, object]:
    """Write ``chip.v`` and ``manifest.json`` into a folder, which is made where missing."""
    # First, because it may fail at once.
    folder.mkdir(parents=True, exist_ok=True)
    source = chip_folder(config, progress=progress)
    verilog, manifest = (Path(shutil.copy(source / name, folder))
                         for name in ("chip.v", "manifest.json"))
    return {"config": config.name, "verilog": str(verilog), "manifest": str(manifest),
            "lines": verilog.read_text().count("\n")}
