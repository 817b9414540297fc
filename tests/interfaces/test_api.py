"""The HTTP API of the built page, called by gradio_client and by hand."""

import json
import time
import urllib.request

import pytest
from gradio_client import Client

import playground
from playground import log


@pytest.fixture(scope="module")
def client(url):
    connected = Client(url, verbose=False, httpx_kwargs={"timeout": 60})
    yield connected
    connected.close()


def post(url, name, data):
    """Call an endpoint by raw HTTP; returns what the event stream said last."""
    request = urllib.request.Request(
        f"{url}gradio_api/call/{name}", json.dumps({"data": data}).encode(), {"Content-Type": "application/json"}
    )
    event = json.load(urllib.request.urlopen(request, timeout=20))["event_id"]
    return urllib.request.urlopen(f"{url}gradio_api/call/{name}/{event}", timeout=60).read().decode()


def test_generate_gives_the_text_and_seed_that_python_gives(client):
    answer = client.predict(prompt="Once upon a time", steps=6, seed=7, api_name="/generate")
    trace = playground.generate(prompt="Once upon a time", steps=6, seed=7)
    assert answer["text"] == trace.text
    assert (answer["seed"], answer["steps"], answer["evaluations"]) == (7, 6, 6)
    assert answer["tokens_per_second"] > 0


def test_a_seed_of_minus_one_is_drawn_and_reported(client):
    answer = client.predict(steps=2, length=16, api_name="/generate")
    again = client.predict(steps=2, length=16, seed=answer["seed"], api_name="/generate")
    assert answer["seed"] >= 0 and again["text"] == answer["text"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"steps": 0}, "steps: 0 is out of range; allowed: whole numbers from 1 to 256."),
        ({"steps": -1}, "steps: -1 is out of range"),
        ({"steps": 1e9}, "steps: 1000000000 is out of range"),
        ({"steps": 1.5}, "steps: 1.5 is not allowed; allowed: whole numbers from 1 to 256."),
        ({"steps": "abc"}, "steps: 'abc' is not allowed"),
        ({"steps": "NaN"}, "steps: 'NaN' is not allowed"),
        (
            {"model": "gpt"},
            "model: 'gpt' is unknown; allowed: stories-continuous, stories-masked, stories-uniform, "
            "stories-autoregressive.",
        ),
        ({"sampler": "euler"}, "sampler: 'euler' is unknown; allowed: sde, ode."),
        ({"prompt": "word " * 3000}, "tokens; a row of length 64 holds a prompt of up to 62 tokens."),
        ({"pins": {"3": 7}}, "pins:"),
        ({"prompt": 7}, "prompt: 7 is not text."),
    ],
)
def test_a_wrong_field_is_named_in_a_sentence(client, fields, sentence):
    with pytest.raises(Exception) as caught:
        client.predict(**fields, api_name="/generate")
    assert sentence in str(caught.value)


def test_an_unknown_field_is_refused(client):
    with pytest.raises(TypeError, match="stepz"):
        client.predict(stepz=3, api_name="/generate")


def test_models_lists_what_runs_here(client):
    assert [m["name"] for m in client.predict(api_name="/models")] == [
        "stories-continuous",
        "stories-masked",
        "stories-uniform",
        "stories-autoregressive",
    ]


def test_the_page_documents_only_the_public_endpoints(client):
    endpoints = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(endpoints) == {
        "/generate", "/stream", "/infill", "/interpolate", "/compare", "/race", "/batch", "/models",
    }  # fmt: skip
    assert {p["parameter_name"] for p in endpoints["/infill"]["parameters"]}.isdisjoint({"prompt", "length", "block"})
    steps = next(p for p in endpoints["/generate"]["parameters"] if p["parameter_name"] == "steps")
    assert steps["parameter_has_default"] and steps["parameter_default"] is None


def test_page_events_called_by_hand_are_checked_too(url, client):
    answer = post(url, "watch", ["${alert(1)}"] * 17)
    assert "event: error" in answer and "Traceback" not in answer
    assert client.predict(steps=1, length=8, api_name="/generate")["steps"] == 1


def test_steps_not_given_follow_from_the_length_as_in_python(client):
    fields = {"model": "stories-masked", "length": 24, "seed": 7}
    answer = client.predict(**fields, api_name="/generate")
    assert answer["recipe"]["steps"] == 12 and answer["text"] == playground.generate(**fields).text


