"""``systolith bench``: cycles and share of the peak of a few fixed pieces of work."""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle, islice
from typing import Any

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.attention import prepare_layer
from systolith.sim.devices import open_device
from systolith.sim.measure import Measure
from systolith.sim.progress import Progress
from systolith.sim.text import number, print_table
from systolith.sw.compiler import compile_product
from systolith.sw.models import Model, load_model
from systolith.sw.runtime.device import Device


@dataclass(frozen=True)
class Outcome:
    """One benchmark that ran."""

    name: str
    device: str
    measure: Measure
    bit_exact: bool

    def as_json(self) -> dict[str, Any]:
        """The values under their stable keys."""
        utilization = self.measure.utilization
        return {"name": self.name, "config": self.measure.config.name, "device": self.device,
                "bit_exact": self.bit_exact, "cycles": self.measure.cycles,
                "macs": self.measure.macs,
                "percent_of_peak": None if utilization is None else round(100 * utilization, 3)}


Benchmark = Callable[[Device], tuple[int, object]]


def _product(m: int, k: int, n: int, device: Device):
    product = compile_product(device.config, m=m, k=k, n=n)
    return product.macs, product.run(device)


def _attention(length: int, device: Device):
    model = load_model("glassllm")
    layer = prepare_layer(model, 0, tokens(model, length), device.config)
    return layer.compiled.macs, layer.compiled.run(device, layer.x, layer.h)


def tokens(model: Model, length: int) -> list[int]:
    """So many tokens: the model's own prompts one after the other, over and over."""
    ids = chain.from_iterable(model.encode(prompt) for prompt in model.prompts)
    return list(islice(cycle(ids), length))


#: By name: what runs on a device, giving useful multiply-accumulates and a result.
BENCHMARKS: dict[str, Benchmark] = {
    **{f"product-{m}x{k}x{n}": partial(_product, m, k, n)
       for m, k, n in ((1, 576, 1536), (128, 384, 384))},
    **{f"attention-{length}": partial(_attention, length) for length in (16, 64, 128)},
}


def bench(names: Sequence[str], *, config: str, device: str,
          progress: Progress) -> Iterator[Outcome]:
    """Run the benchmarks of these names (keys of :data:`BENCHMARKS`) one after the other.

    Raises
    ------
    ConfigError, CompileError
        When the configuration is unknown or too small.
    """
    chosen: Config = get_config(config)
    with open_device(device, chosen, progress=progress) as opened:
        for name in names:
            with progress.stage(name):
                macs, result = BENCHMARKS[name](opened)
            yield Outcome(name, device, Measure(chosen, macs, result.counters), result.bit_exact)


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """One line a benchmark."""
    keys = ("cycles", "macs", "percent_of_peak")
    rows = ([each.name, "yes" if each.bit_exact else "NO",
             *(number(each.as_json()[key]) for key in keys)] for each in outcomes)
    print_table(("benchmark", "bit exact", "cycles", "useful MACs", "% of peak"), rows)
