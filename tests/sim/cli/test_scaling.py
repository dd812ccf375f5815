"""``systolith scaling``."""
import pytest

from tests.sim.cli.invoke import result_of, systolith


def test_table_and_json(tmp_path):
    rows = result_of("scaling", "--length", "512")
    chosen = [row for row in rows if row["config"] == "deep16@4x4"]
    assert {row["chips"] for row in chosen} == {20}
    assert all(row["parts"][row["bound"]] == max(row["parts"].values()) for row in rows)
    assert "deep16@4x4" in systolith("scaling").stdout


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "scaling.png"
    assert systolith("scaling", "--plot", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")
