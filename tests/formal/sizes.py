"""The smallest machine: proofs need every behavior, not every size."""
from systolith.hw.config import Config

CONFIG = Config(
    name="formal", rows=4, cols=4, lanes=4, act_depth=16, wgt_depth=16, acc_depth=16, vec_depth=16,
    const_depth=16, row_depth=16, queue_depth=32, semaphores=6, semaphore_width=2, bus_bytes=4,
    ext_bytes=1 << 10)

COMPACT = Config(
    name="compact", microarchitecture="compact", rows=8, cols=2, lanes=2, act_depth=16,
    wgt_depth=16, acc_depth=16, vec_depth=16, const_depth=16, row_depth=16, queue_depth=32,
    semaphores=6, semaphore_width=2, bus_bytes=4, ext_bytes=1 << 10)
