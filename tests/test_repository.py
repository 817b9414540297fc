"""What the repository promises about itself."""

import re
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]


def front_matter() -> dict[str, str]:
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("---")[1]
    return dict(line.split(": ", 1) for line in block.strip().splitlines())


def test_spaces_runs_the_gradio_that_is_pinned():
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert f"gradio=={front_matter()['sdk_version']}\n" in requirements
    assert (ROOT / front_matter()["app_file"]).is_file()


def test_every_requirement_is_pinned():
    found = sorted(ROOT.glob("requirements*.txt"))
    assert len(found) == 5
    for path in found:
        for line in path.read_text(encoding="utf-8").splitlines():
            assert line.startswith(("#", "-r ")) or re.fullmatch(r"[\w.-]+==[\w.]+", line), line


def test_lower_rooms_do_not_know_the_page():
    for path in (ROOT / "playground").rglob("*.py"):
        below = not {"ui", "interfaces"} & set(path.relative_to(ROOT).parts)
        text = path.read_text(encoding="utf-8")
        if below:
            assert "gradio" not in text and "plotly" not in text, path
            assert ("playground.ui" not in text and not re.search(r"^from playground.interfaces", text, re.M)) or (
                path.name == "__main__.py"
            ), path


def test_samplers_and_denoisers_stand_at_the_bottom():
    for room in ("samplers", "denoisers"):
        for path in (ROOT / "playground" / room).glob("*.py"):
            imported = re.findall(r"^from playground\.(\w+)", path.read_text(encoding="utf-8"), re.M)
            assert set(imported) <= {"samplers", "denoisers", "text", "schedules", "memory"}, path


def test_the_python_version_is_the_one_on_spaces():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    minimum = project["tool"]["ruff"]["target-version"]
    assert tuple(map(int, re.findall(r"\d+", front_matter()["python_version"]))) >= (3, int(minimum[3:]))
