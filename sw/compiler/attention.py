"""Compilation of an attention layer: quantize, plan, lower, schedule, verify.

The lowerings write commands in an order in which they could run one by one. That order decides what
runs side by side: the scheduler keeps each engine's order and lets go of the rest.
"""
from systolith.hw.config import Config
from systolith.hw.isa import Command, Engine
from systolith.sw.compiler.allocate import CapacityError, with_advice
from systolith.sw.compiler.calibrate import Calibration
from systolith.sw.compiler.compiled import CompiledAttention
from systolith.sw.compiler.errors import CompileError
from systolith.sw.compiler.fields import Span, spans
from systolith.sw.compiler.heads import HeadLowering
from systolith.sw.compiler.image import Image, Place
from systolith.sw.compiler.layout import column_constants, pad_rows, vector_words, weight_tiles
from systolith.sw.compiler.plan import BlockRows, Plan, Shape, default_block_rows, plan
from systolith.sw.compiler.projections import ProjectionLowering
from systolith.sw.compiler.quantize import quantize_attention
from systolith.sw.compiler.schedule import schedule
from systolith.sw.compiler.skipping import skip_zero_tiles
from systolith.sw.compiler.verifier import verify
from systolith.sw.compiler.zero_tiles import useful_elements
from systolith.sw.estimate import estimate
from systolith.sw.estimate.search import refine
from systolith.sw.reference.attention import QuantizedAttention
from systolith.sw.reference.numerics import exp2_table
from systolith.sw.reference.weights import AttentionWeights
from systolith.sw.runtime.program import Program

#: Each engine's queue.
Streams = dict[Engine, list[Command]]


def compile_attention(weights: AttentionWeights, scales: Calibration, config: Config, *,
                      length: int, valid: int | None = None, name: str = "attention",
                      block_rows: int | None = None) -> CompiledAttention:
    """Compile an attention layer.

    Parameters
    ----------
    weights : AttentionWeights
    scales : Calibration
    config : Config
    length : int
        Positions T.
    valid : int, optional
        Positions that exist; the ones after them are padding that no position attends to.
    name : str
        For messages and reports.
    block_rows : int, optional
        Rows that products and passes alternate over, where memories allow; by default those with
        which the cycle model is fastest.

    Raises
    ------
    CompileError
        When it does not fit (with the memory, need, capacity and the nearest named configuration
        that fits) or a parameter is outside its limit.
    """
    if block_rows is not None and block_rows < 1:
        raise CompileError(f"block_rows must be at least 1, not {block_rows}")
    shape, what = _shape(weights, length, valid), f"{name} at length {length}"
    layer = quantize_attention(weights, scales)
    try:
        return _compile(weights, layer, shape, config, what, name, block_rows)
    except CapacityError as error:
        raise with_advice(error, lambda other: _build(
            layer, plan(shape, other, what), other, what)) from None


def _shape(weights: AttentionWeights, length: int, valid: int | None) -> Shape:
    if not 1 <= length <= 65535:
        raise CompileError(f"length must be from 1 to 65535, not {length}")
    valid = length if valid is None else valid
    if not 1 <= valid <= length:
        raise CompileError(f"valid must be from 1 to the length, {length}, not {valid}")
    if weights.cos is not None and length > len(weights.cos):
        raise CompileError(f"length is {length}, but the rotary embedding has "
                           f"{len(weights.cos)} positions")
    return Shape(length=length, valid=valid, width=weights.width, heads=weights.heads,
                 kv_heads=weights.kv_heads, head_dim=weights.head_dim,
                 rotary=weights.cos is not None, causal=weights.causal)


def _compile(weights: AttentionWeights, layer: QuantizedAttention, shape: Shape, config: Config,
             what: str, name: str, block_rows: int | None) -> CompiledAttention:
    def scheduled(rows: BlockRows) -> tuple[Image, dict[str, Place], Streams]:
        image, places, commands = _build(layer, plan(shape, config, what, rows), config, what)
        commands = skip_zero_tiles([*image.loads, *commands], image.sections, config)
        return image, places, schedule(commands, config)

    if block_rows is not None:
        image, places, streams = scheduled(BlockRows.of(block_rows))
    else:
        image, places, streams = refine(
            BlockRows.of(default_block_rows(config)), _alternatives(config), scheduled,
            lambda compiled: estimate(config, compiled[2]).cycles, refused=CompileError).compiled
    verify(config, streams)
    program = Program(config, streams, tuple(image.sections), name,
                      _macs(layer, shape, config))
    return CompiledAttention(program, weights, layer, shape, places)


