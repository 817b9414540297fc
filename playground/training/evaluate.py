"""`python -m playground evaluate`: a model's texts beside as many real ones, by the same judge and the same counts."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import torch

from playground import judges
from playground.denoisers import zoo
from playground.denoisers.zoo import Model
from playground.engine import complete
from playground.quality import Judge, measure, ngrams
from playground.recipe import Recipe, RecipeError
from playground.samplers import knobs
from playground.text import BOS, PAD
from playground.training import infill, interpolate
from playground.training.data import Corpus, CorpusError, Document, read_texts, split
from playground.training.frontier import frontier
from playground.training.report import rounded
from playground.training.settings import Settings

SWEPT = ("steps", "temperature")  # these knobs stand in each row
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Reference:
    """Held-out documents, the texts of their openings, and the word 4-grams of the training text."""

    documents: list[Document]
    texts: list[str]
    grams: set[tuple[str, ...]]

    @classmethod
    def read(cls, settings: Settings, model: Model) -> "Reference":
        """The openings are rows as the model was trained on: whole sentences, or filled to the last cell where it
        writes from left to right. Raises RecipeError where the corpus cannot be used."""
        folder, shares = settings.corpus, settings.shares
        try:
            corpus = Corpus.read(folder, model.tokenizer, shares)
            files = list(read_texts(folder, shares).values())
        except CorpusError as error:
            raise RecipeError("corpus", str(error)) from None
        if not corpus.validation:
            raise RecipeError("corpus", f"the files in {folder} hold one document each, so none can be held out.")
        training = [split(texts)[1] if shares is None or i == 0 else texts for i, texts in enumerate(files)]
        rows = corpus.validation_rows(settings.samples, settings.recipe.length, cut=model.family == "autoregressive")
        openings = [model.tokenizer.decode(row) for row in rows.tolist()]
        return cls(corpus.validation[: len(rows)], openings, ngrams(text for part in training for text in part))


def evaluate(settings: Settings, progress: Progress = lambda line: None) -> dict:
    """All figures, with what is needed to get them again. `progress` is told what is being done, a line at a time."""
    recipe, model = settings.recipe, zoo.load(settings.recipe.model)
    judge = _load_judge(settings.judge)
    progress("reading the corpus")
    reference = Reference.read(settings, model) if settings.corpus else None
    holes = _holes(settings, model, reference) if settings.infill else None
    pairs = _pairs(settings, model, reference) if settings.interpolate else None
    count = len(reference.texts) if reference else settings.samples
    real = measure(reference.texts, judge, reference.grams) if reference else None
    runs = _runs(settings, model)
    rows = [_row(run, model, judge, count, reference, real, progress) for run in runs]
    found = {
        "model": {"name": model.name, "family": model.family, "parameters": model.parameters, "dtype": model.dtype},
        "judge": judge.name,
        "knobs": {name: getattr(recipe, name) for name in knobs(model.family, recipe.sampler) if name not in SWEPT},
        "length": recipe.length,
        "samples": count,
        "reference": len(reference.texts) if reference else 0,
        "seeds": [recipe.seed, replace(recipe, samples=count).seeds[-1]],
        "corpus": settings.corpus,
        "shares": settings.shares,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "device": str(model.device),
        "real": asdict(real) if real else None,
        "rows": rows,
    }
    if settings.temperatures:
        found["frontier"] = frontier(rows, real)
    if holes:
        found["infill"] = _infill(settings, runs, model, judge, reference, holes, progress)
    if pairs:
        found["interpolate"] = _interpolate(settings, model, judge, pairs, progress)
    return rounded(found | {"notes": _notes(settings, model, judge, found)})


def _runs(settings: Settings, model: Model) -> list[Recipe]:
    """A recipe for each row of the table: step counts or temperatures, of which the sampler must know."""
    if settings.temperatures:
        return [replace(settings.recipe, steps=settings.steps[0], temperature=t) for t in settings.temperatures]
    if not has_steps(settings.recipe, model):
        return [settings.recipe]
    return [replace(settings.recipe, steps=steps) for steps in settings.steps]


def has_steps(recipe: Recipe, model: Model) -> bool:
    """Whether the number of steps is a knob of the recipe's sampler: from left to right it is the number of cells."""
    return "steps" in knobs(model.family, recipe.sampler)


def openings(recipe: Recipe, model: Model, count: int, progress: Progress = lambda line: None) -> list[str]:
    """`count` texts of which the start mark is given, as every real opening begins with it."""
    ids = torch.full((count, recipe.length), PAD)
    fixed = torch.zeros_like(ids, dtype=torch.bool)
    ids[:, 0], fixed[:, 0] = BOS, True
    texts = []
    for tokens in complete(recipe, model, ids, fixed):
        texts += [model.tokenizer.decode(row) for row in tokens.tolist()]
        progress(f"{_label(recipe, model)}: {len(texts)} of {count} texts")
    return texts


def _row(recipe: Recipe, model: Model, judge: Judge, count: int, reference, real, progress: Progress) -> dict:
    started = time.perf_counter()
    texts = openings(recipe, model, count, progress)
    seconds = (time.perf_counter() - started) / count
    found = measure(texts, judge, reference.grams if reference else None)
    ratio = found.perplexity / real.perplexity if real and real.perplexity and found.perplexity else None
    return _knobs(recipe, model) | asdict(found) | {"perplexity_over_real": ratio, "seconds_per_sample": seconds}


