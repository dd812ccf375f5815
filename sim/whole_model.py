"""The section of the page of results on SmolLM2 on the RTL, from one run of the whole model.

The run is long, so the section is also made from what ``systolith run --json`` wrote.
"""
from collections.abc import Mapping, Sequence
from typing import Any

from systolith.hw.configs import get_config
from systolith.sim.commands.complete import Request, complete
from systolith.sim.progress import Progress
from systolith.sim.results_page import percent, section
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES
from systolith.sw.runtime.sampling import Sampling

TITLE = "SmolLM2-135M on the RTL"

#: 16 tokens of SmolLM2.
PROMPT = ("The moon is the only natural satellite of the Earth, and its light comes from")

#: The prefill gives the first token, one step the second.
TOKENS = 2

COMMAND = f'systolith run smollm2 "{PROMPT}" --tokens {TOKENS} --compare --json smollm2.json'


def run_smollm2(progress: Progress) -> dict[str, Any]:
    """What :data:`COMMAND` writes.

    Raises
    ------
    ModelError, DeviceError, ToolchainError
        When the model cannot be had, or the device fails.
    """
    request = Request(model="smollm2", prompt=PROMPT, tokens=TOKENS, config="sim16", device="rtl",
                      max_cycles=DEFAULT_MAX_CYCLES, stall=0, seed=0, slide=False, compare=True,
                      sampling=Sampling())
    return complete(request, show=lambda piece: None, progress=progress).as_json()


def whole_model_section(run: Mapping[str, Any]) -> str:
    """The section from the JSON of a run with ``--compare``.

    Raises
    ------
    ValueError
        When the run is of another command, or was not compared with the functional device.
    """
    if "prefill" not in run or not run.get("decode"):
        raise ValueError("the file is not of a whole model that wrote two tokens or more")
    if run["bit_exact"] is None or not run["cycles"]:
        raise ValueError("the run was not on the RTL and compared; repeat it with --compare")
    steps = len(run["tokens"]) - 1
    rows = [_row(f"prefill of {run['prompt_tokens']} tokens", run["prefill"], run),
            _row(f"{steps} decoded token{'s' if steps > 1 else ''}", run["decode"], run)]
    text = (f"`{COMMAND}`, all 30 layers and 49,152 logits on `{run['config']}`; weights come out "
            "of external memory. Logits and tokens are compared with those of the functional "
            f"device. Wall time: prefill {run['seconds']['prefill']:.0f} s, decode "
            f"{run['seconds']['decode']:.0f} s.")
    return section(TITLE, text, ("work", "equal to functional", "cycles", "useful MACs", "of peak",
                                 "bytes moved", "of the bus"), rows)


def _row(name: str, part: Mapping[str, Any], run: Mapping[str, Any]) -> Sequence[str]:
    bus = part["move_bytes"] / (get_config(run["config"]).bus_bytes * part["cycles"])
    return (name, "yes" if run["bit_exact"] else "NO", f"{part['cycles']:,}", f"{part['macs']:,}",
            percent(part["utilization"]), f"{part['move_bytes']:,}", percent(bus))