def _alternatives(config: Config) -> dict[str, list[int]]:
    """Rows of blocks that are worth a try. Short ones start and end sooner, but each costs a
    command, and fences show more; so it depends on the length which are the best."""
    rows = default_block_rows(config)
    return {"output": [max(1, rows // 4)], "project": [max(1, rows // 4)],
            "attend": [max(1, rows // 2)]}


def _macs(layer: QuantizedAttention, shape: Shape, config: Config) -> int:
    """Useful multiply-accumulates: no padding, no weight tiles of zeros, and only the scores that
    are needed."""
    weights = sum(useful_elements(each.weight, config) for each in (*layer.q, *layer.k, *layer.v))
    weights += useful_elements(layer.out.weight, config, rows=layer.head_dim)
    return shape.length * weights + shape.attention_macs


def _build(layer: QuantizedAttention, places: Plan, config: Config,
           what: str) -> tuple[Image, dict[str, Place], list[Command]]:
    """Image, inputs and outputs, and all commands but the loads."""
    lowering = ProjectionLowering(layer, places, config)
    image = Image(config)
    bound = _fill(image, lowering)
    bound["y"] = image.place(places.y)
    image.check(what)
    commands = [*lowering.inputs(), *HeadLowering(layer, places, config).commands()]
    beats = places.tiles.width_beats
    for block, (start, end) in lowering.output():
        commands += block
        commands += image.store(places.y, bound["y"], start * beats, (end - start) * beats)
    return image, bound, commands


def _fill(image: Image, lowering: ProjectionLowering) -> dict[str, Place]:
    """The image in the order of first use, so that products start as soon as they can."""
    layer, places, config = lowering.layer, lowering.plan, lowering.config
    bound = {"h": image.place(places.h)}
    for kv in range(layer.kv_heads):
        image.add(f"wk{kv}", places.wk[kv], weight_tiles(layer.k[kv].weight, config))
        if kv == 0:
            _fill_first(image, lowering, bound["h"])
        image.add(f"wv{kv}", places.wv[kv], weight_tiles(layer.v[kv].weight, config))
        for head in range(kv * layer.group, (kv + 1) * layer.group):
            image.add(f"wq{head}", places.wq[head], weight_tiles(layer.q[head].weight, config))
    image.add("exp2", places.table, exp2_table().astype("<i2").tobytes())
    image.add("wo", places.wo, weight_tiles(pad_rows(
        layer.out.weight, layer.head_dim, lowering.plan.tiles.head_in * config.rows), config))
    bound["x"] = image.place(places.x)
    image.load(places.x, bound["x"], 0, places.x.words)
    return bound


def _fill_first(image: Image, lowering: ProjectionLowering, h: Place) -> None:
    """The input in the blocks of the first products, and what their drains need.

    Products run ahead of their drains, so a block's input comes before the rotation of the last.
    """
    plan, tiles = lowering.plan, lowering.plan.tiles
    rope = _rope_place(image, lowering)
    blocks = spans(plan.shape.length, plan.project_rows)
    for number, (start, end) in enumerate(blocks):
        image.load(plan.h, h, start * tiles.width_in, (end - start) * tiles.width_in)
        if number == min(1, len(blocks) - 1):
            image.add("constants", plan.constants, _constants(lowering))
        if number and rope:
            _load_rope(image, plan, rope, blocks[number - 1])
    if rope:
        _load_rope(image, plan, rope, blocks[-1])


def _rope_place(image: Image, lowering: ProjectionLowering) -> Place | None:
    plan, layer = lowering.plan, lowering.layer
    if layer.rope is None:
        return None
    return image.write("rope", plan.rope, vector_words(
        layer.rope[:plan.shape.length], lowering.config, plan.tiles.head_beats))


def _load_rope(image: Image, plan: Plan, rope: Place, rows: Span) -> None:
    beats = plan.tiles.head_beats
    image.load(plan.rope, rope, rows[0] * beats, (rows[1] - rows[0]) * beats)


def _constants(lowering: ProjectionLowering) -> bytes:
    layer, tiles, config = lowering.layer, lowering.plan.tiles, lowering.config
    heads = {"q": layer.q, "k": layer.k, "v": layer.v}
    parts = [column_constants(heads[name][i].words, heads[name][i].bias, config, tiles.head_beats)
             for name, i in lowering.constant_order()]
    return b"".join(parts) + column_constants(layer.out.words, layer.out.bias, config,
                                              tiles.width_beats)
