"""`python app.py`: where it listens, and whether it would work."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from playground import __version__
from playground.denoisers import zoo
from playground.ui import serve

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def busy():
    """A port that something listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def said(capsys, arguments) -> str:
    with pytest.raises(SystemExit) as end:
        serve.options(arguments)
    return f"{end.value.code}{capsys.readouterr().out}"


def test_it_listens_on_this_machine_alone_unless_told(monkeypatch):
    assert serve.options(["--port", "auto"]).host == "127.0.0.1"
    monkeypatch.setenv("GRADIO_SERVER_NAME", "0.0.0.0")
    monkeypatch.setenv("GRADIO_SERVER_PORT", "auto")
    assert vars(serve.options([])) | {"selftest": False} == {"host": "0.0.0.0", "port": None, "selftest": False}
    assert serve.options(["--host", "localhost"]).host == "localhost"


def test_a_busy_port_is_named_and_another_way_is_offered(capsys, busy):
    assert said(capsys, ["--port", str(busy)]) == (
        f"app: port: {busy} cannot be used on 127.0.0.1 (Address already in use); "
        "stop what uses it, name another, or take --port auto."
    )


@pytest.mark.parametrize("port", ["0", "65536", "7860.5", "all"])
def test_a_port_that_is_none_is_refused(capsys, port):
    assert f"port: {port!r} is not allowed; allowed: whole numbers from 1 to 65535, or auto." in said(
        capsys, ["--port", port]
    )


def test_an_unknown_host_is_refused(capsys):
    assert "host: 'nowhere.invalid' is unknown here" in said(capsys, ["--host", "nowhere.invalid"])


def test_version_as_a_real_process():
    done = subprocess.run([sys.executable, "app.py", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n")


def test_selftest_tries_the_models_and_the_page(capsys, monkeypatch):
    monkeypatch.setattr(serve, "TRIED", serve.TRIED | {"steps": 2, "length": 8})
    lines = said(capsys, ["--selftest"]).splitlines()
    assert lines[0].startswith("0ok") and len(lines) == len(zoo.catalogue()) + 2
    assert all("ok" in line for line in lines) and lines[-1] == "ok     /health"


def test_selftest_names_what_does_not_work(capsys, monkeypatch):
    monkeypatch.setattr(serve, "_page", lambda: [])
    monkeypatch.setattr(zoo, "catalogue", lambda: {"stories-masked": "masked", "lost": "uniform"})
    texts = iter("ab")
    monkeypatch.setattr(serve, "record", lambda recipe: [Ended(next(texts))])
    lines = said(capsys, ["--selftest"]).splitlines()
    assert lines[0].startswith("1FAILED stories-masked, ") and "two texts of one seed differ: 'a' and 'b'" in lines[0]
    assert lines[1].startswith("FAILED lost: ")


def test_selftest_without_models_says_so(capsys, monkeypatch):
    monkeypatch.setattr(zoo, "catalogue", dict)
    lines = said(capsys, ["--selftest"]).splitlines()
    assert lines[0].startswith("1FAILED models: there is none in") and lines[1].startswith("FAILED server: ")


class Ended:
    def __init__(self, text):
        self.text, self.end = text, {"status": "finished"}


def test_health_is_checked_for_what_it_says():
    assert serve._is_healthy(json.dumps({"status": "ok", "models": zoo.catalogue()}).encode())
    assert not serve._is_healthy(b'{"status": "ok", "models": {}}')
