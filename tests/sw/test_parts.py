"""Every command of a whole model knows which part of it it belongs to."""
import dataclasses

import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Load, Pass, Product
from systolith.sw.compiler.parts import PARTS, count_commands, names, products_by_layer
from systolith.sw.decoder import compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.models import load_model
from systolith.sw.runtime.program import Program

COUNTS = count_commands({"layer 0 projections": [Load(), Product(), Product()],
                         "layer 0 attention": [Product(), Pass()], "logits": [Product(), Load()]})


@pytest.fixture
def program():
    return Program(get_config("tiny"), {Engine.MOVE: [Load(), Load()]}, model="m",
                   notes={PARTS: COUNTS})


def test_names_in_the_order_of_each_engine(program):
    assert {engine: list(names(program, engine)) for engine in ENGINES} == {
        Engine.MOVE: ["layer 0 projections", "logits"],
        Engine.MATRIX: ["layer 0 projections"] * 2 + ["layer 0 attention", "logits"],
        Engine.VECTOR: ["layer 0 attention"]}


def test_products_by_layer(program):
    assert products_by_layer(program) == {"layer 0": 3, "logits": 1}


def test_a_program_without_notes(program):
    plain = dataclasses.replace(program, notes={})
    assert list(names(plain, Engine.MOVE)) == ["m", "m"]
    assert list(names(plain, Engine.VECTOR)) == []
    assert products_by_layer(plain) == {}


def test_a_decoder_names_all_commands():
    model = load_model("mathformer-add")
    program = compile_decoder(model, get_config("tiny")).run(Shape(3, 0)).program
    for engine in ENGINES:
        assert len(list(names(program, engine))) == len(program.commands[engine])
    found = list(dict.fromkeys(names(program, Engine.MATRIX)))
    assert found[:2] == ["layer 0 projections", "layer 0 attention"]
    assert found[-2:] == [f"layer {model.layers - 1} feed-forward", "logits"]
