"""What all commands share: errors that are fit to print, and JSON."""
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

#: Exit codes: something was done and failed; the command line, or a name on it, cannot be used.
FAILURE, USAGE = 1, 2

#: The name of standard output as a file.
STDOUT = "-"


def fail(message: object, code: int = FAILURE) -> NoReturn:
    """Print one paragraph on standard error and end the command."""
    typer.echo(f"systolith: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn the errors that the library raises on purpose into a message and an exit code."""
    from systolith.hw.config import ConfigError
    from systolith.hw.isa import CommandError
    from systolith.sim.harness import HarnessError
    from systolith.sim.switching import SwitchingError
    from systolith.sim.toolchain import ToolchainError
    from systolith.sw.compiler import CompileError
    from systolith.sw.compiler.verifier import VerifyError
    from systolith.sw.models import ModelError
    from systolith.sw.runtime.device import DeviceError, StuckError
    from systolith.sw.runtime.link import LinkError
    from systolith.sw.runtime.program import ProgramError

    try:
        yield
    except (ConfigError, ModelError, ProgramError) as error:
        fail(error, USAGE)
    except (CommandError, CompileError, DeviceError, HarnessError, LinkError, StuckError,
            SwitchingError, ToolchainError, VerifyError) as error:
        fail(error)
    except BrokenPipeError:
        # Whoever read the output has seen enough; typer ends quietly.
        raise
    except OSError as error:
        fail(f"{error.filename or 'a file'}: {error.strerror or error}")


def writable_path(value: str | None) -> str | None:
    """Refuse a file in a folder that does not exist before any work is done for it."""
    if value and value != STDOUT:
        path = Path(value)
        if path.is_dir():
            raise typer.BadParameter(f"{value} is a folder; name a file")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"folder {path.parent} does not exist")
    return value


def write_json(result: Mapping[str, object] | Sequence[object], target: str | None) -> bool:
    """Write a result to a file, or to standard output for ``-``, where given.

    Returns
    -------
    bool
        Whether standard output is still free for a report.
    """
    if target is None:
        return True
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if target == STDOUT:
        typer.echo(text)
        return False
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        # A full disk is reported without the file's name.
        fail(f"cannot write {target}: {error.strerror or error}")
    return True
