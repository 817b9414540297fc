"""The log: a line of JSON for what happens to a run, without what a visitor wrote."""

import json
import logging

import pytest

import playground
from playground import log
from playground.engine import record
from playground.environment import SettingError
from playground.recipe import Recipe

SECRET = "Lily's secret"


@pytest.fixture
def lines(monkeypatch, capsys):
    """Start the log at a level; then what it has written."""

    def begin(level="info"):
        monkeypatch.setenv("PLAYGROUND_LOG", level)
        log.start()
        return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    root = logging.getLogger().handlers
    yield begin
    logging.getLogger().handlers = root
    log.LOGGER.handlers, log.LOGGER.propagate = [], True
    log.LOGGER.setLevel(0)


def test_a_run_s_two_lines_have_its_id_and_not_its_prompt(lines):
    written = lines()
    trace = playground.generate(prompt=SECRET, length=16, steps=2, seed=1)
    began, ended = written()
    assert (began["event"], ended["event"]) == ("run began", "run ended")
    assert began["run"] == ended["run"] == trace.run
    assert (ended["status"], ended["step"], ended["steps"], ended["model"]) == ("finished", 2, 2, "stories-continuous")
    assert SECRET not in json.dumps([began, ended]) and ended["seconds"] == pytest.approx(trace.seconds, abs=0.001)


def test_one_that_is_closed_is_stopped_at_its_step(lines):
    written = lines()
    run = record(Recipe.parse({"prompt": SECRET, "length": 16, "steps": 8, "seed": 1}))
    for _ in range(4):
        next(run)
    run.close()
    assert [(line["event"], line.get("status"), line.get("step")) for line in written()] == [
        ("run began", None, None), ("run ended", "stopped", 3),
    ]  # fmt: skip


def test_a_path_is_logged_as_a_run_is(lines):
    written = lines()
    trace = playground.interpolate("Tom had a ball.", SECRET, points=5, steps=2, seed=1)
    assert [(line["event"], line["run"]) for line in written()] == [("run began", trace.run), ("run ended", trace.run)]


def test_debug_has_the_recipe_and_off_has_nothing(lines):
    written = lines("debug")
    playground.generate(prompt=SECRET, length=16, steps=1, seed=1)
    assert written()[0]["prompt"] == SECRET
    written = lines("off")
    playground.generate(prompt=SECRET, length=16, steps=1, seed=1)
    assert written() == []


def test_what_libraries_say_is_a_line_without_what_was_sent(lines):
    said = ('x\n{"event": "FORGED"} %s', SECRET)
    written = lines()
    logging.getLogger("mcp.server").warning(*said)
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("library").exception("It failed: %s", SECRET)
    warned, failed = written()
    assert (warned["event"], warned["where"].split(":")[0]) == ("warning of mcp.server", "test_log")
    assert (failed["event"], failed["error"]) == ("error of library", "ValueError")
    assert SECRET not in json.dumps([warned, failed])
    written = lines("debug")
    logging.getLogger("mcp.server").warning(*said)
    (told,) = written()
    assert told["event"] == "warning of mcp.server" and SECRET in told["message"]
    written = lines("off")
    logging.getLogger("mcp.server").warning(*said)
    assert written() == []


def test_another_level_is_a_sentence(lines):
    with pytest.raises(SettingError, match="PLAYGROUND_LOG is 'loud'; allowed: info, debug, off"):
        lines("loud")