def _knobs(recipe: Recipe, model: Model) -> dict:
    steps = recipe.steps if has_steps(recipe, model) else None
    return {"sampler": recipe.sampler, "steps": steps, "temperature": recipe.temperature}


def _holes(settings: Settings, model: Model, reference: Reference) -> infill.Holes:
    holes = infill.Holes.cut(reference.documents, settings.recipe.length, model.tokenizer, settings.recipe.seed)
    if not holes.spans:
        raise RecipeError("corpus", "no held-out document is long enough to hide its middle.")
    return holes


def _infill(settings, runs: list[Recipe], model: Model, judge: Judge, reference, holes, progress: Progress) -> dict:
    """The holes in the reference's documents filled by the model and, from left to right, by a baseline."""
    progress("infill: the real middles")
    readings, rows = infill.Readings(judge, model.tokenizer, holes), []
    for recipe in runs:
        progress(f"infill: {_label(recipe, model)}")
        rows.append(_knobs(recipe, model) | infill.fill(recipe, model, holes, readings))
    baseline, said = _baseline(model, judge, reference)
    if baseline:
        progress(f"infill: {baseline.name}")
        shared = {name: getattr(settings.recipe, name) for name in ("seed", "length", "temperature")}
        recipe = Recipe.parse({"model": baseline.name} | shared)
        row = _knobs(recipe, baseline) | infill.fill(recipe, baseline, holes, readings)
        rows.append({"baseline": baseline.name} | row)
    return {"holes": len(holes.spans), "skipped": holes.skipped, "real": readings.real, "rows": rows, "baseline": said}


def _pairs(settings: Settings, model: Model, reference: Reference) -> list[tuple[str, str]]:
    if model.family != "continuous":
        raise RecipeError("model", f"{model.name} is {model.family}; a path needs a continuous one.")
    found = interpolate.pairs(reference.documents, model.tokenizer)
    if not found:
        raise RecipeError("corpus", "has no two held-out documents whose openings are short enough for a path.")
    return found


def _interpolate(settings: Settings, model: Model, judge: Judge, pairs, progress: Progress) -> dict:
    rows, fields = [], {"steps": settings.steps[-1], "temperature": settings.recipe.temperature}
    progress("interpolate: the first method")
    for row in interpolate.compare(model, settings.recipe.seed, pairs, judge, **fields):
        rows.append(row)
        progress(f"interpolate: {row['method']} done")
    return {"pairs": len(pairs), "rows": rows} | fields


def _baseline(model: Model, judge: Judge, reference: Reference) -> tuple[Model | None, str]:
    """The first autoregressive model, if it cuts text into the same tokens, and a sentence on it."""
    names = [name for name, family in zoo.catalogue().items() if family == "autoregressive"]
    if model.family == "autoregressive":
        return None, "The model itself writes from left to right: it sees only the left side of a hole."
    if not names:
        return None, "There is no autoregressive model here, so the baseline that sees only the left side is left out."
    baseline = zoo.load(names[0])
    if any(baseline.tokenizer.encode(text) != model.tokenizer.encode(text) for text in reference.texts):
        return None, f"{names[0]} cuts text into other tokens, so the baseline that sees only the left is left out."
    own = " Here it judges itself, which flatters its own words in the hole." if judge.name == names[0] else ""
    return baseline, f"{names[0]} is the baseline: it sees only the left side of a hole.{own}"


def _notes(settings: Settings, model: Model, judge: Judge, found: dict) -> list[str]:
    """What a reader of the figures has to know, a sentence each."""
    recipe, count, notes = settings.recipe, found["samples"], []
    if not settings.corpus:
        notes.append("No corpus was given, so the rows of real held-out text and the share memorised are left out.")
    elif count < settings.samples:
        notes.append(f"{count} samples instead of {settings.samples}: as many as there are held-out documents.")
    if not has_steps(recipe, model):
        notes.append(f"{recipe.sampler} takes no number of steps: it was evaluated once at each temperature.")
    if isinstance(judge, judges.BundledJudge):
        own = judge.name == model.name
        notes.append(
            f"{judge.name} judges itself." if own else f"{judge.name} is a judge trained on the same text as the model."
        )
    if judge.skipped:
        notes.append(f"The judge skipped {judge.skipped} texts that held no token to score.")
    if judge.cut:
        notes.append(f"The judge read only the beginning of {judge.cut} texts, which were longer than it can read.")
    if any(row["unchanged"] < 1 for row in found.get("infill", {}).get("rows", [])):
        notes.append("Infill changed cells outside its hole, which must never happen.")
    return notes


def _load_judge(name: str) -> Judge:
    try:
        return judges.judge(name)
    except judges.JudgeError as error:
        raise RecipeError("judge", str(error)) from None


def _label(recipe: Recipe, model: Model) -> str:
    steps = f"{recipe.steps} steps, " if has_steps(recipe, model) else ""
    return f"{recipe.sampler}, {steps}temperature {recipe.temperature:g}"
