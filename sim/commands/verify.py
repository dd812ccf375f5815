"""``systolith verify``: proves a program file free of deadlock, races and stray addresses."""
from systolith.sw.compiler.verifier import verify
from systolith.sw.runtime.program import Program


def as_json(program: Program) -> dict[str, object]:
    """What was proven.

    Raises
    ------
    VerifyError
        Naming the offending command and the reason.
    """
    proof = verify(program.config, program.commands)
    return {"verified": True, "model": program.model, "config": program.config.name,
            "commands": proof.commands, "words": proof.words,
            "deepest_semaphore": proof.deepest_semaphore}
