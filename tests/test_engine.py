"""Whole runs of the models that come with the app: reproducible, stoppable, bounded and honest about failing."""

import dataclasses
import functools
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import playground
from playground.denoisers import zoo
from playground.engine import Run, RunError, record, run
from playground.environment import SettingError
from playground.recipe import Recipe, RecipeError
from playground.samplers import SAMPLERS
from playground.samplers.step import Step
from playground.trace import Trace

MODELS = list(zoo.catalogue())
SHORT = {"prompt": "Once upon a time", "length": 24, "steps": 4, "seed": 5}
both = pytest.mark.parametrize("model", MODELS)


def recipe(model=MODELS[0], **fields) -> Recipe:
    return Recipe.parse(SHORT | {"model": model} | fields)


@functools.cache
def on_cpu(model: str, dtype: str) -> zoo.Model:
    return zoo.load_folder(zoo.models_folder() / model, device="cpu", dtype=dtype)


def tokens(steps) -> list:
    return [step.tokens.tolist() for step in steps]


@both
def test_the_same_seed_gives_the_same_text_twice(model):
    a, b = (playground.generate(**SHORT, model=model, temperature=1.0) for _ in range(2))
    assert a.texts == b.texts and [f["rows"] for f in a.frames] == [f["rows"] for f in b.frames]
    assert a.text.startswith("Once upon a time")


@both
def test_another_seed_gives_another_text(model):
    texts = {playground.generate(**SHORT | {"seed": seed}, model=model, temperature=1.0).text for seed in range(4)}
    assert len(texts) > 1