def test_infill_answers_with_the_best_alternative_and_all_of_them(client):
    fields = {"text": "Tom was sad. [[?8]] Then Tom was happy.", "seed": 7, "steps": 8}
    answer = client.predict(**fields, api_name="/infill")
    trace = playground.infill(**fields)
    assert answer["text"] == trace.text and [a["text"] for a in answer["alternatives"]] == trace.texts
    best = next(a for a in answer["alternatives"] if a["best"])
    assert (best["text"], best["seed"], best["written"]) == (answer["text"], answer["seed"], answer["written"])
    assert best["text"] == f"Tom was sad.{best['written'][0]} Then Tom was happy."
    assert answer["unchanged"] and answer["checked"] == trace.end["checked"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "text: is empty; write one"),
        ({"text": "no hole"}, "text: has no hole"),
        ({"text": "a [[b"}, "text: the hole at character 3 is not closed"),
        ({"text": "${x} {{y}} [[<script>]]", "strength": 7}, "strength: 7.0 is out of range"),
        ({"text": "[[a]]" + "x" * 100_000}, "text: has 100,005 characters; allowed: 20,000."),
    ],
)
def test_an_infill_that_cannot_be_done_says_why(client, fields, sentence):
    with pytest.raises(Exception) as caught:
        client.predict(**fields, api_name="/infill")
    assert sentence in str(caught.value)


def test_interpolate_gives_the_points_of_the_path_as_in_python(client):
    fields = {"a": "Tom had a ball.", "b": "The dragon was sad.", "points": 5, "steps": 2, "seed": 3}
    answer = client.predict(**fields, api_name="/interpolate")
    trace = playground.interpolate(**fields)
    assert [point["text"] for point in answer["points"]] == trace.texts
    assert answer["points"][0]["edits"] == {"a": 0, "b": trace.end["path"]["edits"]["b"][0]}
    assert answer["seed"] == 3 and answer["blend"]["level"] == trace.head["blend"]["level"]
    slerp = client.predict(**fields, method="noise-slerp", api_name="/interpolate")
    assert slerp["blend"]["level"] == 0.7  # not given, it is the method's own


def test_interpolate_refuses_with_a_sentence(client):
    with pytest.raises(Exception, match="b: is empty; a path needs two texts"):
        client.predict(a="Tom", b="", api_name="/interpolate")


