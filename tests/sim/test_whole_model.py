"""The section on SmolLM2 on the RTL."""
import pytest

from systolith.sim.results_page import cells
from systolith.sim.whole_model import COMMAND, PROMPT, whole_model_section
from tests.sw.smollm2 import load_smollm2

RUN = {"model": "smollm2", "tokens": [3, 4], "prompt_tokens": 16, "config": "sim16",
       "bit_exact": True, "cycles": 150, "seconds": {"prefill": 61.4, "decode": 30.2},
       "prefill": {"cycles": 100, "macs": 20480, "utilization": 0.8, "move_bytes": 1520},
       "decode": {"cycles": 1000, "macs": 2048, "utilization": 0.008, "move_bytes": 15990}}


def test_rows_of_prefill_and_step():
    made = whole_model_section(RUN)
    assert cells(made) == [
        ["prefill of 16 tokens", "yes", "100", "20,480", "80.0 %", "1,520", "95.0 %"],
        ["1 decoded token", "yes", "1,000", "2,048", "0.8 %", "15,990", "99.9 %"]]
    assert COMMAND in made
    assert "prefill 61 s, decode 30 s" in made


def test_a_difference_is_shown():
    rows = cells(whole_model_section({**RUN, "bit_exact": False, "tokens": [3, 4, 5]}))
    assert [row[1] for row in rows] == ["NO", "NO"]
    assert rows[1][0] == "2 decoded tokens"


@pytest.mark.parametrize(("changes", "message"), [
    ({"bit_exact": None}, "repeat it with --compare"), ({"cycles": None}, "not on the RTL"),
    ({"decode": None}, "wrote two tokens or more")])
def test_other_runs(changes, message):
    with pytest.raises(ValueError, match=message):
        whole_model_section({**RUN, **changes})


@pytest.mark.slow
def test_the_prompt_has_16_tokens():
    assert len(load_smollm2().encode(PROMPT)) == 16
