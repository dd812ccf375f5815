"""PRODUCT: the engine prepares the loops and waits for them."""
from systolith.hw.compact.microcode.fields import field
from systolith.hw.compact.product_loops import LOOPS, Flag, Setup
from systolith.hw.isa import Product

_PRODUCT = """
product:
    {counts}
    ld =GO
    st flags
    {memories}
    {flags}
    ld flags
    out START
product_wait:
    jquiet product_quiet
    call host
product_quiet:
    jbusy product_wait
    jump retire
"""

_COUNT = """
    {count}
    jz zero
    sub =1
    st times{loop}
    out COUNTS_{loop}
"""

#: The step of a loop leads from the last place of the inner loops to the first of its next turn.
_STEP = """
    {stride}
    st factor
    sub extent
    out {place}
    ld factor
    jz flat_{name}{loop}
    setm times{loop}
    setn =16
    ld =0
    mul factor
    jnz outside             # the product has more than 16 bits
    ld fraction
    add extent
    st extent
{moves}
flat_{name}{loop}:
"""

#: A loop whose stride is not 0, where the array must know.
_MOVES = "ld flags\nor ={flag}\nst flags"

_MEMORY = """
    {base}
    out {first}
    ld =0
    st extent
    {steps}
    {base}
    add extent
    sub ={name}_DEPTH
    jpos outside
"""

_FLAG = """
    {field}
    jz flag_{flag}
    ld flags
    or ={flag}
    st flags
flag_{flag}:
"""

#: Flags that are fields.
_FLAGS = {Flag.UNSIGNED: "left_unsigned", Flag.ACCUMULATE: "accumulate"}


def products() -> str:
    """The text."""
    counts = [_COUNT.format(count=field(Product, f"count{loop}"), loop=loop)
              for loop in range(LOOPS)]
    flags = [_FLAG.format(field=field(Product, name), flag=flag.name)
             for flag, name in _FLAGS.items()]
    memories = [_memory(name) for name in ("act", "wgt", "acc")]
    return _PRODUCT.format(counts="".join(counts), memories="".join(memories),
                           flags="".join(flags))


def _memory(name: str) -> str:
    first = int(Setup[name.upper()])
    steps = [_STEP.format(stride=field(Product, f"{name}{loop}_stride"), place=first + 1 + loop,
                          loop=loop, name=name, moves=_moves(f"{name.upper()}{loop}_MOVES"))
             for loop in range(LOOPS)]
    return _MEMORY.format(base=field(Product, f"{name}_base"), first=first, steps="".join(steps),
                          name=name.upper())


def _moves(flag: str) -> str:
    return _MOVES.format(flag=flag) if flag in Flag.__members__ else ""


def names() -> dict[str, int]:
    """Constants."""
    return {flag.name or "": int(flag) for flag in Flag} | {
        f"COUNTS_{loop}": Setup.COUNTS + loop for loop in range(LOOPS)} | {
        "START": int(Setup.START)}
