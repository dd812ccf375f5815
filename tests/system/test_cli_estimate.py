"""``systolith estimate``: what it prints, its JSON, and what it says about mistakes."""
import pytest

from tests.sim.cli.invoke import ENGINE_KEYS, check_refused, result_of, systolith

KEYS = {"model", "config", "ext_latency", "ext_bytes_per_cycle", "mhz", "runs"}
RUN_KEYS = {
    "name", "tokens", "cycles", "macs", "peak_macs_per_cycle", "utilization", "engines",
    "move_bytes", "bound", "limits", "percent_of_limit", "tokens_per_second", "parts"}


def test_a_whole_decoder_has_a_prefill_and_a_step():
    result = result_of("estimate", "mathformer", "--length", "5", "--config", "tiny")
    assert set(result) == KEYS
    assert (result["model"], result["config"]) == ("mathformer-add", "tiny")
    prefill, step = result["runs"]
    assert (prefill["name"], prefill["tokens"]) == ("prefill of 5", 5)
    assert (step["name"], step["tokens"]) == ("one token at context 5", 1)
    for run in (prefill, step):
        assert set(run) == RUN_KEYS
        assert set(run["engines"]["matrix"]) == ENGINE_KEYS
        assert sum(run["parts"].values()) == run["cycles"]
        assert run["limits"][run["bound"]] <= run["cycles"]
        assert run["tokens_per_second"] == pytest.approx(run["tokens"] * 100e6 / run["cycles"])


def test_a_full_context_has_no_further_step():
    runs = result_of("estimate", "glassllm", "--length", "128")["runs"]
    assert [run["name"] for run in runs] == ["prefill of 128"]
    assert list(runs[0]["parts"]) == [*(f"layer {index}" for index in range(4)), "logits"]


def test_layers_alone():
    result = result_of("estimate", "glassllm", "--layer", "all", "--prompt", "Alice was")
    assert [run["name"] for run in result["runs"]] == [
        f"attention of layer {index}" for index in range(4)]
    assert result["runs"][0]["tokens"] == 2


def test_the_clock_counts_for_tokens_only_and_the_memory_for_cycles():
    arguments = ("estimate", "glassllm", "--layer", "0", "--length", "16")
    plain, fast, slow = (result_of(*arguments, *more)["runs"][0] for more in (
        (), ("--mhz", "200"), ("--ext-bytes-per-cycle", "2", "--ext-latency", "50")))
    assert fast["cycles"] == plain["cycles"]
    assert fast["tokens_per_second"] == pytest.approx(2 * plain["tokens_per_second"], rel=1e-3)
    assert slow["bound"] == "memory"
    assert slow["cycles"] > slow["move_bytes"] / 2


@pytest.mark.slow
def test_a_sentence_encoder():
    run, = result_of("estimate", "minilm", "--length", "20")["runs"]
    assert list(run["parts"]) == ["embedding", *(f"layer {index}" for index in range(6)), "pool"]


def test_the_report_names_what_bounds():
    outcome = systolith("estimate", "mathformer", "--prompt", "7*8=", "--config", "tiny")
    assert outcome.exit_code == 0
    for text in ("mathformer-mul", "prefill of 4", "bound by", "vector", "layer 0", "100 MHz"):
        assert text in outcome.stdout


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("nothing",), 2, "unknown model 'nothing'"),
    (("glassllm", "--config", "huge"), 2, "unknown configuration 'huge'"),
    (("glassllm", "--length", "1000"), 1, "the length is 1000, but glassllm takes at most 128"),
    (("glassllm", "--length", "3", "--prompt", "a"), 2, "give --length or --prompt, not both"),
    (("glassllm", "--layer", "9"), 2, "layer 9 is outside glassllm"),
    (("glassllm", "--ext-bytes-per-cycle", "0"), 2, "must be above 0, not 0"),
    (("glassllm", "--mhz", "-1"), 2, "--mhz must be a frequency above 0, not -1"),
    (("minilm", "--layer", "0"), 2, "only the whole model is estimated"),
    (("mathformer", "--prompt", "7"), 2, "has none of the signs"),
])
def test_mistakes_are_named(arguments, code, text):
    check_refused(systolith("estimate", *arguments), code, text)
