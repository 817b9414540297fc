"""`python -m playground evaluate`, with a real model, a small corpus and a judge that is quick."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from playground import judges
from playground.denoisers import zoo
from playground.engine import complete
from playground.interfaces.cli import main
from playground.quality import measure, ngrams
from playground.recipe import Recipe, RecipeError
from playground.samplers import SAMPLERS
from playground.text import BOS
from playground.training.data import CorpusError, parse_shares
from playground.training.evaluate import Reference, evaluate, openings
from playground.training.report import rounded, table
from playground.training.settings import Settings

MODEL = {"model": "stories-masked"}


class Letters:
    """A judge to whom a letter costs half a nat and a word is a token."""

    name = "letters"

    def __init__(self):
        self.skipped = self.cut = 0

    def nll(self, texts):
        self.skipped += sum(not text.split() for text in texts)
        return sum(0.5 * len(text) for text in texts), sum(len(text.split()) for text in texts)


@pytest.fixture(autouse=True)
def judged(monkeypatch):
    monkeypatch.setitem(judges.JUDGES, "bundled", Letters)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """60 stories, of which 3 are held out."""
    rng, folder = random.Random(4), tmp_path_factory.mktemp("corpus")
    who, what = ["Tom", "Sue", "The dog", "A bear"], ["ran to the park", "saw a big red ball", "ate the cake"]
    stories = [" ".join(f"{rng.choice(who)} {rng.choice(what)}." for _ in range(12)) for _ in range(60)]
    (folder / "stories.txt").write_text("\n<|endoftext|>\n".join(stories), encoding="utf-8")
    return folder


def settings(**values) -> Settings:
    return Settings.parse(MODEL | {"samples": "3", "steps": "2"} | values)


def refused(**values) -> str:
    with pytest.raises(RecipeError) as error:
        evaluate(settings(**values))
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
    return str(error.value)


def test_defaults():
    found = Settings.parse({})
    assert (found.steps, found.samples, found.judge, found.recipe.seed) == ([8, 16, 32, 64], 256, "bundled", 1000)
    assert Settings.parse({"frontier": "0.9,0.7"}).temperatures == [0.7, 0.9]
    assert Settings.parse({"frontier": "0.7"}).steps == [32]
    assert Settings.parse({"steps": "4, 2,4"}).steps == [4, 2]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"model": "gpt"}, "model: 'gpt' is unknown; allowed: "),
        ({"sampler": "sde"}, "sampler: 'sde' is unknown; allowed: random, "),
        ({"steps": "8,x"}, "steps: 'x' is not allowed; allowed: whole numbers from 1 to 256."),
        ({"steps": "0"}, "steps: 0 is out of range; allowed: whole numbers from 1 to 256."),
        ({"steps": "8,"}, "steps: '' is not allowed"),
        ({"samples": "0"}, "samples: '0' is not allowed; allowed: whole numbers from 1 to 100000."),
        ({"samples": "many"}, "samples: 'many' is not allowed"),
        ({"temperature": "9"}, "temperature: 9.0 is out of range; allowed: numbers from 0.0 to 2.0."),
        ({"seed": "x"}, "seed: 'x' is not allowed"),
        ({"judge": "gpt-5"}, "judge: 'gpt-5' is unknown; allowed: bundled, smollm2."),
        ({"frontier": "0.5,hot"}, "frontier: 'hot' is not allowed; allowed: numbers from 0.0 to 2.0."),
        ({"frontier": "0.5,3"}, "frontier: 3.0 is out of range; allowed: numbers from 0.0 to 2.0."),
        (
            {"frontier": "0.5", "steps": "2,4"},
            "steps: frontier sweeps the temperature at one number of steps, not at 2.",
        ),
        ({"frontier": "0.5", "temperature": "1"}, "temperature: frontier sweeps the temperature;"),
        ({"infill": True}, "corpus: is missing; infill hides the middle of real held-out text."),
        ({"shares": ["a.txt=1"]}, "corpus: is missing; shares name the files of a corpus."),
        ({"corpus": "/nowhere"}, "corpus: The corpus folder /nowhere does not exist or is not a folder."),
    ],
)
def test_a_wrong_field_is_a_sentence_that_names_it(values, sentence):
    assert refused(**values).startswith(sentence)


def test_a_corpus_that_cannot_be_used(corpus, tmp_path):
    assert refused(corpus=str(tmp_path)).startswith("corpus: The corpus folder")
    assert refused(corpus=str(corpus), shares=["no.txt=1"]).startswith("corpus: no.txt cannot be read")
    (tmp_path / "a.txt").write_text("One story.")
    (tmp_path / "b.txt").write_text("Another story.")
    assert "hold one document each" in refused(corpus=str(tmp_path))
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
    assert refused(corpus=str(tmp_path)) == "corpus: b.txt is not UTF-8 text (byte 1)."
    (tmp_path / "b.txt").write_text("Hi.\n\nHo.\n\nToo short for a hole.")
    assert refused(corpus=str(tmp_path), infill=True).startswith("corpus: no held-out document is long enough")


def test_a_judge_that_is_not_installed(monkeypatch):
    def missing():
        raise judges.JudgeError("'bundled' needs more.")

    monkeypatch.setitem(judges.JUDGES, "bundled", missing)
    assert refused() == "judge: 'bundled' needs more."


def test_shares():
    assert parse_shares("a.txt=0.76, b=c.txt=.1") == {"a.txt": 0.76, "b=c.txt": 0.1}
    for text, said in [
        ("a.txt", "cannot read 'a.txt'"),
        ("", "cannot read ''"),
        ("a=x", "cannot read 'a=x'"),
        ("a=-1", "cannot read 'a=-1'"),
        ("a=nan", "cannot read"),
        ("=1", "cannot read '=1'"),
        ("a=1,a=2", "'a' is named twice."),
    ]:
        with pytest.raises(CorpusError, match=r"^share: ") as error:
            parse_shares(text)
        assert said in str(error.value)


def test_a_row_starts_with_the_mark_and_does_not_depend_on_how_many_there_are():
    model, recipe = zoo.load("stories-masked"), Recipe.parse(MODEL | {"steps": 2, "seed": 1000})
    texts = openings(recipe, model, 3)
    assert openings(replace(recipe, seed=1002), model, 1) == texts[2:]
    ids = model.denoiser.tokens.new_full((2, 16), 7).long()
    fixed = ids == 0
    ids[:, 0], fixed[:, 0] = BOS, True
    found = list(complete(recipe, model, ids, fixed, rows=1))
    assert [batch.shape for batch in found] == [(1, 16)] * 2 and all(batch[0, 0] == BOS for batch in found)


def test_every_row_holds_the_figures_of_its_texts(corpus):
    found = evaluate(settings(corpus=str(corpus), samples="5", steps="1,2"))
    assert (found["samples"], found["reference"], found["seeds"]) == (3, 3, [1000, 1002])
    assert "3 samples instead of 5: as many as there are held-out documents." in found["notes"]
    assert [row["steps"] for row in found["rows"]] == [1, 2] and found["real"]["memorised"] > 0.5
    recipe = Recipe.parse(MODEL | {"steps": 2, "seed": 1000})
    stories = (corpus / "stories.txt").read_text().split("\n<|endoftext|>\n")
    texts = openings(recipe, zoo.load("stories-masked"), 3)
    held = _held_out(stories)
    expected = measure(texts, Letters(), ngrams([story for story in stories if story not in held]))
    assert {name: found["rows"][1][name] for name in vars(expected)} == rounded(vars(expected))
    ratio = found["rows"][1]["perplexity"] / found["real"]["perplexity"]
    assert found["rows"][1]["perplexity_over_real"] == pytest.approx(ratio, abs=1e-3)
    assert found["rows"][1]["seconds_per_sample"] > 0


def _held_out(stories: list[str]) -> list[str]:
    shuffled = stories[:]
    random.Random(0).shuffle(shuffled)
    return shuffled[:3]


def test_without_a_corpus_the_real_rows_are_left_out_and_said():
    found = evaluate(settings(samples="2"))
    assert found["real"] is None and found["rows"][0]["memorised"] is None and found["reference"] == 0
    assert found["notes"][0].startswith("No corpus was given")
    assert "\nreal held-out " not in table(found) and found["notes"][0] in table(found)
    swept = evaluate(settings(samples="2", frontier="0.5"))
    assert swept["frontier"]["chosen"] is None and "Without a corpus" in swept["frontier"]["said"]


def test_a_sampler_without_steps_is_evaluated_once(monkeypatch):
    def lefty(denoiser, ids, fixed, rngs, *, temperature=1.0):
        return SAMPLERS["masked"]["threshold"](denoiser, ids, fixed, rngs, steps=2, temperature=temperature)

    monkeypatch.setitem(SAMPLERS["masked"], "lefty", lefty)
    found = evaluate(settings(sampler="lefty", steps="2,4,8", samples="1"))
    assert [row["steps"] for row in found["rows"]] == [None]
    assert found["notes"][-1] == "lefty takes no number of steps: it was evaluated once at each temperature."


def test_the_sweep_has_a_row_a_temperature(corpus):
    found = evaluate(settings(corpus=str(corpus), frontier="1.0,0"))
    assert [row["temperature"] for row in found["rows"]] == [0, 1] and found["rows"][0]["steps"] == 2
    assert found["frontier"]["said"] in table(found)


def test_infill_changes_nothing_outside_and_has_the_real_row(corpus):
    found = evaluate(settings(corpus=str(corpus), infill=True))
    infill = found["infill"]
    assert infill["holes"] == 3 and infill["rows"][0]["unchanged"] == 1 and infill["rows"][0]["steps"] == 2
    assert infill["real"]["hole_nats"] > 0 and "infill: 3 holes in held-out text" in table(found)


@pytest.fixture
def left_to_right(monkeypatch):
    """A stand-in for an autoregressive model `lefty`: the masked one under another family, without a step count."""
    masked = zoo.load("stories-masked")

    class Denoiser(torch.nn.Module):
        family, tokens, vocab_size = "autoregressive", masked.denoiser.tokens, masked.denoiser.vocab_size

    def sample(denoiser, ids, fixed, rngs, *, temperature=1.0):
        return SAMPLERS["masked"]["threshold"](masked.denoiser, ids, fixed, rngs, steps=2, temperature=temperature)

    lefty = zoo.Model("lefty", Denoiser(), masked.tokenizer, masked.card)
    monkeypatch.setitem(SAMPLERS, "autoregressive", {"sample": sample})
    monkeypatch.setattr(zoo, "catalogue", lambda: {"stories-masked": "masked", "lefty": "autoregressive"})
    monkeypatch.setattr(zoo, "load", lambda name: lefty if name == "lefty" else masked)
    return lefty


def test_an_autoregressive_model_is_the_baseline_of_infill(corpus, left_to_right):
    infill = evaluate(settings(corpus=str(corpus), infill=True))["infill"]
    assert [row.get("baseline") for row in infill["rows"]] == [None, "lefty"]
    assert infill["rows"][1]["unchanged"] == 1 and infill["baseline"].startswith("lefty is the baseline")
    other = zoo.Model("lefty", left_to_right.denoiser, _other_tokens(left_to_right.tokenizer), {})
    with pytest.MonkeyPatch.context() as patch:
        masked = zoo.load("stories-masked")
        patch.setattr(zoo, "load", lambda name: other if name == "lefty" else masked)
        infill = evaluate(settings(corpus=str(corpus), infill=True))["infill"]
    assert len(infill["rows"]) == 1 and infill["baseline"].startswith("lefty cuts text into other tokens")


def _other_tokens(tokenizer):
    return SimpleNamespace(encode=lambda text: tokenizer.encode(text)[1:])


def test_an_autoregressive_model_is_evaluated_once_beside_rows_cut_alike(corpus, left_to_right):
    found = evaluate(settings(model="lefty", corpus=str(corpus), infill=True))
    assert [row["steps"] for row in found["rows"]] == [None] and len(found["infill"]["rows"]) == 1
    reference = Reference.read(settings(model="lefty", corpus=str(corpus)), left_to_right)
    assert all(len(left_to_right.tokenizer.encode(text)) == 63 for text in reference.texts)
    assert found["infill"]["baseline"].startswith("The model itself writes from left to right")


def test_the_command_prints_a_table_or_one_object(capsys, corpus):
    arguments = ["evaluate", "--model", "stories-masked", "--samples", "2", "--steps", "1", "--corpus", str(corpus)]
    assert main(arguments) == 0
    assert "real held-out" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    out = capsys.readouterr().out
    found = json.loads(out)
    assert out.count("\n") == 1 and found["arguments"] == [*arguments, "--json"] and found["judge"] == "letters"
    assert main([*arguments, "--share", "stories.txt=0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shares"] == {"stories.txt": 0.5}
    assert main(["evaluate", "--judge", "gpt-5"]) == 2
    assert "playground: judge: 'gpt-5' is unknown; allowed: bundled, smollm2." in capsys.readouterr().err
