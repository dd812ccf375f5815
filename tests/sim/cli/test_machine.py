"""The commands configs and doctor."""
import json
import subprocess
import sys

import pytest

from systolith.hw.configs import CONFIGS
from systolith.sim import doctor
from tests.sim.cli.invoke import result_of, systolith


def test_configs_are_listed():
    result = result_of("configs")["configs"]
    assert list(result) == list(CONFIGS)
    assert result["sim16"]["memory_bytes"]["wgt"] == 1 << 20
    assert "16 x 16" in systolith("configs").stdout


def test_doctor_finds_what_the_tests_need():
    outcome = systolith("doctor", "--json", "-")
    result = json.loads(outcome.stdout)
    assert (outcome.exit_code, result["ok"]) == (0, True)
    assert [check["name"] for check in result["checks"]] == [
        "Python", "C++ compiler", "C++20", "make", "perl", "Verilator", "Yosys", "cocotb", "cache",
        "disk"]
    assert all(set(check) == {"name", "found", "remedy", "needed_for", "ok"}
               for check in result["checks"])


def test_doctor_says_what_mends_a_missing_tool(tmp_path):
    code = "from systolith.sim.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code, "doctor"], text=True, check=False,
                            capture_output=True, env={"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert (result.returncode, result.stderr) == (1, "")
    for text in ("apt-get install g++", "apt-get install make", "apt-get install perl"):
        assert text in result.stdout


@pytest.mark.parametrize(("needed_for", "healthy"), [("all", False), ("tests", True)])
def test_doctor_forgives_what_only_tests_need(needed_for, healthy, capsys):
    checks = [doctor.Check("tool", "", "mend it", needed_for)]
    assert doctor.healthy(checks) is healthy
    doctor.print_checks(checks)
    assert "-> mend it" in capsys.readouterr().out


def test_doctor_needs_a_cache_to_write_to(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYSTOLITH_CACHE", str(tmp_path / "file"))
    check = next(check for check in doctor.check_all() if check.name == "cache")
    assert "set SYSTOLITH_CACHE" in check.remedy
