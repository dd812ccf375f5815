"""The table of published energies."""
import pytest

from systolith.hw.boards.boards import BOARDS
from systolith.hw.config import ConfigError
from systolith.sw.estimate import energies
from systolith.sw.estimate.span import Span


def test_every_figure_has_a_source():
    for group in ("chip", "fpga"):
        for figure in energies.figures(group).values():
            assert figure.source
            assert figure.unit


def test_published_values():
    chip = energies.figures("chip")
    assert chip["multiply8"].span == Span(0.2, 0.2)
    assert chip["add32"].span == Span(0.1, 0.1)
    # 1.3 to 2.6 nJ for 8 bytes.
    assert chip["external_byte"].span * 8 == Span(1300, 2600)


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_every_board_has_a_device(board):
    assert energies.device(board.device).static.high > 0


def test_an_unknown_device_is_named():
    with pytest.raises(ConfigError, match=r"no figures of the FPGA 'hx8k', only of 85k"):
        energies.device("hx8k")


@pytest.mark.parametrize(("size", "low", "high"), [
    (1 << 13, 10, 10), (1 << 15, 20, 20), (1 << 20, 100, 100),
    (1 << 14, 10 * 2 ** 0.5, 10 * 2 ** 0.5),  # half way between 8 and 32 KiB
    (1 << 11, 5, 10), (1 << 22, 200, 200)])
def test_energy_of_a_memory_by_its_size(size, low, high):
    span = energies.sram_word(size)
    assert (span.low, span.high) == pytest.approx((low, high))


def test_switching_of_a_model_without_a_measurement_is_that_of_glassllm():
    assert energies.switching("nothing") == energies.switching("glassllm")
