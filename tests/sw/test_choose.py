"""The form of a narrow decoder that is quantized."""
import pytest

from systolith.sw.decoder import choose as forms
from systolith.sw.decoder.answers import problems
from systolith.sw.decoder.choose import choose
from systolith.sw.decoder.quantize import quantize_decoder
from systolith.sw.decoder.samples import calibration_samples
from systolith.sw.decoder.scales import calibrate_decoder
from systolith.sw.models import load_model


def test_dividing_takes_a_wider_form():
    """The smallest error of the calibration samples, less than half of that without copies."""
    model = load_model("mathformer-div")
    integers, choices = choose(model.weights, calibration_samples(model))
    taken = [choice for choice in choices if choice.taken]
    assert len(taken) == 1
    assert taken[0].error == min(choice.error for choice in choices)
    assert taken[0].error < choices[0].error / 2
    assert integers.width == taken[0].copies * model.width
    for linear in (integers.head, integers.layers[0].q, integers.layers[0].out,
                   integers.layers[0].down):
        assert abs(linear.weight).max() <= 127


@pytest.mark.parametrize("kind", ["add", "sub", "mul"])
def test_a_small_error_needs_no_other_form(kind):
    model = load_model(f"mathformer-{kind}")
    samples = calibration_samples(model)
    integers, choices = choose(model.weights, samples)
    plain = quantize_decoder(model.weights, calibrate_decoder(model.weights, samples))
    assert [choice.as_json() for choice in choices] == [
        {"copies": 1, "seed": None, "error": choices[0].error, "taken": True}]
    assert choices[0].error <= forms.SMALL_ERROR
    assert (integers.head.weight == plain.head.weight).all()


def test_wider_decoders_are_taken_as_they_are():
    model = load_model("glassllm")
    integers, choices = choose(model.weights, [[1, 2, 3]])
    assert choices == ()
    assert integers.width == model.width


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_no_problem_that_is_judged_calibrates(kind):
    model = load_model(f"mathformer-{kind}")
    assert not {problem for problem, _ in problems(kind)} & set(model.prompts)


def test_samples_stop_at_the_end():
    model = load_model("mathformer-div")
    samples = calibration_samples(model)
    assert "68/9=Q7R5" in [model.decode(ids) for ids in samples]
    assert not any("</s>" in model.decode(ids) for ids in samples)
