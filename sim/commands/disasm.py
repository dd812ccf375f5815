"""``systolith disasm``: the commands of a program as text or as JSON."""
from collections.abc import Iterator

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, WORDS, Command, Engine
from systolith.sim.attention import prepare_layer
from systolith.sw.models import load_model
from systolith.sw.runtime.program import Program

#: Fields that have their own place in a listing.
COMMON = ("opcode", "fence", "wait", "signal")


def as_json(program: Program) -> dict[str, object]:
    """The manifest, and under ``engines`` every command with its words and fields."""
    return {**program.manifest(), "engines": {
        engine.name.lower(): [_command(engine, index, command) for index, command
                              in enumerate(program.commands.get(engine, ()))]
        for engine in ENGINES}}


def _command(engine: Engine, index: int, command: Command) -> dict[str, object]:
    return {"index": index, "address": index * WORDS[engine], "opcode": command.OPCODE.name,
            "fence": bool(command.fence), "wait": semaphores(command.wait),
            "signal": semaphores(command.signal), "fields": fields(command),
            "words": command.encode()}


def semaphores(mask: int) -> list[int]:
    """Numbers of the semaphores in a mask."""
    return [index for index in range(mask.bit_length()) if mask >> index & 1]


def fields(command: Command) -> dict[str, int | str]:
    """All fields but the common ones, those with an enumeration by the value's name."""
    result: dict[str, int | str] = {}
    for layout in command.layout():
        if layout.name not in COMMON:
            value = getattr(command, layout.name)
            # The region is a plain number in the ISA, which does not know the address map.
            kind = Region if layout.name == "region" else layout.enum
            result[layout.name] = kind(value).name if kind else value
    return result


def listing(program: Program) -> Iterator[str]:
    """Lines of text; fields that are 0 or name the value 0 are left out."""
    yield (f"; {program.model or 'program'} for {program.config.name} "
           f"(ID {program.config.identity:#010x}), {program.macs} MACs")
    for section in program.sections:
        memory = section.memory.name if isinstance(section.memory, Region) else section.memory
        yield f"; section {section.name}: {len(section.data)} bytes at {memory} {section.offset:#x}"
    for engine in ENGINES:
        commands = program.commands.get(engine, [])
        yield ""
        yield f"{engine.name}: {len(commands)} commands of {WORDS[engine]} words"
        for index, command in enumerate(commands):
            yield _line(engine, index, command)


def _line(engine: Engine, index: int, command: Command) -> str:
    order = " ".join(f"{verb}={','.join(map(str, semaphores(mask)))}" for verb, mask
                     in (("wait", command.wait), ("signal", command.signal)) if mask)
    order = f"{order}{' fence' if command.fence else ''}".strip()
    shown = " ".join(f"{name}={value}" for name, value in fields(command).items()
                     if getattr(command, name) or name == "region")
    return (f"{index:5} {index * WORDS[engine]:#07x}  {command.OPCODE.name:<8}"
            f"{order:<22} {shown}").rstrip()


def compile_layer(model: str, layer: int, prompt: str | None, config: str) -> Program:
    """The program of an attention layer.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When there is no such layer, or it does not fit.
    """
    chosen, loaded = get_config(config), load_model(model)
    ids = loaded.encode(loaded.default_prompt if prompt is None else prompt)
    return prepare_layer(loaded, layer, ids, chosen).compiled.program
