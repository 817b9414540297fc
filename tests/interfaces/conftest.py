"""A server as a user starts it: `python app.py`, a process of its own, and the lines of its log."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]


class Server:
    """`python app.py` on a free port, with what it writes kept in a folder."""

    def __init__(self, folder: Path, **settings: str):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.written = folder / "stderr"
        environment = os.environ | {"PLAYGROUND_LOG": "info"} | settings
        with self.written.open("wb") as errors, (folder / "stdout").open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "app.py", "--port", str(self.port)],
                cwd=ROOT,
                env=environment,
                stdout=out,
                stderr=errors,
            )
        self.wait_for(self._answers, 120)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.written.read_text()
        try:
            return httpx.get(f"{self.url}/health", timeout=10).is_success
        except httpx.TransportError:
            return False

    def log(self, event: str = "") -> list[dict]:
        """The lines of JSON so far, of one event or of all."""
        *lines, _ = self.written.read_text().split("\n")  # the last one may not be complete
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in found if line["event"] == event or not event]

    def wait_for(self, condition, seconds: float = 10):
        """What `condition` gives, as soon as it is something."""
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, f"not within {seconds} s; the log: {self.written.read_text()[-2000:]}"
            time.sleep(0.01)
        return found

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Start a server with settings; it is stopped when the module is done."""
    started = []

    def start(**settings: str) -> Server:
        started.append(Server(tmp_path_factory.mktemp("server"), **settings))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def client(server):
    """Requests to the server of a module, which says how it is started."""
    with httpx.Client(base_url=server.url, timeout=60) as connected:
        yield connected
