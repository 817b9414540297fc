"""A run written down: the same when read back, and safe to put into a page."""

import json
import math

import pytest
import torch

import playground
from playground.engine import record, run
from playground.recipe import Recipe
from playground.samplers.step import State
from playground.trace import Trace, TraceError

MODELS = ["stories-continuous", "stories-masked"]
FIELDS = {
    "prompt": "</script><b>Once</b>", "length": 32, "steps": 5, "seed": 3, "samples": 2, "temperature": 1.0,
    "pins": {24: "dog"},
}  # fmt: skip


@pytest.fixture(scope="module", params=MODELS)
def recipe(request) -> Recipe:
    return Recipe.parse(FIELDS | {"model": request.param})


@pytest.fixture(scope="module")
def trace(recipe) -> Trace:
    *_, trace = record(recipe)
    return trace


def test_json_gives_the_trace_back(trace):
    text = trace.to_json()
    back = Trace.from_json(text)
    assert back.to_json() == text
    assert (back.head, back.frames, back.end) == (trace.head, trace.frames, trace.end)


def test_a_saved_trace_loads_unchanged(trace, tmp_path):
    trace.save(tmp_path / "run.json")
    back = Trace.load(tmp_path / "run.json")
    assert back.to_json() == trace.to_json()
    assert (back.text, back.texts, back.recipe) == (trace.text, trace.texts, trace.recipe)
    assert back.tokens_per_second == trace.tokens_per_second > 0
    Trace.load(tmp_path / "run.json").save(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "run.json").read_bytes()


def test_a_loaded_trace_replays_the_live_run(trace, recipe, tmp_path):
    trace.save(tmp_path / "run.json")
    replayed, live = Trace.load(tmp_path / "run.json").steps, list(run(recipe))
    assert len(replayed) == len(live) > 1
    for a, b in zip(replayed, live, strict=True):
        assert torch.equal(a.tokens, b.tokens)
        assert torch.equal(a.state, b.state)
        assert (a.index, a.total, a.evaluations) == (b.index, b.total, b.evaluations)
        assert a.level == pytest.approx(b.level, abs=5e-5)
        assert torch.allclose(a.probability, b.probability, atol=0.0051)
        assert torch.allclose(a.entropy, b.entropy, atol=0.0051)
        open_cells = b.state != State.FIXED
        assert torch.equal(a.candidates[open_cells], b.candidates[open_cells])
        assert torch.allclose(a.candidate_probability[open_cells], b.candidate_probability[open_cells], atol=0.000501)


def test_the_recipe_in_the_head_makes_the_run_again(trace):
    *_, again = record(Trace.from_json(trace.to_json()).recipe)
    assert [frame["rows"] for frame in again.frames] == [frame["rows"] for frame in trace.frames]


def test_the_head_says_what_ran(trace, recipe):
    assert trace.head["recipe"] == recipe.to_dict()
    assert trace.head["model"]["name"] == recipe.model
    assert trace.head["model"]["family"] == recipe.model.removeprefix("stories-")
    assert trace.head["rows"] == [{"seed": 3}, {"seed": 4}]
    assert trace.head["max_entropy"] == pytest.approx(math.log(4096), abs=1e-4)
    assert len(trace.head["vocabulary"]) == 4096
    assert (trace.head["landmarks"] is None) == (recipe.model == "stories-masked")


def test_the_first_frame_is_the_row_before_the_run(trace):
    first = trace.frames[0]
    assert (first["s"], first["n"], first["u"], first["e"], first["t"]) == (0, 5, 1.0, 0, 0)
    row = first["rows"][0]
    assert row["st"].count("f") + row["st"].count("p") == trace.head["given"]
    assert row["st"][24] == "p" and row["p"][24] == " dog"
    for piece, letter, best in zip(row["p"], row["st"], row["k"], strict=True):
        assert letter in "nfp" and (piece == 3) == (letter == "n") and (best == 0) == (letter in "fp")


