"""`python -m playground export`: pages, tables and a site that work without a server, whatever a trace says."""

import functools
import http.server
import json
import threading
from pathlib import Path

import pytest

from playground.interfaces import player
from playground.interfaces.cli import main

EXAMPLE = player.ASSETS / "examples" / "continuous.json"
HOSTILE = "<img src=x onerror=alert(1)> </script><script>alert(1)</script><!-- ${alert(1)} {{js}} \u2028 \ud800"


@pytest.fixture(scope="module")
def trace():
    return json.loads(EXAMPLE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def hostile(trace, tmp_path_factory):
    """A trace file whose every text is an attack."""
    head = trace["head"] | {"recipe": trace["head"]["recipe"] | {"prompt": HOSTILE, "pins": {HOSTILE: HOSTILE}}}
    head |= {"note": HOSTILE, "model": head["model"] | {"name": HOSTILE}, "rows": [{"seed": HOSTILE}]}
    frames = [{**f, "rows": [row | {"p": [HOSTILE] * len(row["p"])} for row in f["rows"]]} for f in trace["frames"]]
    path = tmp_path_factory.mktemp("hostile") / "Ünsafe <b>.json"
    end = trace["end"] | {"texts": [HOSTILE], "message": HOSTILE}
    path.write_text(json.dumps(trace | {"head": head, "frames": frames, "end": end}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def site(hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert main(["export", "--site", str(folder), "--traces", str(hostile)]) == 0
    return folder


@pytest.fixture(scope="module")
def server(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def tab(chromium):
    """A tab that takes note of every request, and in which nothing may go wrong."""
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    tab, problems = context.new_page(), []
    tab.requested = []
    tab.on("request", lambda request: tab.requested.append(request.url))
    tab.on("console", lambda message: problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    yield tab
    context.close()
    assert problems == []


@pytest.mark.parametrize("place", ["server", "file"])
def test_a_visitor_opens_a_run_from_the_index_and_scrubs(place, site, server, tab):
    root = server if place == "server" else site.as_uri()
    tab.goto(f"{root}/index.html")
    assert tab.locator(".site-runs a").count() >= 4
    tab.click(".site-runs a[href='continuous.html']")
    tab.wait_for_function("window.dlmPlayer")
    tab.locator(".dlm-timeline input[type=range]").fill("7")
    tab.wait_for_function("dlmPlayer.step() === 7")
    tab.click("text=Recipe")
    assert "sde" in tab.locator(".site-recipe").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.click("text=All runs")
    tab.wait_for_selector(".site-runs a")
    assert all(url.startswith(root) for url in tab.requested), tab.requested


def test_what_a_trace_says_stays_text(site, tab):
    tab.goto(f"{site.as_uri()}/index.html")
    said = tab.locator(".site-runs strong").first.evaluate("(node) => node.textContent")
    assert said == HOSTILE.replace("\ud800", "\ufffd") or said == HOSTILE
    tab.locator(".site-runs a").first.click()
    tab.wait_for_function("window.dlmPlayer && dlmPlayer.step() !== null")
    tab.click("text=Recipe")
    tab.evaluate("dlmPlayer.goTo(99)")
    tab.wait_for_timeout(100)
    assert tab.locator("img").count() == 0 and tab.locator("script").count() == 3
    assert tab.url.endswith("nsafe-b.html")


def test_a_page_is_the_one_that_the_player_exports(trace, tab, tmp_path):
    page = tmp_path / "page.html"
    assert main(["export", str(EXAMPLE), "--to", str(page)]) == 0
    tab.goto(page.as_uri())
    ours, theirs = (_apart(text) for text in (page.read_text(encoding="utf-8"), tab.evaluate("dlmPlayer.page()")))
    assert ours[0] == theirs[0] and ours[1]["trace"] == theirs[1]["trace"] == trace
    assert main(["export", str(EXAMPLE), "--to", str(tmp_path / "run.csv")]) == 0
    assert (tmp_path / "run.csv").read_bytes().decode() == tab.evaluate("dlmPlayer.csv()")


def _apart(page: str) -> tuple[list[str], dict]:
    """A page around its data, and the data."""
    before, rest = page.split('id="dlm-data">', 1)
    data, after = rest.split("</script>", 1)
    return [before, after], json.loads(data)


def test_json_is_the_trace_again(trace, tmp_path):
    assert main(["export", str(EXAMPLE), "--to", str(tmp_path / "run.json")]) == 0
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8")) == trace


def test_a_race_is_a_page_for_each_lane_and_names_do_not_clash(tmp_path):
    race = player.ASSETS / "examples" / "race.json"
    assert main(["export", "--site", str(tmp_path / "a"), "--traces", str(race), str(EXAMPLE), str(EXAMPLE)]) == 0
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert {"race-stories-masked.html", "race-stories-masked-2.html", "continuous-3.html"} <= names
    assert "sdk: static\napp_file: index.html" in (tmp_path / "a" / "README.md").read_text(encoding="utf-8")


def test_an_earlier_export_is_replaced_and_nothing_else_is(capsys, site, tmp_path):
    folder = tmp_path / "mine"
    for traces in (["--traces", str(EXAMPLE)], []):
        assert main(["export", "--site", str(folder), *traces]) == 0
    assert not (folder / "continuous-2.html").exists()
    (folder / "notes.txt").write_text("mine")
    assert main(["export", "--site", str(folder)]) == 2
    assert "holds 'notes.txt', which no export wrote; allowed: a new or empty folder" in capsys.readouterr().err
    assert main(["export", "--site", str(folder / "notes.txt")]) == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "This file is not a trace"),
        ("[" * 100_000, "This file is not a trace"),
        ('{"format": "diffusion-lm-playground/race", "lanes": [3], "vocabulary": []}', "This file is not a trace"),
    ],
)
def test_a_wrong_file_is_a_sentence(capsys, tmp_path, text, sentence):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    for arguments in ([str(path), "--to", str(tmp_path / "a.html")], ["--site", str(tmp_path / "s"), "--traces", path]):
        assert main(["export", *map(str, arguments)]) == 2
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists() and not (tmp_path / "s").exists()


@pytest.mark.parametrize(("change", "ending"), [({"c": [float("nan")] * 64}, "html"), ({"h": ["x"] * 64}, "csv")])
def test_damaged_cells_are_a_sentence(capsys, trace, tmp_path, change, ending):
    frames = [{**trace["frames"][0], "rows": [trace["frames"][0]["rows"][0] | change]}]
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(trace | {"frames": frames}))
    assert main(["export", str(path), "--to", str(tmp_path / f"a.{ending}")]) == 2
    assert "playground: trace: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "neither a trace nor --site is given"),
        (["a.json", "--site", "b"], "a trace and --site are both given"),
        (["a.json"], "to: is not given; allowed: a file that ends in .html, .csv, .json."),
        (["a.json", "--to", "run.gif"], "pictures are made on the page"),
        (["a.json", "--to", "run"], "to: 'run' has another ending"),
        (["missing.json", "--to", "run.csv"], "trace: 'missing.json' cannot be read (No such file or directory)."),
        (["--site", "b", "--to", "c.html"], "to: 'c.html' is for one TRACE"),
        (["--site", "b", "--traces", "missing.json"], "traces: 'missing.json' cannot be read"),
        (["a.json", "--to", "b.csv", "--traces", "c.json"], "traces: is for --site"),
    ],
)
def test_wrong_arguments_are_a_sentence(capsys, arguments, sentence):
    assert main(["export", *arguments]) == 2
    assert sentence in capsys.readouterr().err and not Path("b").exists()
