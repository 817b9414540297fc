"""What the environment sets."""

import subprocess
import sys
from pathlib import Path

import pytest

from playground import environment
from playground.denoisers import zoo
from playground.environment import SETTINGS, SettingError
from playground.recipe import Recipe, RecipeError

ROOT = Path(__file__).parents[1]


def test_the_documentation_has_every_variable_with_its_default():
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert "\n".join(environment.table()) in text
    assert "| `PLAYGROUND_TIME_LIMIT` | 120 | seconds of computing a run may take |" in text


def test_every_variable_that_is_read_is_in_the_table():
    read = {
        word
        for path in (ROOT / "playground").rglob("*.py")
        for word in path.read_text(encoding="utf-8").replace("'", '"').split('"')
        if word.startswith("PLAYGROUND_") and word.isupper() and word != "PLAYGROUND_"
    }
    assert read <= {*SETTINGS, "PLAYGROUND_MAX_"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PLAYGROUND_QUEUE", "0", "PLAYGROUND_QUEUE is '0'; allowed: whole numbers from 1."),
        ("PLAYGROUND_QUEUE", "1.5", "PLAYGROUND_QUEUE is '1.5'; allowed: whole numbers from 1."),
        ("PLAYGROUND_MAX_STEPS", "1000", "PLAYGROUND_MAX_STEPS is '1000'; allowed: whole numbers from 64 to 256."),
        ("PLAYGROUND_RATE", "nan", "PLAYGROUND_RATE is 'nan'; allowed: numbers from 0."),
        ("PLAYGROUND_TIME_LIMIT", "inf", "PLAYGROUND_TIME_LIMIT is 'inf'; allowed: numbers from 0."),
        ("PLAYGROUND_TIME_LIMIT", "", "PLAYGROUND_TIME_LIMIT is ''; allowed: numbers from 0."),
        ("PLAYGROUND_LOG", "loud", "PLAYGROUND_LOG is 'loud'; allowed: info, debug, off."),
    ],
)
def test_a_wrong_value_is_said_before_anything_begins(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError) as caught:
        environment.check()
    assert str(caught.value) == said


def test_a_wrong_value_ends_the_app_and_the_command_line_with_a_sentence():
    for command in (["app.py"], ["-m", "playground", "models"]):
        environ = {"PATH": "", "PLAYGROUND_QUEUE": "many"}
        ended = subprocess.run([sys.executable, *command], cwd=ROOT, env=environ, capture_output=True, text=True)
        assert ended.returncode != 0 and "PLAYGROUND_QUEUE is 'many'; allowed: whole numbers from 1." in ended.stderr
        assert "Traceback" not in ended.stderr


def test_the_longest_row_the_most_steps_and_rows_can_be_lowered(monkeypatch):
    for name, value in (("LENGTH", "128"), ("STEPS", "64"), ("SAMPLES", "4")):
        monkeypatch.setenv(f"PLAYGROUND_MAX_{name}", value)
    assert Recipe.parse({"length": 128}).steps == 64
    for values, said in (
        ({"length": 129}, "length: 129 is out of range; allowed: whole numbers from 8 to 128."),
        ({"steps": "65"}, "steps: 65 is out of range; allowed: whole numbers from 1 to 64."),
        ({"samples": 5}, "samples: 5 is out of range; allowed: whole numbers from 1 to 4."),
        (
            {"text": "word " * 140 + "[[x]]"},
            "text: makes a row of 145 tokens, start and end mark included; allowed: 128.",
        ),
    ):
        with pytest.raises(RecipeError) as caught:
            Recipe.parse(values)
        assert str(caught.value) == said


def test_only_allowed_models_run_and_the_others_still_judge(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_ALLOWED_MODELS", "stories-uniform, stories-masked")
    assert zoo.catalogue() == {"stories-masked": "masked", "stories-uniform": "uniform"}
    assert Recipe.parse({}).model == "stories-masked"
    with pytest.raises(RecipeError, match="'stories-continuous' is unknown; allowed: stories-masked, stories-uniform"):
        Recipe.parse({"model": "stories-continuous"})
    assert zoo.reader(zoo.load("stories-masked")).name == "stories-autoregressive"


def test_an_allowed_model_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_ALLOWED_MODELS", "gpt")
    with pytest.raises(zoo.ModelError, match="PLAYGROUND_ALLOWED_MODELS names 'gpt'; there are stories-continuous"):
        zoo.catalogue()
