"""Sample texts for calibration: a model's prompts, continued by the float model."""
from systolith.sw.models.model import Model
from systolith.sw.reference import llama

#: Tokens that the float model adds to each prompt.
CONTINUATION = 8


def calibration_samples(model: Model) -> list[list[int]]:
    """Token ids of the model's prompts, each with its greedy continuation."""
    samples = []
    for prompt in model.prompts:
        ids = model.encode(prompt)
        for _ in range(min(CONTINUATION, model.max_length - len(ids))):
            ids.append(int(llama.forward(ids, model.weights)[-1].argmax()))
        samples.append(ids)
    return samples
