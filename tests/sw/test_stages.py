"""Every command of a whole model knows which part of it it belongs to."""
from systolith.hw.configs import get_config
from systolith.hw.isa import ENGINES, Engine, Load, Pass, Product
from systolith.sw.compiler.stages import Stages
from systolith.sw.decoder import compile_decoder
from systolith.sw.decoder.compiled import Shape
from systolith.sw.models import load_model


def test_marks_nest():
    stages = Stages()

    def layer():
        yield Load()
        yield from stages.mark("attention", [Product(), Pass()])
        yield Product()

    assert [type(command) for command in stages.mark("layer 0", layer())] == [
        Load, Product, Pass, Product]
    list(stages.mark("logits", [Pass()]))
    assert stages.names() == {
        Engine.MOVE: ("layer 0",), Engine.MATRIX: ("layer 0 attention", "layer 0"),
        Engine.VECTOR: ("layer 0 attention", "logits")}


def test_a_decoder_names_all_commands():
    model = load_model("mathformer-add")
    program = compile_decoder(model, get_config("tiny")).run(Shape(3, 0)).program
    for engine in ENGINES:
        assert len(program.stages[engine]) == len(program.commands[engine])
    names = list(dict.fromkeys(program.stages[Engine.MATRIX]))
    assert names[:2] == ["layer 0 projections", "layer 0 attention"]
    assert names[-2:] == [f"layer {model.layers - 1} feed-forward", "logits"]
