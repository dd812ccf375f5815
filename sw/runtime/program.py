"""A program: commands of the three engines, the memory image, and a manifest."""
import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.configs import CONFIGS
from systolith.hw.isa import ENGINES, VERSION, Command, Engine, decode_stream
from systolith.sw.runtime.device import Device, Memory

#: Version of the layout of program files.
FORMAT = 1


class ProgramError(ValueError):
    """A program file that is damaged, or that does not belong to this configuration."""


@dataclass(frozen=True)
class Section:
    """Bytes of the memory image. ``memory`` is a region or ``"ext"``."""

    name: str
    memory: Memory
    offset: int
    data: bytes


@dataclass(frozen=True)
class Program:
    """Compiled commands and memory image for one configuration.

    Parameters
    ----------
    config : Config
        The configuration it was compiled for.
    commands : mapping of Engine to list of Command
        Each engine's queue, in order.
    sections : tuple of Section
        Memory image, written before the run.
    model : str
        What it computes, for reports.
    macs : int
        Useful multiply-accumulates of one run.
    """

    config: Config
    commands: Mapping[Engine, list[Command]]
    sections: tuple[Section, ...] = ()
    model: str = ""
    macs: int = 0
    notes: Mapping[str, object] = field(default_factory=dict)

    def load(self, device: Device) -> None:
        """Write the memory image to a device.

        Raises
        ------
        ProgramError
            When the device's configuration is not the program's.
        """
        if device.config.identity != self.config.identity:
            raise ProgramError(
                f"the program was compiled for configuration {self.config.name!r} "
                f"(ID {self.config.identity:#010x}), but the device is {device.config.name!r} "
                f"(ID {device.config.identity:#010x}); compile it again for the device")
        for section in self.sections:
            device.write(section.memory, section.offset, section.data)

    def words(self) -> dict[Engine, list[int]]:
        """Encoded commands of each engine."""
        return {engine: [word for command in self.commands.get(engine, [])
                         for word in command.encode()] for engine in ENGINES}

    def all_commands(self) -> list[Command]:
        """The commands of all engines, one queue after the other."""
        return [command for engine in ENGINES for command in self.commands.get(engine, [])]

    @property
    def digest(self) -> str:
        """SHA-256 over configuration, commands and image."""
        digest = hashlib.sha256(f"{VERSION} {self.config.identity}".encode())
        for engine, words in self.words().items():
            digest.update(engine.name.encode() + np.array(words, dtype="<u4").tobytes())
        for section in self.sections:
            digest.update(f"{section.memory!s} {section.offset}".encode() + section.data)
        return digest.hexdigest()

    def manifest(self) -> dict[str, object]:
        """What the program file says of itself."""
        return {
            "format": FORMAT, "isa": VERSION, "config": self.config.name,
            "identity": self.config.identity, "model": self.model, "macs": self.macs,
            "digest": self.digest,
            "commands": {engine.name: len(self.commands.get(engine, [])) for engine in ENGINES},
            "sections": [{"name": s.name, "memory": _memory_name(s.memory), "offset": s.offset,
                          "bytes": len(s.data)} for s in self.sections],
        }

    def save(self, path: Path) -> None:
        """Write a program file: a zip of manifest.json, one .bin a queue and one a section."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("manifest.json", json.dumps(self.manifest(), indent=1))
            for engine, words in self.words().items():
                archive.writestr(f"{engine.name}.bin", np.array(words, dtype="<u4").tobytes())
            for index, section in enumerate(self.sections):
                archive.writestr(f"section{index}.bin", section.data)


def _memory_name(memory: Memory) -> str:
    return memory.name if isinstance(memory, Region) else memory


def _memory(name: str) -> Memory:
    return name if name == "ext" else Region[name]


#: Entries of a manifest, and of each of its sections, and their types.
_ENTRIES = {"format": int, "isa": int, "config": str, "identity": int, "model": str, "macs": int,
            "digest": str, "commands": dict, "sections": list}
_SECTION_ENTRIES = {"name": str, "memory": str, "offset": int}


def _checked(manifest: Any) -> dict[str, Any]:
    """The manifest, if it has all entries; ValueError that names the first wrong one."""
    _check_entries("the manifest", manifest, _ENTRIES)
    if manifest["format"] != FORMAT:
        raise ValueError(f"its format is {manifest['format']}, this reads format {FORMAT}")
    for index, section in enumerate(manifest["sections"]):
        _check_entries(f"section {index} of the manifest", section, _SECTION_ENTRIES)
        if section["memory"] != "ext" and section["memory"] not in Region.__members__:
            raise ValueError(f"section {index} lies in {section['memory']!r}, which is no memory")
    return manifest


def _check_entries(what: str, value: Any, entries: Mapping[str, type]) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")
    for name, kind in entries.items():
        if not isinstance(value.get(name), kind):
            raise ValueError(f"{name!r} in {what} must be of type {kind.__name__}, "
                             f"not {value.get(name)!r}")


def load_program(path: Path, config: Config | None = None) -> Program:
    """Read a program file.

    Parameters
    ----------
    config : Config, optional
        Needed when the file's configuration is not a named one.

    Raises
    ------
    ProgramError
        When the file is cut short, damaged, of another ISA version, or for another configuration.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _checked(json.loads(archive.read("manifest.json")))
            queues = {engine: np.frombuffer(archive.read(f"{engine.name}.bin"), "<u4").tolist()
                      for engine in ENGINES}
            blobs = [archive.read(f"section{i}.bin") for i in range(len(manifest["sections"]))]
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ProgramError(f"{path} is no readable program file: {error}") from None
    if manifest["isa"] != VERSION:
        raise ProgramError(f"{path} has ISA version {manifest['isa']}, this is version {VERSION}; "
                           "compile it again")
    chosen = config or CONFIGS.get(manifest["config"])
    if chosen is None or chosen.identity != manifest["identity"]:
        raise ProgramError(f"{path} was compiled for a configuration {manifest['config']!r} "
                           f"with ID {manifest['identity']:#010x}, which is not known here; "
                           "compile it again")
    sections = tuple(
        Section(s["name"], _memory(s["memory"]), s["offset"], blob)
        for s, blob in zip(manifest["sections"], blobs, strict=True))
    program = Program(chosen, {engine: list(decode_stream(engine, words))
                               for engine, words in queues.items()},
                      sections, manifest["model"], manifest["macs"])
    if program.digest != manifest["digest"]:
        raise ProgramError(f"{path} is damaged: its digest is {program.digest[:12]}, "
                           f"the manifest says {manifest['digest'][:12]}; compile it again")
    return program
