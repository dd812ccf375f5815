"""The host's accesses, one at a time, between the steps of whatever runs."""
from systolith.hw.config import MEMORIES, Region
from systolith.hw.isa import ENGINES

_HOST = """
host:
    ld return
    st host_return
    ld host_address.hi
    setn =6
    shr
    and =0x1ff
    st host_region
    ld host_address
    and =0x3fffff
    st offset
    and =3
    jnz host_fault
    ld host_region
    jz host_register
    sub =1
    jz host_queue
    {regions}
    and =0x100
    jz host_fault
    ld host_address
    and =0x3fffffff
    st offset
    ld =EXTERNAL
    st base
    ld =EXTERNAL_BYTES
host_memory:                # A: bytes of the memory
    st size
    ld offset
    sub size
    jc host_fault
    ld offset
    add base
    st hp
    ld host_address
    jneg host_write
host_read:
    rd hp
host_reply:
    reply
host_end:
    ld host_return
    go
host_write:
    ld host_data
    wrw hp
host_ack:
    ack
    jump host_end

host_fault:
    ld =ADDRESS
host_error:                 # A: cause; the error is the host's
    st fail_cause
    ld =12
    st fail_engine
    ld =0
    st fail_index
    jump host_failed
overrun:                    # of the queue of fail_engine
    ld =QUEUE_OVERRUN
    st fail_cause
host_failed:
    call fail
    ld host_address
    jneg host_ack
    ld =0
    jump host_reply

push_word:                  # A: place
    st hp
    ld host_data
    wrw hp
    ack
    ret

host_queue:
    ld host_address
    jpos host_fault
    ld offset
    jz push0
    sub =4
    jz push1
    sub =4
    jz push2
    jump host_fault

host_register:
    ld offset
    sub =REGISTER_BYTES
    jc host_fault
    ld offset
    add =REGISTERS
    st hp
    ld host_address
    jneg write_register
    ld offset               # STATUS does not come here
    sub =SPACE
    jz read_space
    sub =CYCLES_AFTER_SPACE
    jnz host_read
    ld cycles
    sub cycles_0
    jump host_reply
read_space:
    setm =0
    ld =QUEUE_DEPTH
    sub fill2
    setn =10
    shl
    add =QUEUE_DEPTH
    sub fill1
    setn =10
    shl
    add =QUEUE_DEPTH
    sub fill0
    jump host_reply

write_register:
    ld offset
    sub =CONTROL
    jz write_control
    sub =SIGNAL_AFTER_CONTROL
    jz write_signal
    jump host_ack
write_signal:
    ld host_data.lo
    st mask
    call sem_give
    ld overflowed
    jz host_ack
    ld =SEMAPHORE_OVERFLOW
    jump host_error
write_control:
    ld host_data
    st control
    ack
    ld control
    and =1
    st run
    wrw hp
    ld control
    and =4
    jz control_reset
    ld cycles
    st cycles_0
    ld =REG_MOVE_BYTES
    st hp
clear_counters:
    ld =0
    wrw hp
    ld hp
    add =4
    st hp
    sub =REGISTERS_END
    jnz clear_counters
control_reset:
    ld control
    and =2
    jz host_end
    call reset
    jump main
"""

_PUSH = """
push{e}:
    ld fill{e}
    sub =QUEUE_DEPTH
    jz overrun{e}
    ld tail{e}
    add =QUEUE_{e}
    call push_word
    ld fill{e}
    add =1
    st fill{e}
    ld tail{e}
    add =4
    st tail{e}
    sub =RING_{e}
    jnz host_end
    st tail{e}
    jump host_end
overrun{e}:
    ld ={engine}
    st fail_engine
    ld done{e}
    st fail_index
    jump overrun
"""

_REGION = """
region_{name}:
    {read_only}
    ld ={upper}
    st base
    ld ={upper}_BYTES
    jump host_memory
"""


def host() -> str:
    """The text."""
    chain = "\n".join(f"sub =1\njz region_{region.name}" for region in MEMORIES)
    # A is the number of the region less 7 after the chain.
    regions = [_REGION.format(
        name=region.name, upper=region.name,
        read_only="ld host_address\njneg host_fault" if region == Region.ACC else "")
        for region in MEMORIES]
    pushes = [_PUSH.format(e=int(e), engine=e << 2) for e in ENGINES]
    text = _HOST.format(regions=f"{chain}\nadd ={int(MEMORIES[-1])}")
    return text + "".join(regions) + "".join(pushes)
