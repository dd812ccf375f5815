"""Toggles: by hand in a small waveform, at random, and in the RTL."""
import numpy as np
import pytest

from systolith.hw.configs import get_config
from systolith.sim.rtl import RtlDevice
from systolith.sim.switching import SwitchingError, Toggles, measure_toggles, random_toggles
from systolith.sw.compiler import compile_product

HEADER = """$timescale 100ns $end
$scope module chip $end
 $scope module chip $end
  $scope module core0 $end
   $scope module matrix $end
    $scope module array $end
     $var wire 8 z activation_2 [7:0] $end
     $scope module row_0 $end
      $var wire 9 a activation_0 [8:0] $end
      $var wire 19 p product_0 [18:0] $end
      $var wire 8 w weights_0_2 [7:0] $end
     $upscope $end
    $upscope $end
    $scope module loops $end
     $var wire 1 v beat__valid $end
    $upscope $end
   $upscope $end
  $upscope $end
 $upscope $end
$upscope $end
$enddefinitions $end
"""
#: Two beats; the product turns negative, which counts in its low 16 bits alone.
CHANGES = """#0
b101 a
b0 p
b0 z
b0 w
1v
#10
b110 a
b1111111111111111111 p
b11111111 z
b11111111 w
#20
b111 a
0v
#30
"""


@pytest.fixture
def wave(tmp_path):
    path = tmp_path / "x.vcd"
    path.write_text(HEADER + CHANGES)
    return path


def test_toggles_by_hand(wave):
    # 101 -> 110 -> 111: three of nine bits in two beats. 16 of 16 bits, once.
    assert measure_toggles(wave) == Toggles(2, {"activation": 3 / 18, "product": 16 / 32})


def test_a_doubled_toggle_counts_twice(wave):
    wave.write_text(HEADER + CHANGES.replace("b111 a", "b101 a"))  # two bits, not one
    assert measure_toggles(wave).shares["activation"] == 4 / 18


@pytest.mark.parametrize(("change", "text"), [
    (lambda text: text.replace("row_0", "wires"), "has no array of a core"),
    (lambda text: text.replace("1v", "0v"), "no product runs in the cycles")])
def test_waveforms_that_say_nothing(wave, change, text):
    wave.write_text(change(wave.read_text()))
    with pytest.raises(SwitchingError, match=text):
        measure_toggles(wave)


def test_random_operands_toggle_half_of_their_bits():
    shares = random_toggles(get_config("tiny")).shares
    assert shares["activation"] == pytest.approx(0.5, abs=0.01)
    assert 0.45 < shares["product"] < shares["sum"] < 0.5


def test_shares_over_others_leave_out_what_stays():
    ratio = Toggles(1, {"weight": 0.1, "sum": 0.1}).over(Toggles(1, {"weight": 0, "sum": 0.4}))
    assert ratio == {"sum": 0.25}


def product_toggles(path, weight=None):
    """Toggles of the array of `tiny` while random rows are multiplied by weights that stay."""
    config = get_config("tiny")
    compiled = compile_product(config, m=256, k=4, n=4, weight=weight)
    with RtlDevice(config, trace=True) as device:
        compiled.program.load(device)
        device.run(compiled.program.commands)
        # Not what the host reads afterwards: memories that it reads move the registers, too.
        device.trace(path, 0, 100_000)
        device.wait()
        device.harness.trace_close()
    return measure_toggles(path)


@pytest.mark.slow
def test_the_array_toggles_at_random_as_its_model_says_and_less_with_zeros(tmp_path):
    measured = product_toggles(tmp_path / "random.vcd")
    expected = random_toggles(get_config("tiny"))
    assert measured.beats == 256
    for name in ("activation", "product", "sum"):
        assert measured.shares[name] == pytest.approx(expected.shares[name], rel=0.1), name
    one = np.zeros((4, 4), np.int8)
    one[0] = 1
    sparse = product_toggles(tmp_path / "zeros.vcd", one)
    assert sparse.shares["product"] < 0.4 * measured.shares["product"]
