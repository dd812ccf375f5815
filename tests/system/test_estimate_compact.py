"""The cycle model of a compact core beside its RTL: equal in every cycle where no data decide."""
import numpy as np
import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import (
    Addend,
    Combine,
    Engine,
    Load,
    Output,
    Pass,
    Product,
    Reduce,
    Scale,
    Sink,
    Source,
    Store,
    Table,
)
from systolith.sim.attention import prepare_layer
from systolith.sim.rtl import RtlDevice
from systolith.sw.compiler.sums import compile_sums
from systolith.sw.estimate import estimate
from systolith.sw.models import load_model
from systolith.sw.runtime.device import StuckError
from tests.random_streams import move, product

CONFIG = get_config("ice40up5k")


@pytest.fixture(scope="module")
def device():
    with RtlDevice(CONFIG) as rtl:
        yield rtl


def same(device, streams):
    """Both, with all counters."""
    device.run(streams)
    assert estimate(CONFIG, streams).counters == device.wait()


def random_streams(rng):
    """Up to ten commands of each engine; what one signals, the other may wait for later."""
    moves = [move(rng, CONFIG) for _ in range(rng.integers(0, 11))]
    products = [product(rng, CONFIG) for _ in range(rng.integers(0, 11))]
    pairs = min(len(moves), len(products)) if rng.random() < 0.5 else 0
    bits = [int(rng.choice([1, 4, 0x21, 0x8000])) for _ in range(pairs)]
    streams = {Engine.MOVE: moves, Engine.MATRIX: products}
    first, second = rng.permutation([Engine.MOVE, Engine.MATRIX])
    for index, mask in enumerate(bits):
        streams[first][index] = replace(streams[first][index], signal=mask)
        streams[second][index] = replace(streams[second][index], wait=mask)
    return streams


def replace(command, **fields):
    return type(command)(**{**vars(command), **fields})


@pytest.mark.parametrize("seed", range(25))
def test_random_commands(device, seed):
    same(device, random_streams(np.random.default_rng(seed)))


@pytest.mark.parametrize("command", [
    Product(count0=7, count1=1, count2=1), Product(count0=1, count1=9, count2=1, wgt1_stride=1),
    Product(count0=3, count1=5, count2=2, wgt0_stride=1, acc2_stride=1, left_unsigned=1),
    Load(region=Region.CONST, rows=1, row_bytes=4), Store(region=Region.ACC, rows=3, row_bytes=40),
    Load(region=Region.WGT, rows=5, row_bytes=8, ext_stride=64, stride=16),
    Store(region=Region.VEC, rows=5, row_bytes=8, stride=8),
], ids=str)
def test_one_command(device, command):
    same(device, {command.ENGINE: [command]})


@pytest.mark.parametrize(("rows", "utilization"), [(8, 0.97), (16, 0.95)])
def test_a_resident_product_is_near_the_peak(device, rows, utilization):
    """As many sums as the accumulators hold, of as many products as the activations hold."""
    sums = compile_sums(CONFIG, m=rows, k=4096 // rows, n=1024 // rows)
    result = sums.run(device)
    assert result.bit_exact
    assert result.counters == estimate(CONFIG, sums.program.commands).counters
    assert sums.macs >= utilization * CONFIG.peak_macs_per_cycle * result.counters.cycles


def test_commands_that_wait_for_each_other_are_stuck():
    with pytest.raises(StuckError, match="no engine"):
        estimate(CONFIG, {Engine.MATRIX: [Product(count0=1, count1=1, count2=1, wait=1)]})


#: A pass on data of the usual kind: elements of 8, constants of 3, scale words of 40000 / 2**24.
USUAL = {
    "plain": {}, "rows": {"rows": 9, "beats": 1}, "vector memory": {"source": Source.VEC},
    "columns": {"addend": Addend.COLUMN, "scale": Scale.COLUMN},
    "row": {"addend": Addend.ROW, "row_read": 64}, "row's scale": {"row_scale": 1},
    "both": {"scale": Scale.COLUMN, "row_scale": 1},
    "tensor": {"scale": Scale.TENSOR, "multiplier": 40000, "shift": 21},
    "tensor and row": {"scale": Scale.TENSOR, "multiplier": 40000, "shift": 16, "row_scale": 1},
    "add": {"combine": Combine.ADD}, "multiply": {"combine": Combine.MULTIPLY},
    "self": {"combine": Combine.SELF, "output": Output.INT16},
    "square": {"combine": Combine.SQUARE, "narrow": 1},
    "causal": {"causal": 1, "position": 2, "reduce": Reduce.INDEX, "narrow": 1},
    "maximum": {"reduce": Reduce.MAX}, "magnitude": {"reduce": Reduce.ABSMAX},
    "act": {"sink": Sink.ACT}, "vec": {"sink": Sink.VEC, "sink_base": 3000},
    "rows of weights": {"sink": Sink.WGT_ROWS, "rows": 9, "position": 5},
    "lanes of weights": {"sink": Sink.WGT_LANES, "position": 1},
}


@pytest.mark.parametrize("name", USUAL)
def test_a_usual_pass_is_exact(device, name):
    device.write(Region.VEC, 0, np.full(4000, 8, "<i2").tobytes())
    device.write(Region.ROW, 0, np.repeat(np.array([24 << 16 | 40000, 3], "<u4"), 64).tobytes())
    device.write(Region.CONST, 0, np.tile(np.array([3, 24 << 16 | 40000], "<u4"), 64).tobytes())
    device.write(Region.ACT, 0, bytes([1] * 4096))
    device.write(Region.WGT, 0, bytes([1] * 1024))
    fill = Product(count0=512, count1=1, count2=1, acc0_stride=1)
    work = Pass(**{"rows": 3, "beats": 5, "valid": 9, "source_row_stride": 5, "multiplier": 1,
                   "source_tile_stride": 1, "stream_row_stride": 5, "row_write": 200,
                   "sink_row_stride": 1, "sink_tile_stride": 3} | USUAL[name])
    same(device, {Engine.MATRIX: [fill]})
    same(device, {Engine.VECTOR: [work]})


@pytest.mark.parametrize("command", [Table(table=1, source_base=7)])
def test_a_table_is_exact(device, command):
    same(device, {Engine.VECTOR: [command]})


def test_a_layer_with_attention_is_near(device):
    """Data decide some steps; the engine serves the host, as not all commands fit the queues."""
    model = load_model("mathformer-mul")
    layer = prepare_layer(model, 0, model.encode("7*8="), CONFIG)
    result = layer.compiled.run(device, layer.x, layer.h)
    assert result.bit_exact
    expected = estimate(CONFIG, layer.compiled.program.commands).cycles
    assert expected == pytest.approx(result.counters.cycles, rel=0.12)
