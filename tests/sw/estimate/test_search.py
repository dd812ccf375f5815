"""The fastest of several candidates."""
from dataclasses import dataclass

import pytest

from systolith.hw.configs import get_config
from systolith.sw.compiler import calibrate, compile_attention
from systolith.sw.compiler.plan import default_block_rows
from systolith.sw.estimate import estimate
from systolith.sw.estimate.search import refine, search
from systolith.sw.models import load_model


class Refused(Exception):
    """A candidate does not fit."""


def compile(number):
    if number > 9:
        raise Refused(number)
    return f"code {number}"


def cycles(code):
    return {"code 1": 7, "code 2": 5, "code 3": 5, "code 4": 8}[code]


def test_the_fastest_and_of_equal_ones_the_first():
    choice = search([1, 3, 2, 4], compile, cycles, refused=Refused)
    assert (choice.candidate, choice.compiled, choice.cycles) == (3, "code 3", 5)


def test_what_does_not_fit_is_left_out_unless_it_is_the_first():
    assert search([1, 10, 2], compile, cycles, refused=Refused).candidate == 2
    with pytest.raises(Refused):
        search([10, 1], compile, cycles, refused=Refused)
    with pytest.raises(ValueError, match="at least one candidate"):
        search([], compile, cycles, refused=Refused)


@dataclass(frozen=True)
class Pair:
    """Two sizes."""

    a: int
    b: int


def test_fields_are_searched_one_after_the_other():
    tried = []

    def cost(pair):
        tried.append((pair.a, pair.b))
        return 10 * abs(pair.a - 3) + (pair.b - pair.a) ** 2

    choice = refine(Pair(1, 1), {"a": [3, 2], "b": [2, 3]}, lambda pair: pair, cost,
                    refused=Refused)
    assert (choice.candidate, choice.cycles) == (Pair(3, 3), 0)
    assert tried == [(1, 1), (3, 1), (2, 1), (3, 2), (3, 3)]


@pytest.mark.parametrize(("name", "length"), [("sim16", 16), ("sim16", 33), ("tiny", 16)])
def test_attention_is_faster_than_with_the_default_rows(name, length):
    config, model = get_config(name), load_model("glassllm")
    weights = model.attention(0)
    scales = calibrate(weights, model.calibration(0)[:1])
    plain, chosen = (
        estimate(config, compile_attention(weights, scales, config, length=length,
                                           block_rows=rows).program.commands).cycles
        for rows in (default_block_rows(config), None))
    assert chosen < 0.99 * plain
