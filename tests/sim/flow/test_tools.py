"""Which tools are taken."""
import subprocess
import sys

import pytest

from systolith.sim.flow import tools
from systolith.sim.flow.tools import FlowError, FlowTool, find_tool, share_folder


@pytest.fixture(autouse=True)
def _forget():
    find_tool.cache_clear()
    yield
    find_tool.cache_clear()


def fake(folder, name, version):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("version", "native"), [
    ("Yosys 0.70 (git sha1 1)", True), ("Yosys 0.50", True), ("Yosys 0.23", False)])
def test_a_native_tool_must_be_new_enough(tmp_path, monkeypatch, version, native):
    fake(tmp_path, "yosys", version)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert (find_tool("yosys").command[0] == str(tmp_path / "yosys")) == native


def test_a_packer_goes_with_its_nextpnr(tmp_path, monkeypatch):
    fake(tmp_path, "icepack", "")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert len(find_tool("icepack").command) > 1, "no native nextpnr beside it"
    find_tool.cache_clear()
    fake(tmp_path, "nextpnr-ice40", "nextpnr-ice40 -- Next Generation (Version nextpnr-0.9)")
    assert find_tool("icepack").command == (str(tmp_path / "icepack"),)


def test_a_missing_tool_says_what_mends_it(monkeypatch):
    monkeypatch.setattr(tools.shutil, "which", lambda name: None)
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FlowError, match=r"no nextpnr-ecp5 0\.7 or newer.*pip install"):
        find_tool("nextpnr-ecp5")


def test_what_a_tool_says_last_is_in_the_error(tmp_path):
    words = "print('one'); print('ERROR: no such pin'); print('two'); raise SystemExit(3)"
    tool = FlowTool("placer", (sys.executable, "-c", words), "1")
    with pytest.raises(FlowError, match=r"placer failed:\n  ERROR: no such pin$"):
        tool.run(folder=tmp_path)
    assert "two" in (tmp_path / "placer.log").read_text()


def test_only_packaged_tools_are_warmed(monkeypatch):
    started = []
    monkeypatch.setattr(tools, "find_tool", lambda name: FlowTool(
        name, (name,) if name == "yosys" else ("python", "-c", name), "1"))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: started.append(command[-2]))
    tools.warm("ice40", tools.Progress(quiet=True))
    assert started == ["nextpnr-ice40", "icepack"]


def test_yosys_models_are_found(tmp_path):
    native = FlowTool("yosys", (str(tmp_path / "bin" / "yosys"),), "1")
    assert share_folder(native) == tmp_path / "share" / "yosys"
    assert (share_folder(find_tool("yosys")) / "ice40" / "cells_sim.v").is_file()
