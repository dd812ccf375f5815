"""The command line as a whole: help, version, what all commands share."""
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.cli.invoke import systolith

COMMANDS = ("run", "similarity", "eval", "place", "generate", "disasm", "verify", "bench",
            "trace", "estimate", "energy", "scaling", "configs", "doctor", "boards", "bitstream",
            "timing", "flash", "board-test", "virtual-board")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(command):
    outcome = systolith(command, "--help")
    assert outcome.exit_code == 0
    assert f"systolith {command}" in outcome.stdout.partition("Example:")[2]
    # The virtual board ends only when it is interrupted: it has no result.
    assert ("--json FILE|-" in outcome.stdout) == (command != "virtual-board")


def test_help_lists_the_commands():
    assert [line.split()[0] for line in systolith("--help").stdout.partition("Commands:")[2]
            .strip().splitlines() if line.startswith("  ")] == list(COMMANDS)[1:]


def test_version():
    outcome = systolith("--version")
    assert (outcome.exit_code, outcome.stdout.split()[0]) == (0, "systolith")


def test_help_imports_nothing_that_takes_long():
    code = ("import sys, systolith.sim.cli; "
            "print(*{'numpy', 'amaranth', 'rich.progress', 'glassllm'} & set(sys.modules))")
    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                            check=True)
    assert result.stdout.strip() == ""


def test_a_full_disk_is_named():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full, a device that is always full")
    outcome = systolith("configs", "--json", full)
    assert (outcome.exit_code, "cannot write /dev/full: No space left" in outcome.stderr) == (
        1, True)
