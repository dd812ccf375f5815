"""The named benchmarks: which there are, how they are chosen, and that they run."""
import json

import pytest

from systolith.hw.configs import get_config
from systolith.sim.benchmarks import BENCHMARKS, BenchmarkError, select
from systolith.sim.benchmarks.models import tokens
from systolith.sim.benchmarks.work import Work
from systolith.sim.commands.bench import bench
from systolith.sim.progress import Progress
from systolith.sw.compiler import CompileError
from systolith.sw.models import load_model
from systolith.sw.runtime.device import Counters
from systolith.sw.runtime.functional import FunctionalDevice


def names(*chosen):
    return [each.name for each in select(chosen)]


def test_the_set_is_complete():
    """Every product of the layers at every length, through external memory and resident."""
    products = ["product-512x512x512", "ragged-1x384x384", "ragged-3x3x3", "ragged-65x257x129",
                "ragged-127x31x33"]
    products += [f"minilm-128-{name}" for name in ("qkvo", "up", "down", "scores", "mix")]
    products += [f"{model}-{length}-{name}" for model in ("glassllm", "smollm2")
                 for length in (1, 16, 128) for name in ("qo", "kv", "gateup", "down")]
    wanted = {*products, *(f"{name}-resident" for name in products)}
    wanted |= {f"attention-{length}-h{size}" for length in (32, 128, 512) for size in (32, 64)}
    wanted |= {"layer-glassllm-128", "layer-minilm-128", "model-minilm-128",
               "layer-smollm2-prefill-100", "layer-smollm2-decode-100",
               "model-glassllm-prefill-100", "model-glassllm-decode-100"}
    assert wanted <= set(BENCHMARKS)


def test_groups_and_names():
    assert names("minilm-128-up") == ["minilm-128-up"]
    assert names("attention-32-h32", "pruned", "pruned-128x384x384-25") == [
        "attention-32-h32", *(f"pruned-128x384x384-{share}" for share in (25, 50, 75))]
    assert all(name.startswith("smollm2-16-") for name in names("smollm2-16"))
    assert len(names("smollm2-16")) == 8
    with pytest.raises(BenchmarkError, match="unknown benchmark 'smol'; choose a group"):
        select(["smol"])


def test_work_adds_up():
    exact, wrong = Work(3, Counters(cycles=10), True, 8), Work(4, Counters(cycles=5), False)
    both = exact + wrong
    assert (both.macs, both.counters.cycles, both.bit_exact, both.head_dim) == (7, 15, False, 8)


def test_tokens_repeat():
    model = load_model("glassllm")
    first = model.encode(model.prompts[0])
    assert tokens(model, 1000)[:len(first)] == first
    assert len(tokens(model, 1000)) == 1000


@pytest.mark.parametrize("name", [
    "ragged-3x3x3", "glassllm-16-kv-resident", "smollm2-1-layer-resident", "attention-32-h64",
    "attention-32-h32-causal", "pruned-128x384x384-75", "layer-glassllm-attention-16",
    "layer-glassllm-128"])
def test_benchmarks_are_exact_without_time(name):
    (outcome,) = bench(select([name]), config="sim16", device=FunctionalDevice.name,
                       progress=Progress(quiet=True))
    assert outcome.bit_exact
    assert outcome.measure.config.name == "sim16"
    assert outcome.lost is None
    assert json.loads(json.dumps(outcome.as_json()))["percent_of_peak"] is None


def test_a_benchmark_may_have_a_configuration_of_its_own():
    chosen = select(["layer-smollm2-decode-100-resident", "ragged-3x3x3"])
    outcomes = bench(chosen, config="tiny", device=FunctionalDevice.name,
                     progress=Progress(quiet=True))
    assert [(each.as_json()["config"], each.bit_exact) for each in outcomes] == [
        ("deep16", True), ("tiny", True)]


def test_what_does_not_fit_is_left_out_or_refused(capsys):
    chosen = select(["minilm-128-qkvo", "ragged-3x3x3"])
    where = {"config": "tiny", "device": FunctionalDevice.name}
    with pytest.raises(CompileError, match="weight memory"):
        list(bench(chosen, **where, progress=Progress(quiet=True)))
    (outcome,) = bench(chosen, **where, progress=Progress(), skip=True)
    assert outcome.name == "ragged-3x3x3"
    assert "minilm-128-qkvo is left out: a product 128x384x384 needs" in capsys.readouterr().err


@pytest.mark.parametrize("name", [
    "ragged-127x31x33", "glassllm-1-layer-resident", "minilm-128-mix", "attention-32-h32-causal",
    "layer-glassllm-attention-16"])
def test_all_cycles_have_a_cause(name):
    (outcome,) = bench(select([name]), config="sim16", device="rtl",
                       progress=Progress(quiet=True))
    assert outcome.bit_exact
    result = outcome.as_json()
    assert set(result) == {"name", "config", "device", "bit_exact", "cycles", "macs",
                           "percent_of_peak", "percent_of_limit", "limit", "lost",
                           "model_cycles"}
    assert result["model_cycles"] == pytest.approx(result["cycles"], rel=0.02)
    assert min(result["lost"].values()) >= 0
    assert sum(result["lost"].values()) + result["percent_of_peak"] == pytest.approx(100, abs=1e-9)
    assert result["percent_of_peak"] == pytest.approx(100 * outcome.measure.utilization, abs=1e-3)
    assert result["percent_of_peak"] <= result["percent_of_limit"] <= 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [
    ("product-512x512x512", 0.98), ("minilm-128-qkvo", 0.95), ("minilm-128-up", 0.95),
    ("minilm-128-down", 0.95), ("attention-128-h32", 0.9), ("attention-512-h32", 0.9),
    ("smollm2-1-layer-resident", 0.9), ("layer-minilm-128", 0.93)])
def test_targets(name, share):
    (outcome,) = bench(select([name]), config="sim16", device="rtl",
                       progress=Progress(quiet=True))
    assert outcome.bit_exact
    assert outcome.measure.utilization >= share
    assert get_config("sim16") == outcome.measure.config


@pytest.mark.slow
def test_a_layer_of_smollm2_with_its_weights_in_the_core():
    (outcome,) = bench(select(["layer-smollm2-decode-100-resident"]), config="deep16",
                       device="rtl", progress=Progress(quiet=True))
    assert outcome.bit_exact
    assert outcome.measure.utilization >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2-1-qo", "layer-smollm2-decode-100"])
def test_streamed_weights_keep_the_bus_busy(name):
    (outcome,) = bench(select([name]), config="sim16", device="rtl",
                       progress=Progress(quiet=True))
    assert outcome.bit_exact
    assert outcome.measure.limit == "memory"
    assert outcome.measure.share_of_limit >= 0.95
