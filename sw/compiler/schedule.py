"""From one sequential list of commands to the streams of the engines of a core."""
from collections.abc import Sequence

from systolith.hw.config import Config, check_one_core
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.schedule_mesh import schedule_mesh


def schedule(commands: Sequence[Command], config: Config) -> dict[Engine, list[Command]]:
    """Streams of the engines that give the same result as the commands one after the other: those
    of a mesh of one core.

    Raises
    ------
    CompileError
        When a semaphore is too narrow for the order of the commands.
    ConfigError
        When the configuration has several cores.
    """
    check_one_core(config, "this program")
    streams, = schedule_mesh([(0, command) for command in commands], config)
    return streams
