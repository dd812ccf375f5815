"""What is read out of nextpnr's report."""
import pytest

from systolith.sim.flow.report import Step, timing, utilization

CLOCK = "$glbnet$clk"
REPORT = {
    "fmax": {CLOCK: {"achieved": 50.25, "constraint": 60.0},
             "fast": {"achieved": 200.0, "constraint": 60.0}},
    "critical_paths": [
        {"from": "<async>", "to": f"posedge {CLOCK}", "path": []},
        {"from": f"posedge {CLOCK}", "to": f"posedge {CLOCK}", "path": [
            {"type": "clk-to-q", "delay": 0.5, "to": {"cell": "a"}},
            {"type": "routing", "delay": 10.0, "to": {"cell": "b"}},
            {"type": "logic", "delay": 9.0, "to": {"cell": "b"}},
            {"type": "setup", "delay": 0.4, "to": {"cell": "c"}}]},
    ],
    "utilization": {"TRELLIS_FF": {"used": 7, "available": 100},
                    "DCUA": {"used": 0, "available": 2}},
}


@pytest.mark.parametrize(("required", "met"), [(50, True), (50.25, True), (60, False)])
def test_the_slowest_clock_decides(required, met):
    found = timing(REPORT, required=required)
    assert (found.clock, found.mhz, found.met) == (CLOCK, 50.25, met)
    assert found.path[1] == Step("routing", 10.0, "b")
    assert found.describe_path() == "a -> c, 19.9 ns, of these 10.0 routing and 9.0 logic"


def test_a_report_without_paths():
    found = timing({**REPORT, "critical_paths": []}, required=60)
    assert (found.path, found.describe_path()) == ((), "unknown")


def test_only_what_is_used_counts():
    assert utilization(REPORT) == {"TRELLIS_FF": (7, 100)}