@both
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("fields", [{}, {"guidance": 1.0}, {"prompt": ""}], ids=["prompt", "guidance", "unconditional"])
def test_each_row_of_a_batch_equals_that_row_alone(model, dtype, fields):
    if zoo.best_dtype("cpu") == "float32" and dtype != "float32":
        fields = fields | {"length": 12, "steps": 2}  # a processor without bfloat16 of its own is slow at it

    def rows(seed, samples):
        prepared = Run(recipe(model, seed=seed, samples=samples, temperature=1.0, **fields))
        prepared.model = on_cpu(model, dtype)
        *_, last = prepared.steps()
        return last.tokens.tolist()

    together = rows(40, 4)
    for i in range(4):
        assert together[i] == rows(40 + i, 1)[0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_logits_of_a_row_are_the_same_to_the_bit_in_a_batch(dtype):
    """Rounding that depends on the batch would now and then turn a word, too rarely for a short run to show it."""
    if dtype == "bfloat16" and zoo.best_dtype("cpu") != dtype:
        pytest.skip("this processor has no bfloat16 of its own, so no run is in bfloat16 unless one asks for it")
    denoiser = on_cpu(MODELS[0], dtype).denoiser
    generator = torch.Generator().manual_seed(2)
    z, hint = torch.randn(2, 4, 24, 128, generator=generator)
    given, code = torch.rand(4, 24, generator=generator) < 0.2, torch.randn(4, 128, generator=generator)
    log_nsr = torch.tensor([1.8, 3.0, 5.0, 9.0])
    with torch.inference_mode():
        together = denoiser(z, log_nsr, hint, given, code)
        for i in range(4):
            row = slice(i, i + 1)
            assert torch.equal(together[row], denoiser(z[row], log_nsr[row], hint[row], given[row], code[row]))


@both
def test_row_two_of_four_equals_one_sample_with_its_seed(model):
    together = playground.generate(**SHORT, model=model, samples=4)
    assert [row["seed"] for row in together.head["rows"]] == [5, 6, 7, 8]
    alone = playground.generate(**SHORT | {"seed": 6}, model=model)
    assert together.texts[1] == alone.text


@pytest.mark.parametrize("sampler", [s for s in SAMPLERS["masked"] if s != "ancestral"] + ["ode"])
def test_every_sampler_runs_to_text(sampler):
    model = MODELS[sampler in SAMPLERS["masked"]]
    *_, last = run(recipe(model, sampler=sampler))
    assert (last.tokens < zoo.load(model).denoiser.vocab_size).all()
    assert last.evaluations == last.index + 1 <= 4


def test_a_seed_that_was_not_given_is_drawn_once_and_reported():
    trace = playground.generate(**SHORT | {"seed": -1}, samples=2)
    seed = trace.recipe.seed
    assert 0 <= seed < 2**31
    assert [row["seed"] for row in trace.head["rows"]] == [seed, (seed + 1) % 2**31]
    again = playground.generate(**trace.recipe.to_dict())
    assert again.texts == trace.texts


def test_stream_gives_steps_with_growing_clock_and_count():
    steps = list(playground.stream(**SHORT))
    assert all(isinstance(step, Step) for step in steps)
    assert [step.index for step in steps] == [0, 1, 2, 3]
    assert [step.evaluations for step in steps] == [1, 2, 3, 4]
    seconds = [step.seconds for step in steps]
    assert seconds[0] > 0 and seconds == sorted(seconds)


def test_stream_refuses_before_the_first_step():
    with pytest.raises(RecipeError):
        playground.stream(steps=0)


@both
def test_the_time_limit_stops_a_run_and_names_the_step(monkeypatch, model):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    steps = run(recipe(model))
    assert next(steps).index == 0
    with pytest.raises(
        RunError, match=r"^Stopped after step 1 of (4|19): the run passed the time limit of 0 seconds\.$"
    ):
        next(steps)


def test_a_run_past_its_time_is_recorded_with_what_was_done(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    *_, trace = record(recipe())
    assert trace.end["status"] == "error" and "step 1 of 4" in trace.end["message"]
    assert len(trace.frames) == 2 and len(trace.steps) == 1
    assert trace.end["texts"] == trace.texts and trace.text.startswith("Once upon a time")
    assert Trace.from_json(trace.to_json()).end == trace.end


def test_generate_raises_what_record_writes_down(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "0")
    with pytest.raises(RunError, match="step 1 of 4"):
        playground.generate(**SHORT)


class Breaking:
    """A denoiser whose logits turn to `value` at its third evaluation."""

    def __init__(self, denoiser, value):
        self._denoiser, self._value, self._calls = denoiser, value, 0

    def __getattr__(self, name):
        return getattr(self._denoiser, name)

    def __call__(self, *args, **kwargs):
        return self._broken(self._denoiser(*args, **kwargs))

    def following(self, *args):
        return self._broken(self._denoiser.following(*args))

    def _broken(self, logits):
        self._calls += 1
        return torch.full_like(logits, self._value) if self._calls == 3 else logits


@both
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_stop_the_run_naming_step_and_precision(model, value):
    prepared = Run(recipe(model))
    loaded = on_cpu(model, "float32")
    prepared.model = dataclasses.replace(loaded, denoiser=Breaking(loaded.denoiser, value))
    steps = prepared.steps()
    assert [next(steps).index, next(steps).index] == [0, 1]
    with pytest.raises(RunError, match=r"^Step 3 gave numbers that are not finite .* in float32; .*\.$"):
        next(steps)


@pytest.fixture
def watched(monkeypatch):
    """The default sampler, noting each evaluation, the end, and the mode it ran under."""
    notes, original = [], SAMPLERS["continuous"]["sde"]

    def sde(denoiser, ids, fixed, rngs, *, steps, schedule):
        try:
            for step in original(denoiser, ids, fixed, rngs, steps=steps, schedule=schedule):
                notes.append((step.index, torch.is_inference_mode_enabled()))
                yield step
        finally:
            notes.append("closed")

    monkeypatch.setitem(SAMPLERS["continuous"], "sde", sde)
    return notes


def test_closing_the_steps_stops_the_sampler(watched):
    steps = run(recipe())
    next(steps)
    next(steps)
    assert watched == [(0, True), (1, True)]
    steps.close()
    gc.collect()
    assert watched == [(0, True), (1, True), "closed"]


def test_dropping_a_recorded_run_stops_the_sampler(watched):
    traces = record(recipe())
    next(traces)
    next(traces)
    traces.close()
    gc.collect()
    assert watched == [(0, True), "closed"]


def test_inference_mode_does_not_leak_to_the_caller():
    for step in run(recipe()):
        assert not torch.is_inference_mode_enabled()
        assert step.tokens is not None
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


@both
def test_each_step_may_come_from_another_thread(model):
    straight = tokens(run(recipe(model)))
    steps, got = run(recipe(model)), []
    for _ in straight:
        thread = threading.Thread(target=lambda: got.append(next(steps).tokens.tolist()))
        thread.start()
        thread.join()
    assert got == straight
    assert next(steps, None) is None


def test_runs_at_the_same_time_do_not_see_each_other():
    recipes = [recipe(model, seed=seed) for model in MODELS for seed in (1, 2)]
    one_by_one = [tokens(run(r)) for r in recipes]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda r: tokens(run(r)), recipes)) == one_by_one


