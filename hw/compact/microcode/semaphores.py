"""Semaphores: a word each, and their bytes in the registers."""

SEMAPHORES = """
sem_check:                  # A = blocked = not all of mask are positive
    ld =SEMAPHORES
    st hp
check_next:
    ld mask
    jz check_good
    jeven check_skip
    rd hp
    jz check_blocked
check_skip:
    ld hp
    add =4
    st hp
    ld mask
    setn =1
    shr
    st mask
    jump check_next
check_good:
    ld =0
    st blocked
    ret
check_blocked:
    ld =1
    st blocked
    ret

sem_take:                   # each of mask goes down
    ld =-1
    st change
    jump sem_change
sem_give:                   # each of mask goes up; overflowed = one was full
    ld =1
    st change
sem_change:
    ld =0
    st overflowed
    ld =SEMAPHORES
    st hp
    ld =REG_SEMAPHORES_0
    st hpb
change_next:
    ld mask
    jz change_end
    jeven change_skip
    rd hp
    add change
    cmp =FULL
    jlt change_write
    ld =1
    st overflowed
    jump change_skip
change_write:
    wrw hp
    wrb hpb
change_skip:
    ld hp
    add =4
    st hp
    ld hpb
    add =1
    st hpb
    ld mask
    setn =1
    shr
    st mask
    jump change_next
change_end:
    ret
"""
