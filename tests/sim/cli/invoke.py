"""Calls of the command line, as the tests make them."""
import json

from typer.testing import CliRunner

from systolith.sim.cli import app

#: Options of a run that takes no time.
FUNCTIONAL = ("--device", "functional", "--config", "tiny", "--prompt", "Alice was")

#: Keys of an engine in a report.
ENGINE_KEYS = {"busy", "wait_semaphore", "wait_fence", "stall", "idle", "commands"}


def systolith(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def result_of(*arguments):
    """The JSON that a command prints, alone on standard output."""
    outcome = systolith(*arguments, "--json", "-")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def check_refused(outcome, code, text):
    assert outcome.exit_code == code, outcome.output
    assert text in outcome.stderr
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.output