def test_compare_gives_the_rows_and_sentences_that_python_gives(client):
    fields = {"prompt": "Tom", "length": 16, "seed": 5, "seeds": 2}
    answer = client.predict(**fields, sweep={"steps": [2, 3], "temperature": [0.5]}, api_name="/compare")
    study = playground.compare(**fields, steps=[2, 3], temperature=[0.5])
    assert [row["text"] for row in answer["rows"]] == [row["text"] for row in study.rows]
    assert answer["cells"][0]["metrics"]["perplexity"]["count"] == 2 and answer["seeds"] == [5, 6]
    assert answer["said"][0].startswith("Temperature 0.5: from 2 to 3 steps perplexity")
    written = str(study.cells[0].open)  # of the 16 cells, the prompt's are given
    assert answer["real"][written]["measured_at"] == 16 and len(answer["baselines"]) == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"sweep": [4, 8]}, "sweep: must be a table of knobs and values"),
        ({"sweep": {"stepz": [4, 8]}}, "stepz: cannot be compared or swept; the fields are"),
        ({"sweep": {"steps": "${x}, <b>"}}, "steps: '${x}' is not allowed"),
        ({"sweep": {"steps": [200, 256], "length": [512]}, "seeds": 8}, ": this comparison would take about"),
    ],
)
def test_a_comparison_that_cannot_be_made_says_why(client, fields, sentence, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_GRID_LIMIT", "20")
    with pytest.raises(Exception) as caught:
        client.predict(**fields, api_name="/compare")
    assert sentence in str(caught.value)


def test_race_gives_every_lane_as_in_python(client):
    fields = {"prompt": "Once upon a time", "length": 16, "steps": 3, "seed": 4}
    answer = client.predict(**fields, api_name="/race")
    heat = playground.race(**fields)
    assert [lane["text"] for lane in answer["lanes"]] == [trace.text for trace in heat.traces]
    assert sorted(lane["place"] for lane in answer["lanes"]) == [1, 2, 3, 4]
    assert answer["race"] == heat.race.to_dict() and answer["judge"] == heat.judge and answer["seed"] == 4
    pair = client.predict(**fields, lanes=["stories-masked:threshold", "stories-masked"], api_name="/race")
    assert [lane["lane"] for lane in pair["lanes"]] == ["stories-masked:threshold", "stories-masked:random"]


def test_race_refuses_with_a_sentence(client, url):
    with pytest.raises(Exception, match="lanes: 'gpt' is no model; allowed: stories-continuous, "):
        client.predict(lanes=["gpt", "stories-masked"], api_name="/race")
    answer = post(url, "run_race", ["${alert(1)}", {}, [], None, "<b>", 5])
    assert "event: error" in answer and "Traceback" not in answer


def test_stream_gives_the_text_as_it_resolves_and_last_what_generate_gives(client):
    fields = {"prompt": "Once upon a time", "steps": 12, "length": 200, "seed": 7}
    job = client.submit(**fields, api_name="/stream")
    seen = list(job)
    assert [step["status"] for step in seen] == ["running"] * (len(seen) - 1) + ["finished"]
    steps = [step["step"] for step in seen[:-1]]
    assert len(steps) > 3 and steps == sorted(set(steps)) and all(step["of"] == 12 for step in seen[:-1])
    assert all(step["text"].startswith("Once upon a time") for step in seen)
    assert len({step["text"] for step in seen}) > 3 and seen[-1]["steps"] == 12
    assert (
        seen[-1]["text"] == playground.generate(**fields).text == client.predict(**fields, api_name="/stream")["text"]
    )


def test_a_streamed_run_that_is_cancelled_ends_its_work(client, monkeypatch):
    ended = []
    monkeypatch.setattr(log, "event", lambda name, **facts: ended.append(facts) if name == "run ended" else None)
    job = client.submit(steps=256, length=256, seed=1, api_name="/stream")
    while len(job.outputs()) < 2:
        time.sleep(0.02)
    reached = job.outputs()[-1]["step"]
    job.cancel()
    waited = time.monotonic() + 10
    while not ended and time.monotonic() < waited:
        time.sleep(0.02)
    assert ended[0]["status"] == "stopped" and reached <= ended[0]["step"] < 60


def test_stream_refuses_with_a_sentence(client):
    with pytest.raises(Exception, match="steps: 0 is out of range"):
        client.predict(steps=0, api_name="/stream")


def test_batch_gives_every_text_that_it_is_alone(client):
    given = ["Tom ran", {"text": "A [[dog]] sat.", "id": "edit"}, {"prompt": "Lily", "seed": 3}, {"steps": 0}]
    fields = {"steps": 4, "length": 24, "seed": 9, "model": "stories-masked"}
    answer = client.predict(items=given, **fields, highest_repetition=0.0, minimum_tokens=500, api_name="/batch")
    assert (answer["done"], answer["failed"], answer["total"], answer["status"]) == (3, 1, 4, "finished")
    results = answer["results"]
    assert [r["index"] for r in results] == [0, 1, 2, 3] and results[1]["id"] == "edit"
    assert [r["recipe"]["seed"] for r in results[:3]] == [9, 10, 3]
    for result in results[:3]:
        assert playground.generate(**result["recipe"]).text == result["text"] and result["error"] is None
        assert result["marks"][0].endswith("< 500")
    assert results[3]["error"] == "item 4: steps: 0 is out of range; allowed: whole numbers from 1 to 256."
    assert {r["text"] for r in playground.batch(given, **fields)} == {r["text"] for r in results}


def test_batch_tells_how_far_it_is(client):
    job = client.submit(items=["Tom"] * 6, rows=1, steps=10, length=64, api_name="/batch")
    seen = list(job)
    shares = [told["share"] for told in seen[:-1]]
    assert len(shares) > 3 and shares == sorted(shares) and 0 < shares[0] < shares[-1] <= 1
    assert {told["total"] for told in seen} == {6} and seen[-1]["done"] == 6


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "items: there is nothing to write in it."),
        ({"items": "Tom"}, "items: are str; a list of prompts or of tables of fields is needed."),
        ({"items": {"a": 1}}, "items: are dict; a list"),
        ({"items": ["x"] * 1001}, "items: 1,001 items are too many; allowed: 1,000."),
        ({"items": ["x"], "rows": 1000}, "rows: 1000 is out of range; allowed: whole numbers from 1 to 256."),
        ({"items": ["x"], "temperature": 9}, "temperature: 9.0 is out of range"),
        ({"items": ["x"], "highest_repetition": -1}, "highest_repetition: -1.0 is out of range"),
    ],
)
def test_batch_refuses_with_a_sentence(client, fields, sentence):
    with pytest.raises(Exception) as caught:
        client.predict(**fields, api_name="/batch")
    assert sentence in str(caught.value)


def test_batch_refuses_what_would_take_too_long(client, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_BATCH_LIMIT", "0.001")
    with pytest.raises(Exception, match=r"items: would take about [\d.]+ s here; allowed: 0\.001 s\."):
        client.predict(items=["Tom"], api_name="/batch")
