"""Sample texts for calibration: a model's prompts, continued by the float model."""
from systolith.sw.models.model import Model
from systolith.sw.reference import llama

#: Tokens that the float model adds to each prompt.
CONTINUATION = 8

#: What a model says at its end; it is never asked to go on.
END = "</s>"


def calibration_samples(model: Model) -> list[list[int]]:
    """Token ids of the model's prompts, each with its greedy continuation up to the end."""
    samples = []
    for prompt in model.prompts:
        ids = model.encode(prompt)
        for _ in range(min(CONTINUATION, model.max_length - len(ids))):
            token = int(llama.forward(ids, model.weights)[-1].argmax())
            if model.decode([token]) == END:
                break
            ids.append(token)
        samples.append(ids)
    return samples
