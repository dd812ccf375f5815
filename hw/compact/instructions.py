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

    ``LD`` to ``XOR``: A = B, A & B, A | B, A ^ B. ``ADD``, ``ADC`` (with the carry), ``SUB``,
    ``CMP`` (SUB that keeps A) set carry (of ``SUB``: no borrow), overflow and less. ``LDLT``,
    ``LDGE``: A = B where the flag less is set, is not. ``ST``: register = A. ``SETM``: M = B, the
    lost bits and overflow forgotten. ``SETN``: N = B. ``MUL``: N times, add B where the lowest bit
    of M is set, and shift ``A:M`` right; ``MULS``: the last time subtract. ``SHR``, ``SHL``: shift
    ``A:M`` N times; left not where the sign would change, which ends it and sets overflow.
    ``RND``: round A by the fraction M, ties to even; ``RNDU``: half up. ``RD``: read the memory
    at B, which is the source ``MEMORY`` for the next instruction. ``WRW``, ``WRH``, ``WRB``: write
    A, its half or byte, at B. ``OUT``: A to the place of the array that the register field names.
    ``ACK``: the host's request is done. ``REPLY``: so it is, and A is the answer. ``GO``: go on at
    the address in A.
    """

    NOP = 0
    LD = 1
    AND = 2
    OR = 3
    XOR = 4
    ADD = 5
    ADC = 6
    SUB = 7
    CMP = 8
    LDLT = 9
    LDGE = 10
    ST = 11
    SETM = 12
    SETN = 13
    MUL = 14
    MULS = 15
    SHR = 16
    SHL = 17
    RND = 18
    RNDU = 19
    RD = 20
    WRW = 21
    WRH = 22
    WRB = 23
    OUT = 24
    ACK = 25
    REPLY = 26
    GO = 27


class View(enum.IntEnum):
    """What of a word is the operand: all, a half with its sign, or the lower half without."""

    WORD = 0
    LOW = 1
    HIGH = 2
    UNSIGNED = 3


class Source(enum.IntEnum):
    """Registers that are no registers."""

    MEMORY = 0xF0
    HOST_ADDRESS = 0xF1
    HOST_DATA = 0xF2
    CYCLES = 0xF3
    RETURN = 0xF4
    FRACTION = 0xF5
    COUNT = 0xF6


class Condition(enum.IntEnum):
    """When a branch is taken. ``CALL`` always, and it keeps the address after it."""

    ALWAYS = 0
    CALL = 1
    ZERO = 2
    NONZERO = 3
    NEGATIVE = 4
    POSITIVE = 5
    LESS = 6
    NOT_LESS = 7
    CARRY = 8
    NO_CARRY = 9
    QUIET = 10
    BUSY = 11
    OVERFLOW = 12
    NO_OVERFLOW = 13
    EVEN = 14


#: Place of ``OUT`` beyond those of the loops: bit 0 lets the cycles be counted.
OUT_COUNT = 16