def test_frames_follow_the_schema(trace):
    for number, frame in enumerate(trace.frames):
        assert frame["s"] == number and len(frame["rows"]) == 2
        for row in frame["rows"]:
            assert all(len(row[key]) == 32 for key in ("id", "p", "st", "c", "h", "k"))
            assert set(row["st"]) <= set("ndcfp")
            assert all(0 <= c <= 100 for c in row["c"]) and all(0 <= h <= 832 for h in row["h"])
            assert all(k == 0 or len(k) == 10 for k in row["k"])
            if number and trace.head["landmarks"] is not None:
                assert len(row["xy"]) == 64


def test_messages_carry_the_head_first_and_last_and_count_up(recipe):
    messages = [json.loads(trace.message()) for trace in record(recipe)]
    assert [m["seq"] for m in messages] == list(range(len(messages)))
    assert len({m["run"] for m in messages}) == 1
    assert ["head" in m for m in messages] == [True] + [False] * (len(messages) - 2) + [True]
    assert ["end" in m for m in messages] == [False] * (len(messages) - 1) + [True]
    assert all("frame" in m for m in messages)


def test_the_last_message_alone_shows_the_end(recipe):
    *_, trace = record(recipe)
    message = json.loads(trace.message())
    assert message["head"] == trace.head and message["frame"] == trace.frames[-1] and message["end"] == trace.end
    assert message["end"] == {"status": "finished", "message": "", "texts": trace.texts, "seconds": trace.seconds}


def test_two_runs_have_two_names(recipe):
    assert next(record(recipe)).run != next(record(recipe)).run


def test_no_message_and_no_file_holds_a_tag(recipe):
    for trace in record(recipe):
        for text in (trace.message(), trace.to_json()):
            assert "<" not in text and "\n" not in text
    assert trace.text.startswith("</script><b>Once</b>")
    assert json.loads(trace.message())["end"]["texts"][0].startswith("</script><b>Once</b>")


FORMAT = "diffusion-lm-playground/trace"


@pytest.mark.parametrize(
    "text",
    ["", "null", "3", '"text"', "[]", "{}", '{"a": 1}', '{"format": "x"}', "not json", "\x00", "[" * 100_000,
     json.dumps({"format": FORMAT, "version": 1}),
     json.dumps({"format": FORMAT, "version": 1, "head": {}, "frames": []}),
     json.dumps({"format": FORMAT, "version": 1, "head": 3, "frames": "x", "end": None}),
     json.dumps({"format": FORMAT, "version": 1, "head": {}, "frames": [], "end": None})],
    ids=lambda text: text[:70],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_a_sentence(text):
    with pytest.raises(TraceError, match=r"^This file is not a trace of the Diffusion LM Playground\.$") as error:
        Trace.from_json(text)
    assert error.value.__cause__ is None


def test_a_trace_cut_short_is_refused(trace):
    text = trace.to_json()
    for end in (1, len(text) // 2, len(text) - 1):
        with pytest.raises(TraceError, match="is not a trace"):
            Trace.from_json(text[:end])


@pytest.mark.parametrize(("name", "version"), [(FORMAT, 2), (FORMAT, 0), (FORMAT, "1"), ("other/trace", 1)])
def test_a_trace_of_another_version_is_named(trace, name, version):
    data = json.loads(trace.to_json()) | {"format": name, "version": version}
    with pytest.raises(TraceError, match=f"^This trace is {name} version {version}; this app reads 1.$"):
        Trace.from_json(json.dumps(data))


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00\x80PNG")
    with pytest.raises(TraceError, match="is not a trace"):
        Trace.load(tmp_path / "run.json")


def by_hand(pieces, states, seconds=2.0) -> Trace:
    frame = {"s": 1, "n": 1, "u": 1.0, "e": 1, "t": seconds, "rows": []}
    frame["rows"] = [{"p": p, "st": s} for p, s in zip(pieces, states, strict=True)]
    return Trace({}, [frame])


def test_texts_stop_at_the_end_mark_and_leave_special_cells_out():
    trace = by_hand([[1, "Hi", " a", 2, " b", 0], [1, "You", 4, 3, " c", ""], [2, "x", "", "", "", ""]], ["ffcccc"] * 3)
    assert trace.texts == ["Hi a", "You c", ""] and trace.text == "Hi a"


def test_tokens_per_second_leaves_out_given_cells_and_padding():
    # two given, one pinned, two made, then the end mark and padding: two tokens; the second row made three of four
    trace = by_hand(
        [[1, "Hi", " a", " b", " c", 2, 0, 0], [1, "Hi", " d", " e", "", 2, 0, 0]], ["ffpccccc", "ffcccccc"]
    )
    assert trace.tokens_per_second == pytest.approx((2 + 3) / 2.0)


def test_a_row_without_an_end_mark_counts_whole():
    assert by_hand([[1, "a", " b", " c"]], ["fccc"], seconds=0.5).tokens_per_second == 6


def test_before_any_computing_the_speed_is_zero(recipe):
    assert next(record(recipe)).tokens_per_second == 0.0


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"prompt": "Once"}, ""),
        ({"prompt": "Once", "guidance": 1.0}, ""),
        ({"pins": {9: "dog"}}, ""),
        ({}, "Unconditional: nothing is given."),
        ({"guidance": 1.0}, "Unconditional: nothing is given. Guidance has nothing to follow."),
    ],
)
def test_the_note_says_when_nothing_is_given(fields, note):
    assert next(record(Recipe.parse({"length": 16, **fields}))).head["note"] == note


