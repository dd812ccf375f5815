"""PRODUCT: the engine prepares the loops and waits for them."""
from systolith.hw.compact.microcode.fields import field, half
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

#: The step of a loop, and where the array must know, that there is one.
_STEP = """
    setm times{loop}
    ld {stride}
    call product_step
    out {place}
{moves}
"""

_TURN = """
product_step:               # A: stride, M: turns less one
    st factor               # A = the way from the end of the inner loops to their next start
    jz product_flat
    sub extent
    st reach
    ld extent
    setn =16
    mul factor
    jnz outside             # the product has more than 16 bits
    ld fraction
    st extent
    ld reach
    ret
product_flat:
    sub extent
    ret
"""

#: A loop whose stride is not 0, where the array must know.
_MOVES = "ld {stride}\njz flat_{flag}\nld flags\nor ={flag}\nst flags\nflat_{flag}:"

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
    return _TURN + _PRODUCT.format(counts="".join(counts), memories="".join(memories),
                           flags="".join(flags))


def _memory(name: str) -> str:
    first = int(Setup[name.upper()])
    strides = [half(Product, f"{name}{loop}_stride") for loop in range(LOOPS)]
    steps = [_STEP.format(stride=stride, place=first + 1 + loop, loop=loop,
                          moves=_moves(f"{name.upper()}{loop}_MOVES", stride))
             for loop, stride in enumerate(strides)]
    return _MEMORY.format(base=field(Product, f"{name}_base"), first=first, steps="".join(steps),
                          name=name.upper())


def _moves(flag: str, stride: str) -> str:
    return _MOVES.format(flag=flag, stride=stride) if flag in Flag.__members__ else ""


def names() -> dict[str, int]:
    """Constants."""
    return {flag.name or "": int(flag) for flag in Flag} | {
        f"COUNTS_{loop}": Setup.COUNTS + loop for loop in range(LOOPS)} | {
        "START": int(Setup.START)}
