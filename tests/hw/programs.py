"""Small hand-written command streams, and memories with random content."""
import numpy as np

from systolith.hw.config import Config, Region
from systolith.hw.isa import (
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
)
from systolith.sw.runtime.device import Device

#: Bytes of external memory that the programs use.
EXT_USED = 1 << 16

FILLED = (Region.ACT, Region.WGT, Region.VEC, Region.CONST, Region.ROW)


def fill(*devices: Device, seed: int = 0, size: int = 8192) -> None:
    """Give all devices the same random bytes at the beginning of each memory."""
    rng = np.random.default_rng(seed)
    for region in (*FILLED, "ext"):
        data = rng.integers(0, 256, EXT_USED if region == "ext" else size, dtype=np.uint8)
        for device in devices:
            device.write(region, 0, data[:device.size(region)].tobytes())


def chain(config: Config, *, repeat: int = 3) -> dict[Engine, list]:
    """Load, multiply, requantize, add into the residual stream, store: over and over.

    Semaphores 0 to 3 lead from step to step, so the order is fixed.
    """
    rows, act_bytes = 12, config.rows
    beats, tiles = config.cols // config.lanes, 3
    run = rows * act_bytes
    load = Load(region=Region.ACT, rows=tiles, row_bytes=run, ext_base=512, ext_stride=2 * run,
                base=0, stride=run, signal=1 << 0)
    product = Product(count0=rows, count1=tiles, count2=2, act0_stride=1, act1_stride=rows,
                      wgt1_stride=1, wgt2_stride=tiles, acc0_stride=1, acc2_stride=rows,
                      wait=1 << 0, signal=1 << 1)
    to_act = Pass(source=Source.ACC, rows=rows, beats=2 * beats, valid=2 * config.cols - 1,
                  source_row_stride=1, source_tile_stride=rows, scale=Scale.TENSOR,
                  multiplier=45000, shift=25, output=Output.INT8, sink=Sink.ACT,
                  sink_base=tiles * rows, sink_row_stride=1, sink_tile_stride=rows,
                  reduce=Reduce.ABSMAX, row_write=7, wait=1 << 1)
    residual = Pass(source=Source.ACC, rows=rows, beats=beats, valid=config.cols,
                    source_row_stride=1, source_tile_stride=rows, scale=Scale.COLUMN, const_base=2,
                    combine=Combine.ADD, stream_base=16, stream_row_stride=beats,
                    output=Output.INT16, sink=Sink.VEC, sink_base=16, sink_row_stride=beats,
                    sink_tile_stride=1, signal=1 << 2, fence=1)
    store = Store(region=Region.VEC, rows=rows, row_bytes=2 * config.cols,
                  ext_base=32768, ext_stride=4 * config.cols, base=32 * config.lanes,
                  stride=2 * config.cols, wait=1 << 2)
    again = Store(region=Region.ACC, rows=1, row_bytes=4 * config.cols * rows, ext_base=49152,
                  base=0, signal=1 << 3)
    # The next round's load overwrites activations that the last product has read by then.
    first = [load, store, again]
    later = [load_after(load), store, again]
    return {Engine.MOVE: first + later * (repeat - 1), Engine.MATRIX: [product] * repeat,
            Engine.VECTOR: [to_act, residual] * repeat}


def load_after(load: Load) -> Load:
    """The same load, after the stores of the round before."""
    return Load(**{name: getattr(load, name) for name in (
        "region", "rows", "row_bytes", "ext_base", "ext_stride", "base", "stride", "signal")},
        wait=1 << 3, fence=1)