def test_generate_returns_a_finished_trace():
    trace = playground.generate(prompt="Once", length=16, steps=2, seed=1)
    assert trace.end["status"] == "finished" and len(trace.frames) == 3
    assert trace.end["texts"] == trace.texts and trace.end["seconds"] == trace.seconds > 0


@pytest.mark.parametrize("frames", [["rows"], [{"rows": 5}], [{"rows": []}], [{"rows": [{}]}], [{"rows": [5]}]])
def test_malformed_frames_are_refused(trace, frames):
    data = json.loads(trace.to_json())
    with pytest.raises(TraceError, match="is not a trace"):
        Trace.from_json(json.dumps(data | {"frames": frames}))
    ragged = json.loads(trace.to_json())
    ragged["frames"][0]["rows"][0]["c"].pop()
    with pytest.raises(TraceError, match="is not a trace"):
        Trace.from_json(json.dumps(ragged))


@pytest.mark.parametrize("change", [{"head": {}}, {"head": 3}, {"end": 5}])
def test_a_malformed_head_or_end_is_refused(trace, change):
    with pytest.raises(TraceError, match="is not a trace"):
        Trace.from_json(json.dumps(json.loads(trace.to_json()) | change))


def test_from_left_to_right_a_step_is_planned_for_every_open_cell():
    recipe = Recipe.parse({"model": "stories-autoregressive", "prompt": "Once upon a time", "length": 16, "seed": 2})
    *_, trace = record(recipe)
    assert {frame["n"] for frame in trace.frames} == {16 - trace.head["given"]}


@pytest.mark.parametrize("scores", [7, [], [3], [{}] * 9])
def test_scores_that_are_not_one_for_each_row_are_refused(trace, scores):
    data = json.loads(trace.to_json())
    data["end"]["scores"] = scores
    with pytest.raises(TraceError, match="is not a trace"):
        Trace.from_json(json.dumps(data))


def test_a_trace_of_an_edit_says_what_is_new_and_which_row_is_the_best():
    trace = playground.infill(text="Tom was [[sad]]. [[+3]] He ran.", seed=3, steps=2, samples=3)
    again = Trace.from_json(trace.to_json())
    assert again.text == trace.text == trace.texts[trace.best] and again.end == trace.end
    assert again.written == trace.written
    for text, (first, second) in zip(trace.texts, trace.written, strict=True):
        assert text == f"Tom was{first}.{second} He ran."
