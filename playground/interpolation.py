"""A path of texts from A to B: its settings, and its run as a Trace with a row for each point."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from inspect import signature

import torch

from playground.canvas import Canvas, encode
from playground.denoisers import zoo
from playground.denoisers.together import Turns
from playground.denoisers.zoo import Model
from playground.engine import paced, written
from playground.quality import BundledJudge
from playground.recipe import MAX_PROMPT_CHARACTERS, Recipe, RecipeError, check_ranges, knob, typed
from playground.samplers.alignment import Pairing
from playground.samplers.paths import METHODS, Points
from playground.samplers.step import Step
from playground.schedules import schedule_for
from playground.similarity import edits, embedders
from playground.text import Tokenizer
from playground.trace import Trace

RECIPE_FIELDS = ["model", "steps", "temperature", "churn", "self_conditioning", "schedule", "seed"]
LONGEST = 254  # tokens of a text: two of them and the marks fit into a row


@dataclass(frozen=True)
class Blend:
    """A path between two texts. Build it with `Blend.parse`, which checks every field; `recipe` holds the knobs that
    are those of any run, RECIPE_FIELDS."""

    a: str = knob("", "Text A", "The text the path starts from.")
    b: str = knob("", "Text B", "The text it leads to.")
    c: str = knob("", "Text C", "For method arithmetic, which leads from A to A - B + C: what is to come for B.")
    method: str = knob("shared-noise", "Method", "How the texts between are made.", choices=lambda blend: METHODS)
    points: int = knob(9, "Points", "Texts along the path, A's and B's ends among them.", 5, 21)
    level: float = knob(
        0.8, "Noise level", "How noisy the texts get on the way: low keeps their words, high finds others.", 0.05, 1.0
    )  # fmt: skip
    recipe: Recipe = Recipe()

    @classmethod
    def parse(cls, values: Mapping) -> "Blend":
        """A checked path from loosely typed values; absent fields take their defaults. Raises RecipeError."""
        own = {f.name: f for f in fields(cls) if f.name != "recipe"}
        for name in values:
            if name not in own and name not in RECIPE_FIELDS:
                known = ", ".join([*own, *RECIPE_FIELDS])
                raise RecipeError(str(name)[:40], f"there is no such field; the fields are {known}.")
        blend = cls(recipe=Recipe.parse({name: values[name] for name in RECIPE_FIELDS if name in values}))
        for name, f in own.items():
            if values.get(name) is not None:
                blend = replace(blend, **{name: typed(f, values[name])})
        if values.get("level") is None and blend.method in METHODS:
            blend = replace(blend, level=own_level(blend.method))
        check_ranges(blend)
        family = zoo.catalogue()[blend.recipe.model]
        if family != "continuous":
            raise RecipeError("model", f"{blend.recipe.model} is {family}; a path needs a continuous one.")
        for name in blend.texts:
            if not getattr(blend, name).strip():
                needs = "arithmetic needs three texts" if len(blend.texts) > 2 else "a path needs two texts"
                raise RecipeError(name, f"is empty; {needs}.")
            if len(getattr(blend, name)) > MAX_PROMPT_CHARACTERS:
                length = len(getattr(blend, name))
                raise RecipeError(name, f"has {length:,} characters; allowed: {MAX_PROMPT_CHARACTERS:,}.")
        if blend.c and "c" not in blend.texts:
            raise RecipeError("c", f"is only for method arithmetic, and the method is {blend.method}; leave it out.")
        if blend.a == blend.b:
            raise RecipeError("b", "is the same text as a; a path needs two different ones.")
        return blend

    def resolved(self) -> "Blend":
        """This path with a seed: -1 is drawn here, once."""
        return replace(self, recipe=self.recipe.resolved())

    @property
    def texts(self) -> list[str]:
        """The names of the texts that the method works on."""
        return ["a", "b", "c"] if "c" in heard_by(self.method) else ["a", "b"]

    @property
    def weights(self) -> list[float]:
        """How far along the path each point is, from 0 (A) to 1 (B)."""
        return [i / (self.points - 1) for i in range(self.points)]

    @property
    def knobs(self) -> dict:
        """The knobs that the method listens to, by name."""
        heard = heard_by(self.method)
        found = {name: getattr(self.recipe, name) for name in RECIPE_FIELDS if name in heard}
        return found | ({"level": self.level} if "level" in heard else {})

    def to_dict(self) -> dict:
        mine = {name: value for name, value in asdict(self).items() if name != "recipe"}
        return mine | {name: getattr(self.recipe, name) for name in RECIPE_FIELDS}


def heard_by(method: str) -> list[str]:
    """The knobs that matter with a method: its keyword-only parameters."""
    return [p.name for p in signature(METHODS[method]).parameters.values() if p.kind is p.KEYWORD_ONLY]


def own_level(method: str) -> float:
    """The noise level a method has if nothing else is said."""
    level = signature(METHODS[method]).parameters.get("level")
    return level.default if level else Blend.level


class Path:
    """A blend made ready: the seed is drawn, the model loaded, the texts paired. Raises RecipeError or ModelError here,
    before any computing."""

    def __init__(self, blend: Blend):
        self.blend, self.turns = blend.resolved(), Turns()
        self.model = zoo.load(blend.recipe.model)
        ids = [_encode(name, getattr(blend, name), self.model.tokenizer) for name in blend.texts]
        self.c = torch.tensor(ids[2]) if len(ids) > 2 else None
        longest = len(self.model.denoiser.trunk.positions) - 1
        pairing = Pairing.of(ids[0], ids[0] if len(ids) > 2 else ids[1], self.model.tokenizer)
        if pairing.widest + 2 > longest:
            raise RecipeError(
                "b", f"its sentences and those of a, each pair at its longer one, make {pairing.widest:,} tokens; "
                f"allowed: {longest - 2}. Shorten one of the texts.",
            )  # fmt: skip
        self.points = replace(Points.along(pairing, self.blend.weights), b=torch.tensor(ids[1]))

    def steps(self) -> Iterator[Step]:
        """The path, one function evaluation at a time, with a row for each point. Raises RunError."""
        blend, denoiser = self.blend, self.turns.of(self.model.denoiser)
        options = blend.knobs | {"schedule": schedule_for(blend.recipe.schedule, denoiser)}
        options |= {} if self.c is None else {"c": self.c}
        rng = torch.Generator().manual_seed(blend.recipe.seed)
        return paced(METHODS[blend.method](denoiser, self.points, rng, **options), self.model, self.turns)


def record(blend: Blend) -> Iterator[Trace]:
    """One path as a Trace that grows, as `engine.record` gives it; row i is the point at `head.rows[i].weight`, and
    `head.blend` has the fields of the blend. `end.path` is what `described` says of the texts."""
    path = Path(blend)
    points = path.points
    trace = Trace.begin(path.blend.recipe, path.model, Canvas(points.ids, points.fixed, torch.zeros_like(points.fixed)))
    trace.head["rows"] = [{"seed": path.blend.recipe.seed, "weight": weight} for weight in path.blend.weights]
    note = _note(points) if path.c is None else ""
    trace.head |= {"blend": path.blend.to_dict(), "note": note}
    yield from written(trace, path.steps(), path.turns, lambda last: {"path": described(trace.texts, path)})


def described(texts: list[str], path: Path) -> dict:
    """For each text of a path: `similarity` to A, B and C (cosine of embeddings, lists for each embedder),
    `edits` from A and to B (words), `perplexity` under the quick judge (null without one). `exact`: whether the ends
    are A and B, character for character."""
    a, b = path.blend.a, path.blend.b
    names, similarity = path.blend.texts, []
    for embedder in embedders(path.model):
        ends, found = embedder.embed([getattr(path.blend, name) for name in names]), embedder.embed(texts)
        alike = ([round(value, 4) for value in values] for values in (found @ ends.T).T.tolist())
        similarity.append({"name": embedder.name} | dict(zip(names, alike, strict=True)))
    return {
        "similarity": similarity,
        "edits": {"a": [edits(a, text) for text in texts], "b": [edits(text, b) for text in texts]},
        "perplexity": _perplexities(texts, path.model),
        "exact": [texts[0] == a, texts[-1] == b],
    }


def _perplexities(texts: list[str], model: Model) -> list[float | None] | None:
    try:
        judge = BundledJudge(zoo.reader(model))
    except zoo.ModelError:
        return None
    found = (judge.nll([text]) for text in texts)
    return [round(math.exp(nats / tokens), 2) if tokens else None for nats, tokens in found]


def _note(points: Points) -> str:
    """A sentence where the texts are too unlike in length for a good path."""
    short, long = sorted((len(points.a), len(points.b)))
    if long < 3 * short:
        return ""
    longer = "B" if len(points.b) == long else "A"
    return (
        f"{longer} is {long / short:.0f} times as long as the other text, so most of its words have no partner there."
    )


def _encode(name: str, text: str, tokenizer: Tokenizer) -> list[int]:
    ids = encode(name, text, tokenizer)
    if len(ids) > LONGEST:
        raise RecipeError(name, f"is {len(ids):,} tokens; allowed: {LONGEST}. Shorten it.")
    return ids
