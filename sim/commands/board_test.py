"""``systolith board-test``: is a device, and the link to it, in good health?"""
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.attention import prepare_layer
from systolith.sim.devices import open_device
from systolith.sim.march import march, memories
from systolith.sim.measure import Measure
from systolith.sim.progress import Progress
from systolith.sim.text import number, percent, print_facts
from systolith.sw.compiler import compile_product
from systolith.sw.compiler.sums import compile_sums
from systolith.sw.models import load_model
from systolith.sw.runtime.device import Device
from systolith.sw.runtime.serial import SerialDevice

#: Frames of the loop-back.
ECHOES = 64
#: Rows, depth and columns of the product.
PRODUCT = (8, 32, 16)
#: Smallest model with attention, and its prompt.
MODEL, PROMPT = "mathformer-mul", "7*8="


@dataclass(frozen=True)
class Check:
    """One check: ``passed`` is None where it does not apply to the device."""

    name: str
    passed: bool | None
    detail: str
    seconds: float
    facts: dict[str, object]

    def as_json(self) -> dict[str, object]:
        """The values under their stable keys."""
        return {"name": self.name, "passed": self.passed, "detail": self.detail,
                "seconds": round(self.seconds, 3), **self.facts}


#: What a check finds: whether all is well, in words, and as values.
Finding = tuple[bool | None, str, dict[str, object]]


def run(device: str, config: str, *, full: bool, progress: Progress) -> list[Check]:
    """All checks, one after another.

    Raises
    ------
    ConfigError
        When there is no such configuration.
    LinkError, DeviceError, StuckError, ToolchainError
        When the device cannot be used at all, or breaks down meanwhile.
    """
    chosen = get_config(config)
    with open_device(device, chosen, progress=progress) as opened:
        return list(_checks(opened, full, progress))


def _checks(device: Device, full: bool, progress: Progress) -> Iterator[Check]:
    def check(name: str, find: Callable[[], Finding]) -> Check:
        start = time.perf_counter()
        with progress.stage(name):
            passed, detail, facts = find()
        return Check(name, passed, detail, time.perf_counter() - start, facts)

    yield check("link loop-back", lambda: _loop_back(device))
    for memory in memories(device):
        name = getattr(memory, "name", memory)
        yield check(f"memory {name}", lambda memory=memory: _memory(device, memory, full))
    yield check("product", lambda: _product(device))
    yield check("attention layer", lambda: _attention(device))


def _loop_back(device: Device) -> Finding:
    if not isinstance(device, SerialDevice):
        return None, "this device has no link", {}
    generator, link = random.Random(1), device.link
    # Every byte value, most of all those that must be escaped, at every length.
    blocks = [generator.choice((generator.randbytes(4 * length), b"\x7e\x7d\x5e\x5d" * length))
              for length in (1 + index * (link.facts.max_words - 1) // (ECHOES - 1)
                             for index in range(ECHOES))]
    start = time.perf_counter()
    wrong = sum(link.echo(block) != block for block in blocks)
    rate = 2 * sum(map(len, blocks)) / (time.perf_counter() - start)
    repeated = link.statistics.repeated
    return (wrong == 0, f"{ECHOES} frames, {wrong} wrong, {repeated} repeated, "
            f"{rate / 1000:.1f} kB/s both ways together",
            {"frames": ECHOES, "wrong": wrong, "repeated": repeated,
             "bytes_per_second": round(rate)})


def _memory(device: Device, memory, full: bool) -> Finding:
    result = march(device, memory, full=full)
    detail = f"{result.tested:,} of {device.size(memory):,} bytes"
    if result.wrong:
        detail += f", {result.wrong} words wrong, the first at byte {result.first_wrong:#x}"
    return result.wrong == 0, detail, {"tested_bytes": result.tested, "wrong": result.wrong,
                                       "first_wrong": result.first_wrong}


def _product(device: Device) -> Finding:
    m, k, n = PRODUCT
    # A compact core is at its peak only where rows are innermost.
    compile_it = compile_sums if device.config.compact else compile_product
    product = compile_it(device.config, m=m, k=k, n=n)
    result = product.run(device)
    return _computed(device.config, product.macs, result, f"{m} x {k} x {n}")


def _attention(device: Device) -> Finding:
    model = load_model(MODEL)
    layer = prepare_layer(model, 0, model.encode(PROMPT), device.config)
    result = layer.compiled.run(device, layer.x, layer.h)
    return _computed(device.config, layer.compiled.macs, result, f"layer 0 of {MODEL}")


def _computed(config: Config, macs: int, result, what: str) -> Finding:
    measure = Measure(config, macs, result.counters)
    exact = bool(result.bit_exact)
    detail = f"{what}: " + ("bit exact" if exact else "NOT the reference's result")
    if measure.cycles is not None:
        detail += f", {number(measure.cycles)} cycles, {percent(measure.utilization)} of the peak"
    return exact, detail, {"bit_exact": exact, "cycles": measure.cycles, "macs": macs}


def healthy(checks: list[Check]) -> bool:
    """Whether no check failed."""
    return all(check.passed is not False for check in checks)


def as_json(device: str, config: str, checks: list[Check]) -> dict[str, object]:
    """The health report under its stable keys."""
    return {"device": device, "config": config, "healthy": healthy(checks),
            "checks": [check.as_json() for check in checks]}


def print_checks(checks: list[Check]) -> None:
    """One line a check."""
    words = {True: "good", False: "BAD", None: "not here"}
    print_facts((each.name, f"{words[each.passed]}: {each.detail}") for each in checks)
