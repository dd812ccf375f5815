"""Reset, the main loop, and the way of a command from its queue to its end."""
from systolith.hw.isa import COMMANDS, ENGINES, WORDS, Cause, Opcode

_START = """
start:                      # after power-up and a reset of the whole chip
    ld =0
    st run
    ld =REGISTERS
    st p
clear:
    ld =0
    wrw p
    ld p
    add =4
    st p
    sub =SEMAPHORES
    jnz clear
    ld =IDENTITY
    wrw =REG_ID
    ld =VERSION
    wrw =REG_VERSION
    ld cycles
    st cycles_0
    call reset
    jump main

reset:                      # CONTROL.RESET: all but memories and counters
    ld =1
    out SHOWN
    ld =0
    out START
    out COUNT
    st error
    st active
    st waiting
    {zeros}
    wrw =REG_STATUS
    wrw =REG_SEMAPHORES_0
    wrw =REG_SEMAPHORES_1
    wrw =REG_SEMAPHORES_2
    wrw =REG_SEMAPHORES_3
    ld =SEMAPHORES
    st q
reset_semaphores:
    ld =0
    wrw q
    ld q
    add =4
    st q
    sub =SEMAPHORES_END
    jnz reset_semaphores
    ret

main:
    jquiet main_run
    call host
main_run:
    ld run
    jz rest
    ld error
    jnz rest
    ld fill0
    or fill1
    or fill2
    jz rest
    ld =1
    out COUNT
    jump step0
rest:                       # idle, stopped or not running: no cycle is counted
    ld =0
    out COUNT
    ld fill0
    or fill1
    or fill2
    jnz rest_busy
    ld =1
    jump rest_shown
rest_busy:
    ld =0
rest_shown:
    or error
    or waiting
    out SHOWN
    jump main
step3:
    jump main

fault:                      # the command is at fault, A: cause
    st fail_cause
    ld engine
    st fail_engine
    ld index
    st fail_index
    call fail
    ld =0
    st active
    jump main

fail:                       # the first error is kept
    ld error
    jnz fail_end
    ld fail_index
    wrh =REG_STATUS_INDEX
    rd =REG_STATUS
    or fail_cause
    or fail_engine
    or =2
    st error
    or active
    or waiting
    out SHOWN
fail_end:
    ret

next_word:                  # A = the word after that at p, which goes there
    ld p
    add =4
    st p
    rd p
    ret

admit:                      # blocked = the command at p must wait; else its semaphores are taken
    ld return
    st admit_return
    call next_word
    st w1
    ld =0
    st blocked
    ld w1.lo
    jz admit_start
    st mask
    call sem_check
    jnz admit_wait
admit_start:
    ld waiting
    or waiting_bit
    sub waiting_bit
    st waiting
    ld w1.lo
    jz admit_end
    st mask
    call sem_take
admit_end:
    ld admit_return
    go
admit_wait:
    ld waiting
    or waiting_bit
    st waiting
    out SHOWN
    jump admit_end

begin:                      # A: the bit of the engine whose command is active
    st active
    or waiting
    out SHOWN
    ld cycles
    st began
    ret

unknown:
    ld =UNKNOWN_OPCODE
    jump fault

retire:
    ld w1.hi
    jz retire_count
    st mask
    call sem_give
    ld overflowed
    jz retire_count
    ld =SEMAPHORE_OVERFLOW
    jump fault
retire_count:
    ld counters
    st p
    rd p
    add cycles
    sub began
    wrw p
    ld p
    add =16
    st p
    rd p
    add =1
    wrw p
    ld =0
    st active
    ld after
    go
"""

_STEP = """
step{e}:
    ld fill{e}
    sub ={words}
    jneg step{next}
    ld head{e}
    add =QUEUE_{e}
    st p
    rd p
    st w0
    ld ={engine}
    st engine
    ld done{e}
    st index
    ld w0
    and =15
    {opcodes}
    jump unknown
known{e}:
    ld ={waiting}
    st waiting_bit
    call admit
    ld blocked
    jnz step{next}
    {fetch}
    ld p
    add =4
    sub =QUEUE_{e}
    st head{e}
    sub =RING_{e}
    jz wrap{e}              # as long as the other way, so that time depends on no former run
    jump taken{e}
wrap{e}:
    st head{e}
taken{e}:
    ld fill{e}
    sub ={words}
    st fill{e}
    ld ={active}
    call begin
    ld =COUNTERS_{e}
    st counters
    ld =&after{e}
    st after
    jump {first}
after{e}:
    ld done{e}
    add =1
    and =0xffff
    st done{e}
    jump step{next}
"""

_FETCH = "call next_word\nst w{word}\n"

#: Where the commands of each engine start.
_FIRST = ("move", "product", "vector")


def control() -> str:
    """The text."""
    zeros = "\n".join(f"st {name}{e}" for e in ENGINES for name in ("fill", "head", "tail", "done"))
    steps = [_STEP.format(
        e=int(e), next=e + 1, words=WORDS[e], engine=e << 2, waiting=0x100 << e,
        active=0x800 << e, first=_FIRST[e], opcodes=_opcodes(e),
        fetch="".join(_FETCH.format(word=word) for word in range(2, WORDS[e]))) for e in ENGINES]
    return _START.format(zeros=zeros) + "".join(steps)


def _opcodes(engine) -> str:
    """A is 0 at one of the jumps where the operation code is the engine's."""
    lines, before = [], 0
    for opcode in sorted(op for op, command in COMMANDS.items() if command.ENGINE == engine):
        lines.append(f"sub ={opcode - before}\njz known{int(engine)}")
        before = opcode
    return "\n".join(lines)


def names() -> dict[str, int]:
    """Constants: causes as they stand in STATUS, operation codes."""
    return {cause.name: cause << 4 for cause in Cause} | {
        f"OP_{opcode.name}": int(opcode) for opcode in Opcode}
