"""What `make sim` passes on."""
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def stand_in(tmp_path):
    """A folder where `make sim` runs a program that prints its arguments."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "systolith"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    for name in ("pyproject.toml", "bin/python", "installed"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("prompt", ["Alice's \"cat\"", "costs $5 or $(cost)", "-3+4 # `id`; 9%",
                                    "a\\b *", "two  spaces "])
def test_make_passes_a_prompt_as_it_is(stand_in, prompt):
    result = subprocess.run(
        ["make", "-s", "-f", str(ROOT / "Makefile"), "-C", str(stand_in), "--no-print-directory",
         "sim", "VENV=.", f"PROMPT={prompt}", "LAYER=2", "MODEL=a b", "DEVICE=functional"],
        text=True, capture_output=True, check=True)
    assert result.stdout.splitlines() == ["run", "a b", "--layer", "2", "--prompt", prompt,
                                          "--device", "functional"]


def test_make_leaves_out_what_is_not_given(stand_in):
    result = subprocess.run(["make", "-s", "-f", str(ROOT / "Makefile"), "-C", str(stand_in),
                             "--no-print-directory", "sim", "VENV=."],
                            text=True, capture_output=True, check=True)
    assert result.stdout.split() == ["run", "run", "mathformer", "7*8="]
