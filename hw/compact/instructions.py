"""The engine's instructions: 16 bits each, one definition for the hardware and the assembler.

Bit 15 clear: operation in bits 14:10, view of the operand in bits 9:8, register in bits 7:0.
Bit 15 set: condition in bits 14:11, target in bits 10:0.
"""
import enum

#: Bits of an instruction's address, and registers.
CODE_BITS = 11
REGISTERS = 256


class Op(enum.IntEnum):
    """Operations on accumulator A, fraction M, counter N and the operand B.

    ``LD``, ``AND``, ``OR``: A = B, A & B, A | B. ``ADD``, ``SUB``, ``CMP`` (SUB that keeps A) set
    carry (of ``SUB``: no borrow) and less. ``ST``: register = A. ``SETM``: M = B. ``SETN``: N = B.
    ``MUL``: N times, at least once, add B where the lowest bit of M is set, and shift ``A:M``
    right. ``SHR``, ``SHL``: shift ``A:M`` N times, at least once. ``ROUND``: A rounded by what is
    right of it, half to even, with the flags of a sum; right of it are M and what ``SHR`` has
    shifted out of M since the last ``SETN``. ``RD``: A = the memory at B. ``WRW``, ``WRH``,
    ``WRB``: write A, its half or byte, at B. ``OUT``: A to the place of the array that the register
    field names. ``ACK``: the host's request is done. ``REPLY``: so it is, and A is the answer.
    ``GO``: go on at the address in A. ``RET``: go on after the last ``CALL``.
    """

    LD = 0
    AND = 1
    OR = 2
    ADD = 3
    SUB = 4
    CMP = 5
    ST = 6
    SETM = 7
    SETN = 8
    MUL = 9
    SHR = 10
    SHL = 11
    RD = 12
    WRW = 13
    WRH = 14
    WRB = 15
    OUT = 16
    ACK = 17
    REPLY = 18
    GO = 19
    ROUND = 20
    RET = 21


class Group(enum.IntEnum):
    """Several operations that have something in common. What is executed is a bit for each
    operation and, behind these, one for each group: their registers spare the slow paths a level
    of logic."""

    ADDING = len(Op)
    INVERTED = len(Op) + 1
    SUMMING = len(Op) + 2
    RIGHT = len(Op) + 3
    REPEATED = len(Op) + 4
    LOADING = len(Op) + 5
    MASKING = len(Op) + 6
    CHANGING = len(Op) + 7
    ACCESSING = len(Op) + 8
    FLAGGING = len(Op) + 9


#: The operations of each group. The sum goes into A with ``SUMMING``; ``LOADING`` and ``MASKING``
#: encode ``LD``, ``AND`` and ``OR``, one of them each, and both; ``CHANGING`` writes A.
GROUPS = {
    Group.ADDING: (Op.ADD, Op.SUB, Op.CMP),
    Group.INVERTED: (Op.SUB, Op.CMP),
    Group.SUMMING: (Op.ADD, Op.SUB, Op.ROUND),
    Group.RIGHT: (Op.MUL, Op.SHR),
    Group.REPEATED: (Op.MUL, Op.SHR, Op.SHL),
    Group.LOADING: (Op.LD, Op.OR),
    Group.MASKING: (Op.AND, Op.OR),
    Group.CHANGING: (Op.LD, Op.AND, Op.OR, Op.ADD, Op.SUB, Op.MUL, Op.SHR, Op.SHL, Op.ROUND,
                     Op.RD),
    Group.ACCESSING: (Op.RD, Op.WRW, Op.WRH, Op.WRB),
    Group.FLAGGING: (Op.ADD, Op.SUB, Op.CMP, Op.ROUND),
}
#: Bits of what is executed.
EXECUTED_BITS = len(Op) + len(Group)


def executed(op: Op) -> int:
    """The bits of an operation and its groups."""
    return 1 << op | sum(1 << group for group, ops in GROUPS.items() if op in ops)


class View(enum.IntEnum):
    """What of a word is the operand: all of it, or a half without a sign."""

    WORD = 0
    LOW = 1
    HIGH = 2


#: The first register that is none, but a source.
SOURCES = 0xF0


class Source(enum.IntEnum):
    """Registers that are no registers."""

    HOST_ADDRESS = 0xF1
    HOST_DATA = 0xF2
    CYCLES = 0xF3
    RETURN = 0xF4
    FRACTION = 0xF5


class Condition(enum.IntEnum):
    """When a branch is taken. ``CALL`` always, and it keeps the address after it. From ``ZERO``
    on it depends on A or a flag, and takes a cycle more."""

    ALWAYS = 0
    CALL = 1
    QUIET = 2
    BUSY = 3
    ZERO = 4
    NONZERO = 5
    NEGATIVE = 6
    POSITIVE = 7
    LESS = 8
    CARRY = 9
    EVEN = 10


#: Places of ``OUT`` beyond those of the loops: bit 0 lets the cycles be counted; the word that the
#: host reads from STATUS.
OUT_COUNT = 16
OUT_STATUS = 32
