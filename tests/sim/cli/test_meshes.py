"""Meshes, where a command knows one core: a message that says what to do."""
import pytest

from tests.sim.cli.invoke import check_refused, result_of, systolith

MESH = ("--config", "tiny@2x2")


@pytest.mark.parametrize(("arguments", "what"), [
    (("run", "glassllm", "--layer", "0", *MESH, "--device", "functional"), "this program"),
    (("trace", "glassllm", *MESH, "-o", "trace.json"), "a trace"),
    (("board-test", *MESH), "this command"),
    (("virtual-board", *MESH), "the machine"),
    (("disasm", "--model", "glassllm", "--layer", "0", *MESH), "this program"),
    (("bench", "attention-128", *MESH, "--device", "functional"), "this command"),
])
def test_a_mesh_is_refused(arguments, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = systolith(*arguments)
    check_refused(outcome, 2, f"has 4 cores, but {what} has one so far; choose '")


def test_the_verilog_of_a_mesh_has_each_core_as_an_instance(tmp_path):
    result = result_of("generate", *MESH, "-o", tmp_path)
    text = (tmp_path / "chip.v").read_text()
    assert text.count("module core(") == 1
    assert sum(line.split()[:1] == ["core"] for line in text.splitlines()) == 4
    assert result
