"""Token sequences that calibrate a decoder."""
from systolith.sw.models.model import Model
from systolith.sw.reference import llama

#: Tokens that the float model adds to a prompt, and those of a prompt that needs no more.
CONTINUATION, LONG_PROMPT = 8, 40

#: What a model says at its end; it is never asked to go on.
END = "</s>"


def calibration_samples(model: Model) -> list[list[int]]:
    """Token ids of the model's prompts, each with its greedy continuation up to the end.

    Long prompts stay as they are: a few tokens more would change no scale, and take minutes for a
    large model.
    """
    samples = []
    for prompt in model.prompts:
        ids = model.encode(prompt)
        more = 0 if len(ids) >= LONG_PROMPT else min(CONTINUATION, model.max_length - len(ids))
        for _ in range(more):
            token = int(llama.forward(ids, model.weights)[-1].argmax())
            if model.decode([token]) == END:
                break
            ids.append(token)
        samples.append(ids)
    return samples
