"""The command that runs models: run."""
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.options import (
    ConfigName,
    DeviceOption,
    Json,
    Layer,
    MemoryName,
    ModelName,
    Placement,
    Prompt,
    Teams,
    WithoutCore,
    check_memory,
    example,
)
from systolith.sim.output import USAGE, fail, user_errors, writable_path, write_json
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES

commands = typer.Typer()


@commands.command(epilog=example("systolith run glassllm --layer 2 --prompt 'Alice was' --json -",
                             "systolith run glassllm --prompt 'Alice was' --tokens 40",
                             "systolith run mathformer '7*8='",
                             "systolith run minilm 'A cat sat on the mat.' --config mesh4",
                             "systolith run glassllm --text prompts.txt --config mesh4"))
def run(
    model: ModelName = "glassllm",
    text: Annotated[str | None, typer.Argument(
        metavar="PROMPT", help="As --prompt, and lets the whole model go on with it; for a "
        "sentence encoder the text.")] = None,
    layer: Layer = None,
    tokens: Annotated[int | None, typer.Option(
        "--tokens", metavar="N", min=1,
        help="Run the whole model and write so many tokens; 40 after PROMPT.")] = None,
    prompt: Prompt = None,
    config: ConfigName = "sim16",
    device: DeviceOption = "rtl",
    max_cycles: Annotated[int, typer.Option(
        "--max-cycles", min=1, help="Give up after so many cycles (rtl).")] = DEFAULT_MAX_CYCLES,
    stall: Annotated[int, typer.Option(
        "--stall", metavar="PERCENT", min=0, max=95,
        help="Share of cycles in which host and external memory hold back at random.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the stalls.")] = 0,
    memory: MemoryName = "ideal",
    lines: Annotated[Path | None, typer.Option(
        "--text", metavar="FILE",
        help="Texts, one a line: to embed, or for a language model to go on with, each on a core "
        "of its own.")] = None,
    placement: Placement = None,
    teams: Teams = None,
    without_core: WithoutCore = None,
    save: Annotated[str | None, typer.Option(
        "--save", metavar="PROGRAM", callback=writable_path,
        help="Also write the compiled layer as a program file.")] = None,
    temperature: Annotated[float, typer.Option(
        "--temperature", min=0, help="Of sampling; 0 takes the best token.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(
        "--top-k", min=1, help="Sample among so many best tokens.")] = None,
    top_p: Annotated[float, typer.Option(
        "--top-p", max=1, help="Sample among the best tokens that reach this probability.")] = 1.0,
    slide: Annotated[bool, typer.Option(
        "--slide", help="Go on with the last half of a full context.")] = False,
    compare: Annotated[bool, typer.Option(
        "--compare", help="Compare what a whole model gives with the functional device.")] = False,
    json: Json = None,
) -> None:
    """Run the attention of a layer and compare every byte with the NumPy reference; or, with
    PROMPT, --tokens or --text, let the whole model write text or embed sentences."""
    if stall and device != "rtl":
        fail("--stall needs --device rtl: only there can its surroundings hold back", USAGE)
    check_memory(memory, device)
    writes = text is not None or tokens is not None
    if writes and (layer is not None or save):
        fail("--layer and --save run one layer; leave out PROMPT and --tokens", USAGE)
    if text is not None and prompt is not None:
        fail("the prompt is given twice, as PROMPT and by --prompt", USAGE)
    if lines is not None and (text is not None or layer is not None or prompt is not None or save):
        fail("--text has the texts: leave out PROMPT, --prompt, --layer and --save", USAGE)
    where = {"config": config, "device": device, "max_cycles": max_cycles, "stall": stall,
             "seed": seed, "memory": memory, "without": without_core or ()}
    writing = {"tokens": tokens, "slide": slide,
               "sampling": {"temperature": temperature, "top_k": top_k, "top_p": top_p}}
    with user_errors():
        from systolith.hw.configs import get_config
        from systolith.sw.decoder.compile import placement_of
        from systolith.sw.models.encoders import ENCODERS

        alone = device == "functional" and get_config(config).cores == 1
        if compare and (not writes or alone or lines is not None or model in ENCODERS):
            fail("--compare is for a whole model, with PROMPT or --tokens, on another device than "
                 "the functional one, or on several cores", USAGE)
        if model in ENCODERS:
            if layer is not None or prompt is not None or save or tokens is not None:
                fail(f"{model} is a sentence encoder: give it a text, or --text FILE with one a "
                     "line; it takes no --prompt, --layer, --save and --tokens", USAGE)
            _embed(model, text, lines, placement, {**where, "teams": teams}, json)
        elif teams is not None:
            fail("--teams is for sentence encoders with --placement groups; leave it out", USAGE)
        elif lines is not None:
            _answer(model, lines, placement, writing, where, json)
        elif placement_of(placement) == "texts":
            fail("placement 'texts' needs several texts: give them with --text FILE, one a line",
                 USAGE)
        elif model == "mathformer" and not writes:
            fail("mathformer chooses its model by the sign of a problem: give it as PROMPT, for "
                 "example '7*8=', or name mathformer-add, -sub, -mul or -div", USAGE)
        elif writes:
            _write_text(model, text if text is not None else prompt, compare, writing, where, json)
        else:
            _run_layer(model, layer or "0", prompt, save, where, json)


