"""Meshes, where a command knows one core: a message that says what to do."""
import pytest

from tests.sim.cli.invoke import check_refused, systolith

MESH = ("--config", "tiny@2x2")


@pytest.mark.parametrize(("arguments", "what"), [
    (("run", "glassllm", "--layer", "0", *MESH, "--device", "functional"), "this program"),
    (("similarity", "a cat", "a dog", "--config", "mesh4"), "this program"),
    (("estimate", "glassllm", "--length", "20", *MESH), "the cycle model"),
    (("trace", "glassllm", *MESH, "-o", "trace.json"), "a trace"),
    (("generate", *MESH, "-o", "chip"), "the chip"),
    (("board-test", *MESH), "the chip"),
    (("virtual-board", *MESH), "the machine"),
    (("disasm", "--model", "glassllm", "--layer", "0", *MESH), "this program"),
    (("bench", "attention-128", *MESH, "--device", "functional"), "this program"),
])
def test_a_mesh_is_refused(arguments, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = systolith(*arguments)
    check_refused(outcome, 2, f"has 4 cores, but {what} has one so far; choose '")
