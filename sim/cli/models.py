"""Commands that run models: run, similarity, eval."""
import os
from pathlib import Path
from typing import Annotated

import typer

from systolith.sim.cli.options import (
    RESULTS,
    ConfigName,
    DeviceOption,
    Json,
    Layer,
    MemoryName,
    ModelName,
    Prompt,
    check_memory,
    check_page,
    example,
    picture_path,
)
from systolith.sim.output import USAGE, fail, user_errors, writable_path, write_json
from systolith.sw.runtime.device import DEFAULT_MAX_CYCLES

commands = typer.Typer()


@commands.command(epilog=example("systolith run glassllm --layer 2 --prompt 'Alice was' --json -",
                             "systolith run glassllm --prompt 'Alice was' --tokens 40",
                             "systolith run mathformer '7*8='",
                             "systolith run minilm --text sentences.txt"))
def run(
    model: ModelName = "glassllm",
    text: Annotated[str | None, typer.Argument(
        metavar="PROMPT", help="As --prompt, and lets the whole model go on with it.")] = None,
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
        help="For a sentence encoder: texts to embed, one a line.")] = None,
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
    """Run the attention of a layer and compare every byte with the NumPy reference; or, with PROMPT
    or --tokens, let the whole model write text; or, with --text, embed sentences."""
    if stall and device != "rtl":
        fail("--stall needs --device rtl: only there can its surroundings hold back", USAGE)
    check_memory(memory, device)
    writes = text is not None or tokens is not None
    if writes and (layer is not None or save):
        fail("--layer and --save run one layer; leave out PROMPT and --tokens", USAGE)
    if text is not None and prompt is not None:
        fail("the prompt is given twice, as PROMPT and by --prompt", USAGE)
    if lines is not None and (writes or layer is not None or prompt is not None or save):
        fail("--text is for sentence encoders and takes no prompt, layer or tokens", USAGE)
    where = {"config": config, "device": device, "max_cycles": max_cycles, "stall": stall,
             "seed": seed, "memory": memory}
    with user_errors():
        from systolith.hw.configs import get_config
        from systolith.sw.models.encoders import ENCODERS

        alone = device == "functional" and get_config(config).cores == 1
        if compare and (not writes or alone):
            fail("--compare is for a whole model, with PROMPT or --tokens, on another device than "
                 "the functional one, or on several cores", USAGE)
        if lines is not None:
            _embed(model, lines, where, json)
        elif model in ENCODERS:
            fail(f"{model} is a sentence encoder: give it texts with --text FILE, one a line",
                 USAGE)
        elif model == "mathformer" and not writes:
            fail("mathformer chooses its model by the sign of a problem: give it as PROMPT, for "
                 "example '7*8=', or name mathformer-add, -sub, -mul or -div", USAGE)
        elif writes:
            _write_text(model, text if text is not None else prompt, tokens, slide, compare,
                        {"temperature": temperature, "top_k": top_k, "top_p": top_p}, where, json)
        else:
            _run_layer(model, layer or "0", prompt, save, where, json)


def _write_text(model: str, prompt: str | None, tokens: int | None, slide: bool, compare: bool,
                sampling: dict, where: dict, json: str | None) -> None:
    from systolith.sim.commands import complete as command
    from systolith.sim.progress import Progress
    from systolith.sw.runtime.sampling import Sampling

    if not 0 < sampling["top_p"]:
        fail(f"--top-p must be above 0, not {sampling['top_p']}", USAGE)
    request = command.Request(
        model=command.model_of(model, prompt), prompt=prompt,
        tokens=tokens or command.DEFAULT_TOKENS, slide=slide, compare=compare,
        sampling=Sampling(seed=where["seed"], **sampling), **where)
    quiet = json == "-"
    result = command.complete(
        request, progress=Progress(),
        show=(lambda piece: None) if quiet else lambda piece: typer.echo(piece, nl=False))
    if write_json(result.as_json(), json):
        typer.echo("\n")
        command.print_completion(result)
    if result.bit_exact is False:
        fail("logits or tokens differ from those of the functional device")


def _embed(model: str, path: Path, where: dict, json: str | None) -> None:
    from systolith.sim.commands import embed as command
    from systolith.sim.progress import Progress

    result = command.embed(command.Request(model=model, **where), command.texts_of(path),
                           progress=Progress())
    if write_json(result.as_json(), json):
        command.print_embedded(result)


def _run_layer(model: str, layer: str, prompt: str | None, save: str | None, where: dict,
               json: str | None) -> None:
    if save and layer == "all":
        fail("--save writes one layer: name it with --layer N", USAGE)
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


@commands.command(epilog=example("systolith similarity 'A cat sat.' 'A kitten was sitting.'"))
def similarity(
    first: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence.")],
    second: Annotated[str, typer.Argument(metavar="TEXT", help="Another one.")],
    model: Annotated[str, typer.Option(
        "--model", metavar="MODEL", help="Name of a sentence encoder, or its folder.")] = "minilm",
    config: ConfigName = "sim16",
    device: DeviceOption = "functional",
    json: Json = None,
) -> None:
    """Cosine of the embeddings of two sentences: 1 for the same meaning, about 0 for unrelated."""
    with user_errors():
        from systolith.sim.commands import embed as command
        from systolith.sim.progress import Progress

        if not (first.strip() and second.strip()):
            fail("a text is empty; give two sentences", USAGE)
        request = command.Request(model=model, config=config, device=device,
                                  max_cycles=DEFAULT_MAX_CYCLES)
        result = command.embed(request, [first, second], progress=Progress())
        if write_json({"similarity": result.similarity, **result.as_json()}, json):
            typer.echo(f"{result.similarity:.4f}")


@commands.command(name="eval", epilog=example(
    "systolith eval mathformer --json -",
    "systolith eval minilm --samples 500 --plot minilm.png",
    "systolith eval smollm2 --samples 4096 --write"))
def evaluate(
    model: Annotated[str, typer.Argument(
        metavar="MODEL", help="glassllm, minilm, smollm2, mathformer-add, -sub, -mul or -div, or "
        "mathformer for all four.")],
    samples: Annotated[int | None, typer.Option(
        "--samples", metavar="N", min=1, help="So many texts, or tokens of each text, instead of "
        "the usual: what the results have.")] = None,
    plot: Annotated[str | None, typer.Option(
        "--plot", metavar="PICTURE", callback=picture_path,
        help="Also draw the table (png, svg or pdf).")] = None,
    write: Annotated[bool, typer.Option(
        "--write", help=f"Also put the rows into {RESULTS}.")] = False,
    json: Json = None,
) -> None:
    """Measure accuracy on real data: floating point, INT8 in principle, and the machine."""
    if write:
        check_page()
    # Many short products: threads cost more than they bring. Read when NumPy is first imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with user_errors():
        from systolith.sim.commands import evaluate as command

        if plot:
            command.check_plot()
        with command.bar(model) as progress:
            rows = command.evaluate(model, samples, progress)
        if plot:
            command.plot(rows, Path(plot))
        if write:
            from systolith.sim.accuracy_table import accuracy_section
            from systolith.sim.results_page import renew

            renew([accuracy_section(rows, Path(RESULTS))], Path(RESULTS))
        if write_json(command.as_json(rows), json):
            command.print_rows(rows)
