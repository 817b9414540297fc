"""After an edit: was all that was given kept, and how well do the new words fit?"""

import torch
from torch import Tensor

from playground.canvas import Canvas
from playground.denoisers.zoo import Model
from playground.samplers.step import Step
from playground.samplers.whole import joined

QUESTIONS = 16  # asked of a row at most; in a longer hole, cells so far apart are hidden together
BUDGET = 2048  # cells that all questions of a row come to at most


def verdict(model: Model, canvas: Canvas, last: Step) -> dict:
    """The given cells of a finished run compared with what they were, and the fit of each row's new tokens. A row in
    which a pinned word did not stay a word is `joined`, and never the best."""
    same = last.tokens == canvas.ids
    fits = [fit(model, ids, ~fixed) for ids, fixed in zip(last.tokens, canvas.fixed, strict=True)]
    scores = [{"nats": round(float(found.mean()), 4), "tokens": len(found)} for found in fits]
    grown = joined(last.tokens, canvas.after_pins, torch.tensor(model.tokenizer.continuing)).tolist()
    best = max((i for i in range(len(scores)) if not grown[i]), key=lambda i: scores[i]["nats"], default=None)
    return {
        "checked": int(canvas.fixed.sum()),
        "unchanged": bool(same[canvas.fixed].all()),
        "scores": [
            score | {"best": i == best} | ({"joined": True} if grown[i] else {}) for i, score in enumerate(scores)
        ],
    }


@torch.inference_mode()
def fit(model: Model, ids: Tensor, cells: Tensor) -> Tensor:
    """ln p of each token of `cells` in a row ids [L], under the model, as it guesses them from all the others: the
    pseudo-log-likelihood (arXiv 1910.14659). An autoregressive model guesses from those before only."""
    places = cells.nonzero().flatten()
    if model.family == "autoregressive":
        questions = [places]
    else:
        count = min(QUESTIONS, max(1, BUDGET // len(ids)), len(places))
        questions = [places[i::count] for i in range(count)]
    hidden = torch.zeros(len(questions), len(ids), dtype=torch.bool)
    for row, hole in zip(hidden, questions, strict=True):
        row[hole] = True
    batch = ids.repeat(len(questions), 1)
    logits = model.denoiser.blanks(batch.to(model.device), hidden.to(model.device)).cpu()
    said = logits.log_softmax(-1).gather(-1, batch[..., None]).squeeze(-1)
    found = torch.zeros(len(ids))
    for row, hole in zip(said, questions, strict=True):
        found[hole] = row[hole]
    return found[places]