def test_a_run_leaves_the_global_random_numbers_alone():
    before = torch.random.get_rng_state()
    list(run(recipe(seed=-1)))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.fixture
def no_evaluation(monkeypatch):
    def sde(denoiser, ids, fixed, rngs, *, steps):
        pytest.fail("the denoiser was run")
        yield

    monkeypatch.setitem(SAMPLERS["continuous"], "sde", sde)


def test_a_prompt_of_10000_characters_is_refused_before_running(no_evaluation):
    prompt = "word " * 2000
    with pytest.raises(RecipeError, match=r"^prompt: is \d,\d{3} tokens; .* up to 254 tokens"):
        run(Recipe.parse({"prompt": prompt, "length": 256}))
    with pytest.raises(RecipeError, match=r"^prompt: "):
        next(record(Recipe.parse({"prompt": prompt, "length": 256})))


def test_half_a_surrogate_pair_is_refused_before_running(no_evaluation):
    with pytest.raises(RecipeError, match=r"^prompt: character 1 "):
        run(Recipe.parse({"prompt": "\ud83d"}))


HOSTILE = {
    "template": "${alert(1)}", "mustache": "{{x}}", "tag": "<img src=x onerror=alert(1)>", "script end": "</script>",
    "backticks": "```js\n`x`\n```", "NUL": "a\x00b", "emoji": "👨\u200d👩\u200d👧\u200d👦 👍🏽 🇩🇪", "Chinese": "你好",
    "RTL": "שלום \u202eabc", "spaces": "     ", "newlines": "\n\n\n", "CR": "a\rb", "end mark": "<eos> <pad>",
    "quotes": "\"' \\ \\u003c", "format": "%s {0} %n", "SQL": "'; DROP TABLE x; --",
}  # fmt: skip


@both
@pytest.mark.parametrize("prompt", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_prompt_stands_verbatim_at_the_start_of_the_text(model, prompt):
    trace = playground.generate(prompt=prompt, model=model, steps=1, length=64, seed=1)
    assert trace.text.startswith(prompt)
    assert Trace.from_json(trace.to_json()).text == trace.text
    assert trace.recipe.prompt == prompt


@both
def test_pinned_words_stay_where_they_were_put(model):
    trace = playground.generate(**SHORT | {"prompt": ""}, model=model, pins="10:dragon, 16:park")
    tokenizer = zoo.load(model).tokenizer
    for step in trace.steps:
        for cell, word in ((10, " dragon"), (16, " park")):
            ids = tokenizer.encode(word)
            assert step.tokens[0, cell : cell + len(ids)].tolist() == ids


def test_a_time_limit_that_is_no_number_is_said(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TIME_LIMIT", "soon")
    with pytest.raises(SettingError, match="PLAYGROUND_TIME_LIMIT is 'soon'; allowed: numbers from 0"):
        playground.generate(steps=2, length=8)


def test_a_row_longer_than_the_model_can_see_is_refused(monkeypatch):
    model = zoo.load("stories-masked")
    short = zoo.load_folder(zoo.models_folder() / "stories-masked", device="cpu", dtype="float32")
    short.denoiser.trunk.positions = torch.nn.Parameter(short.denoiser.trunk.positions[:65], requires_grad=False)
    monkeypatch.setattr(zoo, "load", lambda name: short)
    with pytest.raises(RecipeError, match=r"length: 100 is longer than the longest row of stories-masked, 64\."):
        Run(Recipe.parse({"model": model.name, "length": 100}))
