"""Bitwuzla as a program that reads SMT-LIB from standard input: its package has no program."""
import ctypes
import sys

import bitwuzla


def commands(lines):
    """Complete commands of an SMT-LIB text, as soon as each is there."""
    command, depth = "", 0
    for line in lines:
        command += line
        code = line.partition(";")[0]
        depth += code.count("(") - code.count(")")
        if depth == 0 and command.strip():
            yield command
            command = ""


def main():
    if "--help" in sys.argv:
        # The word by which smtbmc tells versions apart.
        print("--lang")
        return
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options, "smt2", 2)
    library = ctypes.CDLL(None)
    for command in commands(sys.stdin):
        if command.strip() == "(exit)":
            return
        parser.parse(command, False, False)
        # The answer waits in a buffer of the C library, and smtbmc waits for the answer.
        library.fflush(None)


if __name__ == "__main__":
    main()
