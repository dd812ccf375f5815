"""Sample texts for calibration: a model's prompts, continued by the float model."""
from systolith.sw.models.model import Model
from systolith.sw.reference import llama

#: Tokens that the float model adds to a prompt, and those of a prompt that needs no more.
CONTINUATION, LONG_PROMPT = 8, 40


def calibration_samples(model: Model) -> list[list[int]]:
    """Token ids of the model's prompts, each with its greedy continuation.

    Long prompts stay as they are: a few tokens more would change no scale, and take minutes for a
    large model.
    """
    samples = []
    for prompt in model.prompts:
        ids = model.encode(prompt)
        more = 0 if len(ids) >= LONG_PROMPT else min(CONTINUATION, model.max_length - len(ids))
        for _ in range(more):
            ids.append(int(llama.forward(ids, model.weights)[-1].argmax()))
        samples.append(ids)
    return samples
