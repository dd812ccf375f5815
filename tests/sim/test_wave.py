"""Views of a waveform name its signals as it does, and only those."""
import pytest
from vcdvcd import VCDVCD

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES
from systolith.sim.rtl import RtlDevice
from systolith.sim.wave import GROUPS, signals, view, write_views
from systolith.sw.compiler import compile_product

HEADER = """$timescale 100ns $end
$scope module chip $end
 $var wire 1 a rst $end
 $scope module chip $end
  $scope module core0 $end
   $var wire 1 b clk $end
   $scope module control $end
    $scope module counters_2 $end
     $var wire 1 c move__active $end
    $upscope $end
    $scope module move_queue $end
     $var wire 10 d space [9:0] $end
    $upscope $end
   $upscope $end
  $upscope $end
 $upscope $end
$upscope $end
$enddefinitions $end
#0
"""
QUEUE = "chip.chip.core0.control.move_queue.space"
ACTIVE = "chip.chip.core0.control.counters_2.move__active"


@pytest.fixture
def header(tmp_path):
    path = tmp_path / "x.vcd"
    path.write_text(HEADER)
    return path


def test_signals_of_a_header(header):
    assert signals(header) == {"chip.rst": 1, "chip.chip.core0.clk": 1, ACTIVE: 1, QUEUE: 10}


def test_numbered_instances_are_found_and_missing_signals_left_out(header):
    groups = view(header)
    assert groups.pop("move") == [(ACTIVE, 1), (QUEUE, 10)]
    assert not any(groups.values())


def test_both_views(header):
    gtkwave, surfer = write_views(header, 100)
    assert f"{QUEUE}[9:0]\n" in gtkwave.read_text()
    assert surfer.read_text().splitlines()[:4] == [
        "variable_add chip.chip.core0.clk", "divider_add move", f"variable_add {ACTIVE}",
        f"variable_add {QUEUE}"]


def test_waveform_of_the_chip_has_all_signals_and_only_the_window(tmp_path):
    config, path = get_config("tiny"), tmp_path / "wave.vcd"
    product = compile_product(config, m=9, k=20, n=12)
    with RtlDevice(config, trace=True) as device, device.record() as recorder:
        device.trace(path, 20, 60)
        product.run(device)
        trace = recorder.trace()
        device.harness.trace_close()
    assert {group: len(members) for group, members in view(path).items()} == {
        group: len(names) for group, names in GROUPS.items()}
    wave = VCDVCD(str(path))
    assert (wave.begintime, wave.endtime) == (200, 595)
    # A cycle takes 10 units; what is seen in it is what was recorded.
    for engine in ENGINES:
        name = f"chip.chip.core0.control.{engine.name.lower()}_queue.space[9:0]"
        for cycle in range(20, 60):
            changes = trace.queues[engine]
            held = changes["value"][changes["cycle"] <= cycle][-1]
            assert config.queue_depth - int(wave[name][10 * cycle], 2) == held
