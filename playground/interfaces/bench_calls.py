"""What a soak sends: every endpoint, model and sampler, most knobs, and values that have to be refused."""

import random
from dataclasses import dataclass

from playground.denoisers import zoo
from playground.samplers import SAMPLERS
from playground.studies.race import contenders, usual_lanes

PROMPTS = ("", "Once upon a time", "Tom had a red ball.", "The dog ran to the park and")
KNOBS = (  # of /generate, besides the samplers
    {"guidance": 1.5, "prompt": "Tom had a red ball."},
    {"pins": {"9": "dog", "12": "park"}},
    {"samples": 4},
    {"block": 8},
    {"refine": 1},
    {"temperature": 0},
    {"top_k": 20, "top_p": 0.9},
    {"self_conditioning": False, "schedule": "cosine"},
)
EDITS = (
    {"text": "The dog ran to the [[park]] and was happy."},
    {"text": "Tom was sad. [[+8]] Then Tom was happy.", "samples": 2},
    {"text": "Tom was sad. [[?]] Then Tom was happy."},
    {"text": "The [[big dog]] ran to the [[park]].", "strength": 0.5},
)
REFUSED = (  # endpoint, fields, what the answer has to say
    ("/generate", {"steps": 0}, "steps: 0 is out of range"),
    ("/generate", {"model": "none"}, "model: 'none' is unknown"),
    ("/infill", {"text": "no hole"}, "text: has no hole"),
    ("/interpolate", {"a": "Tom", "b": ""}, "b: is empty"),
    ("/compare", {"sweep": {"stepz": [4, 8]}}, "stepz: cannot be compared"),
    ("/race", {"lanes": ["none", "other"]}, "lanes: 'none' is no model"),
    ("/generate", {"pins": {"3": 7}}, "pins: cannot read"),
    ("/generate", {"prompt": "word " * 3000}, "prompt: is 3,002 tokens"),
)
ROUND = (  # of kinds; None: to be refused
    "/generate", "/infill", "/generate", None, "/generate", "/interpolate", "/generate", "/compare", "/generate", None,
    "/race", "/models",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """An endpoint's name, its fields, and what the answer has to say where it has to be a refusal."""

    endpoint: str
    fields: dict
    refusal: str = ""


def calls(count: int) -> list[Call]:
    """The first calls of a sequence that is always the same: rounds of ROUND, each kind going through its forms, with
    lengths, steps and prompts drawn for each call. It takes the models that come with the app."""
    return [_call(i) for i in range(count)]


def _call(i: int) -> Call:
    kind = ROUND[i % len(ROUND)]
    turn = i // len(ROUND) * ROUND.count(kind) + ROUND[: i % len(ROUND)].count(kind)
    rng = random.Random(i)
    size = {"length": rng.randrange(16, 65), "steps": rng.randrange(2, 9), "seed": i}
    match kind:
        case None:
            return Call(*_of(REFUSED, turn))
        case "/generate":
            return Call(kind, size | {"prompt": rng.choice(PROMPTS)} | _of(_forms(), turn))
        case "/infill":
            whole = [name for name, family in zoo.catalogue().items() if family != "autoregressive"]
            return Call(kind, {"model": _of(whole, turn), "steps": size["steps"], "seed": i} | rng.choice(EDITS))
        case "/interpolate":
            method = {"method": _of(("shared-noise", "noise-slerp"), turn), "steps": size["steps"]}
            return Call(kind, {"a": "Tom had a ball.", "b": "The dragon was sad.", "points": 5, "seed": i} | method)
        case "/compare":
            sweep = _of(({"steps": [2, 4]}, {"temperature": [0.5, 0.8]}, {"steps": [3], "length": [16, 24]}), turn)
            return Call(kind, {"length": 16, "steps": 4, "seeds": 1, "seed": i, "sweep": sweep})
        case "/race":
            lanes = _of((list(usual_lanes()), rng.sample(contenders(), 2)), turn)
            return Call(kind, {"lanes": lanes, "length": 16, "steps": 4, "seed": i})
    return Call(kind, {})


def _of(forms, turn: int):
    return forms[turn % len(forms)]


def _forms() -> list[dict]:
    """What /generate is asked for: every model with every sampler of its family, and the first model with KNOBS."""
    models = zoo.catalogue().items()
    return [{"model": name, "sampler": sampler} for name, family in models for sampler in SAMPLERS[family]] + [*KNOBS]
