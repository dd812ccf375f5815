"""Semaphores: a word each, and their bytes in the registers."""

SEMAPHORES = """
sem_check:                  # blocked = not all of mask are positive
    ld =SEMAPHORES
    st q
check_next:
    ld mask
    jz check_good
    jeven check_skip
    rd q
    ld memory
    jz check_blocked
check_skip:
    ld q
    add =4
    st q
    ld mask
    setn =1
    shr
    st mask
    jump check_next
check_good:
    ld =0
    st blocked
    ld return
    go
check_blocked:
    ld =1
    st blocked
    ld return
    go

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
    st q
    ld =REG_SEMAPHORES_0
    st qb
change_next:
    ld mask
    jz change_end
    jeven change_skip
    rd q
    ld memory
    add change
    cmp =FULL
    jlt change_write
    ld =1
    st overflowed
    jump change_skip
change_write:
    wrw q
    wrb qb
change_skip:
    ld q
    add =4
    st q
    ld qb
    add =1
    st qb
    ld mask
    setn =1
    shr
    st mask
    jump change_next
change_end:
    ld return
    go
"""
