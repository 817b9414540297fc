"""Synthetic traces that behave like the real ones, for tests and for looking at the player."""

import math
import random

STORY = (
    "Once upon a time , there was a little girl named Lily . She loved to play in the garden with her red ball . "
    "One day , the ball rolled under a big tree and she could not reach it . A kind bird saw her and came down to "
    "help . Lily smiled and said thank you . They became good friends ."
).split()
OTHERS = "moon river happy shoe under quickly blue dog spoon sang tall because window cake over tiny rain found".split()
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "${alert(1)}",
    "{{x}}",
    "</script><script>alert(1)</script>",
    "<!--",
    "NUL\0.",
    "👩‍👩‍👧",
    "",
    4,
    "e\u0301",
    "你好",
    " שלום",
    "\n",
    "  two",
    '=1+2,"q"',
    "\u2028",
]
SPECIALS = [0, 1, 2, 3, 4]
MAX_ENTROPY = 8.3178


def word_pieces():
    words = [(word if word in ".," else " " + word) for word in STORY]
    return ["Once", *words[1:]]


def make_trace(family="continuous", rows=1, length=64, steps=32, seed=7, hostile=False, pace=0.009, given=5):
    """A finished run of `length` cells; `hostile` puts difficult pieces in the middle of the text."""
    target = [*word_pieces()[: length - 1], 2]
    if hostile:
        target[8 : 8 + len(HOSTILE)] = HOSTILE
    target = (target + [0] * length)[:length]
    vocabulary = SPECIALS + sorted({piece for piece in target if isinstance(piece, str)})
    vocabulary += [" " + word for word in OTHERS]
    known = {piece: token for token, piece in enumerate(vocabulary)}
    ids = [known[piece] for piece in target]
    steps = length - given if family == "autoregressive" else steps
    plans = [_plan(family, ids, given, steps, len(vocabulary), random.Random(seed + row)) for row in range(rows)]
    frames = []
    for step in range(steps + 1):
        frame_rows = [_row(family, plan, vocabulary, step, steps) for plan in plans]
        frames.append(
            {"s": step, "n": steps, "u": round(1 - step / steps, 3), "t": round(step * pace, 4), "rows": frame_rows}
        )
    texts = ["".join(piece for piece in row["p"] if isinstance(piece, str)) for row in frames[-1]["rows"]]
    landmarks = [[token, *_spot(token)] for token in range(5, len(vocabulary))] if family == "continuous" else None
    head = {
        "recipe": {
            "model": f"stories-{family}",
            "prompt": "Once upon a time,",
            "length": length,
            "steps": steps,
            "seed": seed,
        },
        "model": {"name": f"stories-{family}", "family": family, "parameters": 13600000},
        "rows": [{"seed": seed + row} for row in range(rows)],
        "given": given,
        "note": "",
        "vocabulary": vocabulary,
        "landmarks": landmarks,
        "max_entropy": MAX_ENTROPY,
    }
    end = {"status": "finished", "message": "", "texts": texts, "seconds": round(steps * pace + 0.01, 4)}
    return {"format": "diffusion-lm-playground/trace", "version": 1, "head": head, "frames": frames, "end": end}


def messages(trace, run="9f2c"):
    """The same run as the live messages a page receives, one per frame."""
    last = len(trace["frames"]) - 1
    for seq, frame in enumerate(trace["frames"]):
        message = {"run": run, "seq": seq, "frame": frame}
        if seq in (0, last):
            message["head"] = trace["head"]
        if seq == last:
            message["end"] = trace["end"]
        yield message


def _spot(token):
    angle = token * 2.399
    radius = 40 + (token * 37) % 160
    return round(radius * math.cos(angle)), round(radius * 0.6 * math.sin(angle))


def _plan(family, ids, given, steps, size, rng):
    cells = []
    for position, token in enumerate(ids):
        if position < given:
            settle = 0
        elif family == "autoregressive":
            settle = position - given + 1
        else:
            settle = max(1, min(steps, round(rng.betavariate(3, 2) * steps)))
        drafts = [rng.randrange(5, size) for _ in range(steps + 1)]
        hold = rng.choice([1, 2, 3])
        cells.append(
            {
                "token": token,
                "settle": settle,
                "given": position < given,
                "drafts": drafts,
                "hold": hold,
                "wobble": rng.random(),
            }
        )
    return cells


def _row(family, plan, vocabulary, step, steps):
    row = {"id": [], "p": [], "st": "", "c": [], "h": [], "k": []}
    if family == "continuous":
        row["xy"] = []
    for cell in plan:
        _add_cell(row, family, cell, vocabulary, step)
    return row


def _add_cell(row, family, cell, vocabulary, step):
    settled = cell["given"] or step >= cell["settle"]
    ratio = 1.0 if settled else step / cell["settle"]
    draft = cell["drafts"][(step // cell["hold"]) * cell["hold"]]
    token = cell["token"] if settled else draft
    if not settled and family in ("masked", "autoregressive"):
        token = 3
    sure = 1.0 if cell["given"] else min(0.99, (0.9 if settled else 0.02 + 0.7 * ratio**2) + 0.08 * cell["wobble"])
    entropy = 0.0 if cell["given"] else MAX_ENTROPY * (0.02 if settled else 0.9 * (1 - ratio) ** 1.3 + 0.06)
    state = "f" if cell["given"] else "c" if settled else "d" if ratio > 0.4 and family != "masked" else "n"
    row["id"].append(token)
    row["p"].append(vocabulary[token])
    row["st"] += state
    row["c"].append(round(100 * sure))
    row["h"].append(round(100 * entropy))
    rest = round(1000 * (1 - sure))
    best = cell["token"] if ratio > 0.5 else draft
    others = cell["drafts"][:4]
    row["k"].append(
        0
        if settled
        else [
            best,
            1000 - rest,
            others[0],
            rest // 2,
            others[1],
            rest // 4,
            others[2],
            rest // 8,
            others[3],
            rest // 16,
        ]
    )
    if "xy" in row:
        x, y = _spot(cell["token"])
        sway = (1 - ratio) * 40
        row["xy"] += [
            round(x * ratio + sway * math.sin(step + cell["wobble"] * 9)),
            round(y * ratio + sway * math.cos(step * 1.3)),
        ]
