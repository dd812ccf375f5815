"""The whole microprogram of a configuration."""
from functools import cache

from amaranth.utils import exact_log2

from systolith.hw.compact.assembler import Assembled, assemble
from systolith.hw.compact.instructions import OUT_COUNT, OUT_STATUS
from systolith.hw.compact.layout import SEMAPHORES, TABLE_BYTES, layout, ring_bytes
from systolith.hw.compact.microcode import control, products
from systolith.hw.compact.microcode.elements import ELEMENTS
from systolith.hw.compact.microcode.host import host
from systolith.hw.compact.microcode.moves import moves
from systolith.hw.compact.microcode.passes import passes
from systolith.hw.compact.microcode.reductions import REDUCTIONS
from systolith.hw.compact.microcode.semaphores import SEMAPHORES as SEMAPHORE_TEXT
from systolith.hw.compact.microcode.tables import tables
from systolith.hw.config import MEMORIES, Config
from systolith.hw.isa import ENGINES, VERSION, Counter, Register, counter_offset
from systolith.hw.registers import REGISTER_BYTES


@cache
def microprogram(config: Config) -> Assembled:
    """Assembled for a compact configuration."""
    text = "".join((control.control(), SEMAPHORE_TEXT, host(), moves(), products.products(),
                    passes(), ELEMENTS, REDUCTIONS, tables()))
    return assemble(text, names(config))


def names(config: Config) -> dict[str, int]:
    """Constants of the text: places of the memories, sizes, registers."""
    places = layout(config)
    result = control.names() | products.names() | {
        "IDENTITY": config.identity, "VERSION": VERSION, "COUNT": OUT_COUNT,
        "SHOWN": OUT_STATUS,
        "FULL": 1 << config.semaphore_width, "QUEUE_DEPTH": config.queue_depth,
        "EXTERNAL": places.external, "EXTERNAL_BYTES": config.ext_bytes,
        "REGISTERS": places.registers, "REGISTERS_END": places.registers + REGISTER_BYTES,
        "REGISTER_BYTES": REGISTER_BYTES,
        "SEMAPHORES": places.semaphores, "SEMAPHORES_END": places.semaphores + 4 * SEMAPHORES,
        "FUNCTION_TABLES": places.tables, "TABLES": config.tables,
        "TABLE_SHIFT": exact_log2(TABLE_BYTES),
        "REG_STATUS_INDEX": places.registers + Register.STATUS + 2,
        "SPACE": int(Register.QUEUE_SPACE), "CONTROL": int(Register.CONTROL),
        "CYCLES_AFTER_SPACE": Register.CYCLES - Register.QUEUE_SPACE,
        "SIGNAL_AFTER_CONTROL": Register.SIGNAL - Register.CONTROL,
    }
    for register in (Register.ID, Register.VERSION, Register.STATUS, Register.MOVE_BYTES):
        result[f"REG_{register.name}"] = places.registers + register
    for word in range(SEMAPHORES // 4):
        result[f"REG_SEMAPHORES_{word}"] = places.registers + Register.SEMAPHORES + 4 * word
    for engine in ENGINES:
        result |= {f"QUEUE_{int(engine)}": places.queues[engine],
                   f"RING_{int(engine)}": ring_bytes(config, engine),
                   f"COUNTERS_{int(engine)}":
                       places.registers + counter_offset(engine, Counter.BUSY)}
    for region in MEMORIES:
        result |= {region.name: places.regions[region],
                   f"{region.name}_BYTES": config.region_bytes(region),
                   f"{region.name}_DEPTH": config.depth(region)}
    return result
