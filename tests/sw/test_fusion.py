"""Commands before and after fusion."""
import dataclasses

import pytest

from systolith.hw.configs import get_config
from systolith.hw.isa import Addend, Combine, Pass, Product, Reduce, Scale
from systolith.sw.compiler.fusion import count_fusion, operations
from systolith.sw.decoder import compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.encoder import compile_encoder
from systolith.sw.models import load_model
from tests.sw.encoders import quantized, random_encoder

#: What fusion is to save at least, of commands and of passes.
GOAL = 0.4


def test_operations_of_a_pass():
    assert operations(Pass()) == 1
    assert operations(Pass(scale=Scale.COLUMN)) == 1
    assert operations(Pass(addend=Addend.COLUMN, scale=Scale.COLUMN, row_scale=1,
                           combine=Combine.ADD, reduce=Reduce.ABSMAX)) == 5


def test_counts():
    copy, drain = Pass(rows=2, beats=3), Pass(rows=4, beats=5, addend=1, scale=2, reduce=1)
    fusion = count_fusion([Product(), copy, drain])
    assert (fusion.commands, fusion.passes, fusion.beats) == (3, 2, 26)
    assert (fusion.plain_commands, fusion.plain_passes, fusion.plain_beats) == (5, 4, 66)
    assert fusion.saved == pytest.approx(0.4)
    assert fusion.saved_passes == pytest.approx(0.5)
    assert (fusion - count_fusion([copy])).plain_beats == 60


@pytest.mark.parametrize("length", [1, 16])
def test_decoder_layers_save_commands(length):
    compiled = compile_decoder(load_model("glassllm"), get_config("sim16"))
    fusion = count_fusion(compiled.run(Shape(length, 0, False)).program.all_commands())
    assert fusion.saved >= GOAL
    assert fusion.saved_passes >= GOAL


def test_encoder_layers_save_commands():
    """One layer: what a second one adds."""
    model = quantized(random_encoder())
    one, two = (count_fusion(compile_encoder(
        dataclasses.replace(model, layers=model.layers[:count]), get_config("sim16"),
        length=40).program.all_commands()) for count in (1, 2))
    fusion = two - one
    assert fusion.saved >= GOAL
    assert fusion.saved_passes >= GOAL
