"""``systolith run``: attention layers of a model on a device, compared with the reference."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from systolith.hw.config import Config
from systolith.hw.configs import get_config
from systolith.sim.attention import PreparedLayer, prepare_layer
from systolith.sim.devices import open_device
from systolith.sim.measure import Measure, total
from systolith.sim.progress import Progress
from systolith.sw.compiler import AttentionResult
from systolith.sw.models import Model, load_model

#: The value of ``--layer`` that stands for every layer.
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; ``layer`` is an index or ``"all"``."""

    model: str
    layer: int | str
    prompt: str | None
    config: str
    device: str
    max_cycles: int
    stall: int
    seed: int
    memory: str = "ideal"


@dataclass(frozen=True)
class LayerRun:
    """One layer that ran."""

    layer: PreparedLayer
    result: AttentionResult

    @property
    def measure(self) -> Measure:
        """Cycles and work."""
        compiled = self.layer.compiled
        return Measure(compiled.config, compiled.macs, self.result.counters)

    @property
    def output_bytes(self) -> int:
        """Bytes of the output."""
        return self.result.output.nbytes

    @property
    def different_bytes(self) -> int:
        """Bytes of the output that differ from the integer reference."""
        return int(np.count_nonzero(self.result.output.view(np.uint8)
                                    != self.result.expected.view(np.uint8)))

    @property
    def output_rms(self) -> float:
        """Root mean square of the layer's output, as the integer reference has it."""
        values = self.result.expected * float(self.layer.compiled.layer.x_scale)
        return float(np.sqrt(np.mean(values ** 2)))

    def as_json(self) -> dict[str, object]:
        """The layer's values under their stable keys."""
        return {"layer": self.layer.index, "bit_exact": self.result.bit_exact,
                "different_bytes": self.different_bytes, "output_bytes": self.output_bytes,
                "mean_abs_error": self.result.mean_abs_error,
                "max_abs_error": self.result.max_abs_error, "output_rms": self.output_rms,
                **self.measure.as_json()}


@dataclass(frozen=True)
class Run:
    """All layers that ran, and on what."""

    request: Request
    model: Model
    prompt: str
    tokens: int
    layers: tuple[LayerRun, ...]
    seconds: dict[str, float]

    @property
    def config(self) -> Config:
        """The configuration."""
        return self.layers[0].layer.compiled.config

    @property
    def measure(self) -> Measure:
        """Cycles and work of all layers together."""
        return total([run.measure for run in self.layers])

    @property
    def bit_exact(self) -> bool:
        """Whether every output byte of every layer equals the reference."""
        return all(run.result.bit_exact for run in self.layers)

    @property
    def different_bytes(self) -> int:
        """Bytes that differ, over all layers."""
        return sum(run.different_bytes for run in self.layers)

    @property
    def output_bytes(self) -> int:
        """Bytes of output, over all layers."""
        return sum(run.output_bytes for run in self.layers)

    @property
    def mean_abs_error(self) -> float:
        """Mean error against the floating-point layers."""
        return float(np.mean([run.result.mean_abs_error for run in self.layers]))

    @property
    def max_abs_error(self) -> float:
        """Largest error against the floating-point layers."""
        return max(run.result.max_abs_error for run in self.layers)

    @property
    def output_rms(self) -> float:
        """Root mean square of all outputs."""
        return float(np.sqrt(np.mean([run.output_rms ** 2 for run in self.layers])))

    def as_json(self) -> dict[str, object]:
        """The report under its stable keys; ``layers`` has them for each layer."""
        return {"model": self.model.name, "layer": self.request.layer, "prompt": self.prompt,
                "tokens": self.tokens, "config": self.config.name, "device": self.request.device,
                "stall": self.request.stall, "seed": self.request.seed,
                "memory": self.request.memory,
                "bit_exact": self.bit_exact, "different_bytes": self.different_bytes,
                "output_bytes": self.output_bytes, **self.measure.as_json(),
                "mean_abs_error": self.mean_abs_error, "max_abs_error": self.max_abs_error,
                "output_rms": self.output_rms, "seconds": self.seconds,
                "layers": [run.as_json() for run in self.layers]}


def run(request: Request, *, save: Path | None = None, progress: Progress) -> Run:
    """Compile all that was asked for, then run it.

    Raises
    ------
    ConfigError, ModelError, CompileError
        When the request cannot be met.
    DeviceError, StuckError, ToolchainError
        When the device fails.
    """
    config = get_config(request.config)
    model = load_model(request.model)
    prompt = model.default_prompt if request.prompt is None else request.prompt
    ids = model.encode(prompt)
    with progress.stage("compile"):
        layers = [prepare_layer(model, index, ids, config)
                  for index in layer_indices(model, request.layer)]
    if save is not None:
        layers[0].compiled.program.save(save)
    results = tuple(_run_layers(request, config, layers, progress))
    return Run(request, model, prompt, len(ids), results, dict(progress.seconds))


def layer_indices(model: Model, layer: int | str) -> Sequence[int]:
    """The layers that ``--layer`` names."""
    return range(model.layers) if layer == ALL else [int(layer)]


def _run_layers(request: Request, config: Config, layers: Sequence[PreparedLayer],
                progress: Progress) -> Iterator[LayerRun]:
    with open_device(request.device, config, stall=request.stall, seed=request.seed,
                     memory=request.memory, progress=progress) as device:
        for layer in layers:
            with progress.stage(f"run {layer.compiled.program.model}"):
                result = layer.compiled.run(device, layer.x, layer.h, request.max_cycles)
            yield LayerRun(layer, result)
