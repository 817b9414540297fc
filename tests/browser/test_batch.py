"""The API tab of the built page, as a person uses it."""

import csv
import io
import json
import subprocess
import sys

import gradio as gr
import pytest
from gradio_client import Client

import playground
from playground.batches.filters import Filters
from playground.interfaces import snippets
from playground.ui import batch, programs

WATCH = "document.querySelector('#watch-canvas .dlm-host')?.player"
VIEW = "document.querySelector('#batch-canvas .dlm-host').player"
IDLE = "document.querySelector('#batch-run').textContent.trim() === 'Write all'"


@pytest.fixture
def tab(page):
    page.get_by_role("tab", name="API", exact=True).click()
    page.wait_for_selector("#batch-canvas .dlm-batch-table")
    return page


def knob(tab, name, value):
    box = tab.locator(f"#batch-{name} :is(input[type=number], textarea, input[type=text])").first
    box.fill(str(value))
    box.press("Tab")


def write(tab, prompts="", ended=True, **values):
    for name, value in {"prompts": prompts, "length": 48, "steps": 4, "seed": 7, **values}.items():
        knob(tab, name, value)
    tab.click("#batch-run")
    tab.wait_for_function(f"{VIEW}.batch().id !== 'recorded' && {VIEW}.batch().head")
    if ended:
        tab.wait_for_function(f"{VIEW}.batch().end && {IDLE}", timeout=60_000)


def saved(tab, kind):
    with tab.expect_download() as found:
        tab.get_by_role("button", name=f"Download {kind}").click()
    return found.value.path().read_text(encoding="utf-8")


def test_typed_prompts_are_written_and_downloaded(tab):
    tab.get_by_role("button", name="Mark texts").click()
    write(tab, "Tom ran\n\n<img src=x onerror=alert(1)> ${x}\n=1+1", highest_repetition=0, minimum_tokens=500)
    lines = [json.loads(line) for line in saved(tab, "JSONL").splitlines()]
    assert [line["recipe"]["prompt"] for line in lines] == ["Tom ran", "<img src=x onerror=alert(1)> ${x}", "=1+1"]
    assert [line["recipe"]["seed"] for line in lines] == [7, 8, 9]
    assert all(playground.generate(**line["recipe"]).text == line["text"] for line in lines)
    assert all(line["marks"][0].endswith("< 500") for line in lines)
    rows = list(csv.DictReader(io.StringIO(saved(tab, "CSV"), newline="")))
    assert [row["text"].removeprefix("'") for row in rows] == [line["text"] for line in lines]
    assert tab.locator("#batch-canvas img").count() == 0
    assert "< 500" in tab.inner_text("#batch-canvas") and "3 of 3 written" in tab.inner_text("#batch-canvas")


def test_a_file_has_its_own_knobs_and_a_bad_line_stops_nothing(tab, tmp_path):
    file = tmp_path / "prompts.jsonl"
    given = [{"prompt": "Tom", "seed": 3}, {"text": "A [[dog]] sat.", "id": "edit"}, {"steps": 0}]
    file.write_text("\n".join(map(json.dumps, given)), encoding="utf-8")
    tab.get_by_role("button", name="A file instead").click()
    tab.locator("#batch-file input[type=file]").set_input_files(file)
    tab.get_by_text("prompts.jsonl").wait_for()
    write(tab)
    lines = [json.loads(line) for line in saved(tab, "JSONL").splitlines()]
    assert [line["status"] for line in lines] == ["done", "done", "failed"]
    assert lines[0]["recipe"]["seed"] == 3 and lines[1]["text"].startswith("A") and lines[1]["text"].endswith(" sat.")
    shown = tab.inner_text("#batch-canvas")
    assert "line 3: steps: 0 is out of range; allowed: whole numbers from 1 to 256." in shown
    assert "2 of 3 written, 1 failed" in shown
    with tab.expect_popup() as watched:
        tab.locator(".dlm-batch-watch").first.click()
    assert "seed=3" in watched.value.url


