"""Calls as lines of a program: each is run as it stands, against the real server."""

import contextlib
import io
import json
import shlex
import shutil
import subprocess

import pytest

import playground
from playground.interfaces import snippets
from playground.interfaces.cli import main

PROMPT = 'Tom\'s "dog" $HOME `ls` \\ </script> {x} é 🙂'
FIELDS = {"model": "stories-masked", "prompt": PROMPT, "length": 48, "steps": 4, "seed": 7}


@pytest.fixture(scope="module")
def text():
    return playground.generate(**FIELDS).text


def words(command):
    """As a shell takes them."""
    return shlex.split(command.replace(" \\\n", " "))


def printed(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue()


def test_python_prints_the_text(url, text):
    assert text + "\n" in printed(snippets.python(url, "generate", FIELDS))


def test_python_streams(url, text):
    lines = printed(snippets.python(url, "stream", FIELDS | {"length": 200}))
    assert playground.generate(**FIELDS | {"length": 200}).text in lines and lines.count("Tom's") > 2


def test_curl_answers_with_the_text(url, text):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed.")
    done = subprocess.run(["bash", "-c", snippets.curl(url, "generate", FIELDS)], capture_output=True, text=True)
    assert "event: complete" in done.stdout
    assert json.loads(done.stdout.strip().splitlines()[-1].removeprefix("data: "))[0]["text"] == text


def test_the_command_prints_the_text(capsys, text):
    given = words(snippets.command("generate", FIELDS))
    assert given[:3] == ["python", "-m", "playground"] and main(given[3:]) == 0
    assert capsys.readouterr().out == text + "\n"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("infill", {"text": "A [[dog]] sat.", "steps": 2, "seed": 7}),
        ("interpolate", {"a": "Tom ran.", "b": "Lily sat.", "points": 5, "steps": 2, "seed": 7}),
        ("compare", {"sweep": {"steps": [1, 2]}, "seeds": 1, "length": 16, "prompt": "Tom", "seed": 7}),
        ("race", {"lanes": ["stories-masked", "stories-uniform"], "length": 16, "steps": 2, "seed": 7}),
        ("batch", {"items": ["Tom", PROMPT], "steps": 2, "length": 48, "seed": 7}),
    ],
)  # fmt: skip
def test_every_endpoint_can_be_called_and_commanded(url, name, fields, capsys, tmp_path, monkeypatch):
    assert len(printed(snippets.python(url, name, fields))) > 10
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.txt").write_text("Tom\nLily", encoding="utf-8")
    assert main(words(snippets.command(name, fields))[3:]) == 0


def test_a_key_is_asked_for_where_it_is_needed(url):
    made = [make(url, "generate", FIELDS, True) for make in (snippets.python, snippets.curl, snippets.javascript)]
    assert all("X-API-Key" in code and snippets.KEY in code for code in made)