def _writing(writing: dict, where: dict) -> dict:
    """Of a request: how text is written."""
    from systolith.sim.commands.complete import DEFAULT_TOKENS
    from systolith.sw.runtime.sampling import Sampling

    sampling = writing["sampling"]
    if not 0 < sampling["top_p"]:
        fail(f"--top-p must be above 0, not {sampling['top_p']}", USAGE)
    return {**writing, **where, "tokens": writing["tokens"] or DEFAULT_TOKENS,
            "sampling": Sampling(seed=where["seed"], **sampling)}


def _answer(model: str, lines: Path, placement: str | None, writing: dict, where: dict,
            json: str | None) -> None:
    from systolith.sim.commands import answer as command
    from systolith.sim.commands.complete import WritingRequest, model_of
    from systolith.sim.commands.embed import texts_of
    from systolith.sim.progress import Progress
    from systolith.sw.decoder.compile import placement_of

    if placement is not None and placement_of(placement) != "texts":
        fail(f"--text gives each core a text of its own, placement 'texts', not {placement!r}; "
             "all cores work on one text that is given as PROMPT", USAGE)
    prompts = texts_of(lines)
    request = WritingRequest(model=model_of(model, prompts[0]), **_writing(writing, where))
    result = command.answer(request, prompts, progress=Progress())
    if write_json(result.as_json(), json):
        command.print_answers(result)


def _write_text(model: str, prompt: str | None, compare: bool, writing: dict, where: dict,
                json: str | None) -> None:
    from systolith.sim.commands import complete as command
    from systolith.sim.progress import Progress

    request = command.Request(model=command.model_of(model, prompt), prompt=prompt,
                              compare=compare, **_writing(writing, where))
    quiet = json == "-"
    result = command.complete(
        request, progress=Progress(),
        show=(lambda piece: None) if quiet else lambda piece: typer.echo(piece, nl=False))
    if write_json(result.as_json(), json):
        typer.echo("\n")
        command.print_completion(result)
    if result.bit_exact is False:
        fail("logits or tokens differ from those of the functional device")


def _embed(model: str, text: str | None, path: Path | None, placement: str | None, where: dict,
           json: str | None) -> None:
    from systolith.sim.commands import embed as command
    from systolith.sim.progress import Progress

    if text is None and path is None:
        fail(f"{model} is a sentence encoder: give it a text, or --text FILE with one a line",
             USAGE)
    if text is not None and not text.strip():
        fail("the text is empty; give at least one word", USAGE)
    texts = [text] if path is None else command.texts_of(path)
    result = command.embed(command.Request(model=model, placement=placement, **where), texts,
                           progress=Progress())
    if write_json(result.as_json(), json):
        command.print_embedded(result)


def _run_layer(model: str, layer: str, prompt: str | None, save: str | None, where: dict,
               json: str | None) -> None:
    if save and layer == "all":
        fail("--save writes one layer: name it with --layer N", USAGE)
    if where.pop("without"):
        fail("--without-core is for whole models; the attention of a layer runs on one core", USAGE)
    from systolith.sim.commands import run as command
    from systolith.sim.progress import Progress
    from systolith.sim.report import print_report

    request = command.Request(model=model, layer=layer if layer == "all" else int(layer),
                              prompt=prompt, **where)
    result = command.run(request, save=Path(save) if save else None, progress=Progress())
    if write_json(result.as_json(), json):
        print_report(result)
    if not result.bit_exact:
        fail(f"{result.different_bytes} of {result.output_bytes} output bytes differ from the "
             "NumPy reference")