def test_a_file_wins_over_the_prompts_that_the_tab_opens_with(tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("Tom ran\n", encoding="utf-8")
    values = ["stories-masked", 1, 16, 0.7, 7]  # of batch.KNOBS
    marks = [getattr(Filters(), name) for name in batch.MARKS]
    told = [json.loads(message) for message in batch.write_all(str(file), batch.PROMPTS, *values, *marks)]
    assert [item["asked"] for item in told[1]["head"]["items"]] == ["Tom ran"]
    with pytest.raises(gr.Error, match="prompts: are in the box, and there is a file too; remove one"):
        list(batch.write_all(str(file), "Lily sat", *values, *marks))


def test_stop_keeps_what_is_written(tab):
    write(tab, "\n".join(["Tom"] * 90), ended=False, steps=16, length=64)
    tab.wait_for_function(f"{VIEW}.batch().results.length > 0", timeout=60_000)
    tab.click("#batch-stop")
    tab.wait_for_function(f"{VIEW}.batch().end && {IDLE}", timeout=20_000)
    assert "Stopped. " in tab.inner_text("#batch-canvas .dlm-batch-status")
    assert 0 < len(saved(tab, "JSONL").splitlines()) < 90
    assert tab.get_by_text("not written").count() > 0
    written = saved(tab, "JSONL")
    tab.reload()
    tab.get_by_text("Your last batch, kept while the page was loaded anew.").wait_for()
    assert saved(tab, "JSONL") == written and tab.get_by_text("not written").count() > 0


def test_a_refusal_keeps_what_is_there(tab):
    write(tab, "Tom")
    text, before = saved(tab, "JSONL"), tab.inner_text(".dlm-batch")
    for name, value in {"steps": 256, "length": 512, "prompts": "Tom\n" * 500}.items():
        knob(tab, name, value)
    tab.click("#batch-run")
    tab.get_by_text("Take fewer of them, fewer steps or a shorter length.").wait_for(timeout=60_000)
    tab.wait_for_function(IDLE)
    assert tab.inner_text(".dlm-batch") == before and saved(tab, "JSONL") == text


def test_nothing_to_write_is_said(tab):
    knob(tab, "prompts", "")
    tab.click("#batch-run")
    tab.get_by_text("prompts: are empty; type some, a line each, or upload a file.").wait_for()
    tab.wait_for_function(IDLE)


def test_calls_have_the_knobs_of_the_tabs(page, url):
    page.locator("#knob-prompt textarea").fill('Lily\'s "cat"')
    page.locator("#knob-prompt textarea").press("Tab")
    page.get_by_role("tab", name="API", exact=True).click()
    code = page.locator(".cm-content:visible").first
    page.wait_for_function("document.body.textContent.includes('prompt=\"Lily')")
    assert f'Client("{url}")' in code.inner_text() and 'api_name="/generate"' in code.inner_text()
    for name in ("Edit", "Blend", "Compare", "Race", "Batch"):
        page.locator("#programs-what").get_by_text(name, exact=True).click()
        endpoint = {"Edit": "infill", "Blend": "interpolate"}.get(name, name.lower())
        page.wait_for_function(f"document.body.textContent.includes('api_name=\"/{endpoint}\"')")
    page.get_by_role("tab", name="curl").click()
    assert "call/v2/batch" in page.locator(".cm-content:visible").first.inner_text()


@pytest.mark.parametrize("saved", [None, {}, {"prompt": 7, "x": []}, {"model": "gpt"}, {"length": "<b>"}])
def test_saved_knobs_that_cannot_be_used_leave_the_calls_as_they_open(saved):
    from playground.ui import blend, compare, edit, race, watch

    for name, tab in (("generate", watch), ("infill", edit), ("interpolate", blend), ("compare", compare),
                      ("race", race), ("batch", batch)):  # fmt: skip
        assert len(programs.shown(name, tab.call, saved, "http://x/")) == 4


def test_the_same_seed_gives_the_same_text_everywhere(tab, url):
    fields = {"model": "stories-continuous", "prompt": "Once upon a time", "length": 24, "steps": 4, "seed": 7}
    text = playground.generate(**fields).text
    write(tab, "Once upon a time\nTom", length=24)
    first = json.loads(saved(tab, "JSONL").splitlines()[0])
    tab.goto(f"{url}?prompt=Once+upon+a+time&length=24&steps=4&seed=7")
    ended = f"{WATCH}.trace().end?.status === 'finished' && {WATCH}.trace().head.recipe.seed === 7"
    tab.wait_for_function(f"{WATCH} && {ended}")
    row = tab.evaluate(f"{WATCH}.trace().frames.at(-1).rows[0].p")
    row = row[: row.index(2)] if 2 in row else row  # 2 is the end mark: what stands behind it is not of the text
    pieces = [piece for piece in row if isinstance(piece, str)]
    client = Client(url, verbose=False)
    flags = [f"--{name}={value}" for name, value in fields.items()]
    command = [sys.executable, "-m", "playground", "generate", *flags]
    shared = {name: value for name, value in fields.items() if name != "prompt"}
    jobs = [client.submit(items=["Once upon a time"], **shared, api_name="/batch") for _ in range(2)]
    found = {
        "page": "".join(pieces),
        "batch on the page": first["text"],
        "API": client.predict(**fields, api_name="/generate")["text"],
        "stream": client.predict(**fields, api_name="/stream")["text"],
        "command line": subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip("\n"),
        "batch": playground.batch(["Once upon a time", "Tom"], **{k: v for k, v in fields.items() if k != "prompt"})[0][
            "text"
        ],
        "batches at the same time": {job.result()["results"][0]["text"] for job in jobs}.pop(),
    }
    client.close()
    assert found == dict.fromkeys(found, text)


def test_javascript_logs_the_text(tab, url):
    fields = {"model": "stories-masked", "prompt": "Tom's </script> `x` ${y} é 🙂", "length": 48, "steps": 4, "seed": 7}
    said = []
    tab.on("console", lambda message: said.append(message.text))
    tab.evaluate(f"async () => {{ {snippets.javascript(url, 'generate', fields)} }}")
    text = playground.generate(**fields).text
    assert text in said
    said.clear()
    tab.evaluate(f"async () => {{ {snippets.javascript(url, 'stream', fields | {'steps': 40})} }}")
    assert len(set(said)) > 2 and said[-1] == playground.generate(**fields | {"steps": 40}).text
