"""Lines that bring a field of a command into A."""
from systolith.hw.isa import Command


def field(command: type[Command], name: str) -> str:
    """A = the field; the command's words are in the registers ``w0`` and so on."""
    place = next(entry for entry in command.layout() if entry.name == name)
    word, shift, mask = f"w{place.word}", place.lsb, (1 << place.width) - 1
    if place.width == 32:
        return f"ld {word}"
    if place.width == 16 and shift in (0, 16):
        return f"ld {half(command, name)}"
    if shift >= 16:
        word, shift = f"{word}.hi", shift - 16
    moved = f"setn ={shift}\nshr\n" if shift else ""
    return f"ld {word}\n{moved}and ={mask}"


def half(command: type[Command], name: str) -> str:
    """The operand that is a field of 16 bits in a half of a word."""
    place = next(entry for entry in command.layout() if entry.name == name)
    if place.width != 16 or place.lsb not in (0, 16):
        raise ValueError(f"{name} is no half of a word")
    return f"w{place.word}.{'hi' if place.lsb else 'lo'}"
