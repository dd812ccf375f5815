"""What Yosys makes of a whole core: which memories are block RAM, which multipliers are registered.
"""
import json

import pytest

from systolith.hw.chip import Chip
from systolith.hw.config import Config
from systolith.hw.verilog import to_verilog
from systolith.sim.flow.netlist import Netlist
from systolith.sim.flow.synthesis import script, synthesize
from tests.sim.flow.memories import check_memories

CONFIG = Config(name="small", rows=4, cols=4, lanes=2, act_depth=512, wgt_depth=512,
                acc_depth=1024, vec_depth=1024, const_depth=512, row_depth=512, queue_depth=256,
                ext_bytes=1 << 16)


@pytest.mark.slow
@pytest.mark.parametrize("config", [
    CONFIG, CONFIG.replace(name="mixed", hop=2, multiply_cycles=2, lut_columns=2)],
    ids=lambda config: config.name)
def test_every_memory_of_a_core_is_block_ram_and_every_multiplier_registered(tmp_path, config):
    design = to_verilog(Chip(config=config), name="chip")
    (tmp_path / "chip.v").write_text(design.text)
    counts = synthesize("ecp5", folder=tmp_path, source="chip.v", top="chip")
    netlist = Netlist(json.loads((tmp_path / "netlist.json").read_text()), top="chip")
    check_memories("ecp5", netlist, design.memories)
    assert counts["dsp"] == config.rows * config.dsp_columns + 6 * config.lanes
    for name, cell in netlist.of_type("MULT18X18D"):
        for register in ("INPUTA", "INPUTB", "OUTPUT"):
            assert cell["parameters"].get(f"REG_{register}_CLK") == "CLK0", (name, register)
    late = {name for name, cell in netlist.of_type("DP16KD")
            if cell["parameters"]["REGMODE_A"] == "OUTREG"}
    assert all(any(name.startswith(part) for name in late)
               for part in ("core0.weights.bank_3", "core0.activations.memory"))


def test_multipliers_of_the_ice40_that_are_instances_stay_as_they_are():
    assert "-dsp" not in script("ice40", source="top.v", top="top").split()


def test_no_logic_watches_for_a_word_that_is_written_while_it_is_read():
    for family in ("ice40", "ecp5"):
        assert "-no-rw-check" in script(family, source="top.v", top="top").split()
