"""The Dockerfile, as far as it can be read without Docker."""

import json
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile, without its comments."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    joined = re.sub(r"\\\n\s*", "", "\n".join(line for line in lines if not line.startswith("#")))
    return [tuple(line.split(" ", 1)) for line in joined.splitlines() if line]


def test_every_path_that_is_copied_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = [path for name, rest in instructions() if name == "COPY" for path in rest.split()[:-1]]
    assert {"app.py", "playground", "assets", "requirements.txt"} <= set(copied)
    for path in copied:
        assert (ROOT / path).exists() and f"!{path}" in ignored, path
    assert ignored[0] == "*" and any(fnmatch("playground/__pycache__", rule) for rule in ignored[1:])


def test_what_runs_is_not_root():
    names = [name for name, _ in instructions()]
    users = [rest for name, rest in instructions() if name == "USER"]
    assert users and users[-1] not in ("root", "0") and names.index("USER") < names.index("CMD")
    created = next(rest for name, rest in instructions() if name == "RUN" and "useradd" in rest)
    assert shlex.split(created)[-1] == users[-1]


def test_it_serves_what_the_health_check_asks_for():
    found = dict(instructions())
    assert "GRADIO_SERVER_NAME=0.0.0.0" in found["ENV"]
    command = json.loads(found["HEALTHCHECK"].split("CMD ", 1)[1])
    assert command[:2] == ["python", "-c"] and "/health" in command[2] and f"'{found['EXPOSE']}'" in command[2]
    compile(command[2], "HEALTHCHECK", "exec")
    assert json.loads(found["CMD"]) == ["python", "app.py"]


def test_its_python_is_the_one_of_the_space():
    front = (ROOT / "README.md").read_text(encoding="utf-8").split("---")[1]
    version = re.search(r'python_version: "(.+)"', front)[1]
    assert dict(instructions())["FROM"] == f"python:{version}-slim"
