"""The player in a real browser: what it draws, how it is driven, what it exports."""

import csv
import functools
import io
import json
from pathlib import Path

import pytest
from traces import HOSTILE, make_trace, messages

ASSETS = Path(__file__).parents[2] / "assets" / "player"
MOUNT = """([js, css]) => {
    const build = new Function(js + "\\nreturn createPlayer;")();
    const mark = (name) => (value) => (window[name] = value);
    window.player = build(document.getElementById("root"), {
        css, source: { js, css }, live: true, onPin: mark("pinned"), onUnpin: mark("unpinned"), onLive: mark("live"),
    });
}"""
SETTLE = """async () => {
  // Until nothing moves: the live view shows each frame for a moment, and drawing waits for the display.
  for (let still = 0, before = null; still < 2; ) {
    await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 45));
    const { step } = window.player || window.dlmPlayer;
    still = step() === before ? still + 1 : 0;
    before = step();
  }
}"""


@functools.cache
def source():
    names = (ASSETS / "order.txt").read_text().split()
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


@functools.cache
def style():
    return (ASSETS / "player.css").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tab(chromium):
    tab = chromium.new_page()
    tab.set_default_timeout(5000)
    tab.problems = []
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on("dialog", lambda dialog: (tab.problems.append(dialog.message), dialog.dismiss()))
    yield tab
    tab.close()


@pytest.fixture
def page(tab):
    """A new document in the tab, with a player in it."""
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.goto("about:blank")
    tab.set_content("<!doctype html><body><div id=root style='max-width:880px'></div></body>")
    tab.problems.clear()
    tab.evaluate(MOUNT, [source(), style()])
    yield tab
    assert not tab.problems


def push(page, trace, run="a", only=None):
    sent = [json.dumps(message) for message in messages(trace, run)][only or slice(None)]
    page.evaluate("(messages) => messages.forEach((message) => player.push(message))", sent)
    page.evaluate(SETTLE)


def load(page, trace):
    page.evaluate("(trace) => player.load(trace)", trace)
    page.evaluate(SETTLE)


def drawn(page, row=0):
    return page.locator(".dlm-line").nth(row).evaluate("(line) => line.textContent")


def step(page):
    page.evaluate(SETTLE)
    return page.evaluate("() => player.step()")


def cells(page):
    return page.locator(".dlm-text .dlm-cell")


def test_messages_draw_the_text_of_every_row(page):
    trace = make_trace(rows=3)
    push(page, trace)
    assert [drawn(page, row) for row in range(3)] == trace["end"]["texts"]
    assert page.locator(".dlm-count").inner_text() == "step 32 / 32"
    assert "seeds 7, 8, 9" in page.locator(".dlm-meter").inner_text()


def test_a_direction_override_does_not_turn_the_text_after_it(page):
    trace = make_trace("masked")
    for frame in trace["frames"]:
        frame["rows"][0]["p"][2] = "\u202e"
    page.evaluate("(trace) => player.load(trace)", trace)
    page.evaluate("() => player.goTo(32)")
    page.evaluate(SETTLE)
    lefts = page.evaluate("""() => [...document.querySelectorAll(".dlm-cell")].slice(5, 8).flatMap((cell) => {
      const range = document.createRange(), text = cell.firstChild;
      return [...text.data].map((_, i) => {
        range.setStart(text, i);
        range.setEnd(text, i + 1);
        return range.getBoundingClientRect().x;
      });
    })""")
    assert len(lefts) > 6 and lefts == sorted(lefts)


def test_last_message_alone_is_complete(page):
    trace = make_trace("masked")
    push(page, trace, only=slice(-1, None))
    assert drawn(page) == trace["end"]["texts"][0]
    assert "tokens/s" in page.locator(".dlm-meter").inner_text()


def test_repeated_missing_and_broken_messages(page):
    trace = make_trace()
    for text in ("", "not json", "{}", "null"):
        page.evaluate("(text) => player.push(text)", text)
    push(page, trace, only=slice(0, 20, 3))
    push(page, trace, only=slice(6, 12))
    push(page, trace, only=slice(-1, None))
    push(page, trace, only=slice(-1, None))
    assert drawn(page) == trace["end"]["texts"][0]
    steps = page.evaluate("() => player.trace().frames.map((frame) => frame.s)")
    assert steps == sorted(set(steps))


def test_view_follows_the_newest_frame_until_scrubbed(page):
    trace = make_trace()
    push(page, trace, only=slice(0, 10))
    assert step(page) == 9
    page.evaluate("() => player.goTo(4)")
    push(page, trace, only=slice(10, 14))
    assert step(page) == 4
    page.locator(".dlm-live").click()
    assert step(page) == 13
    push(page, trace, only=slice(14, None))
    assert step(page) == 32 and page.locator(".dlm-live").is_hidden()


def test_scrubbing_draws_that_step(page):
    trace = make_trace()
    load(page, trace)
    page.locator(".dlm-range").fill("9")
    assert step(page) == 9
    assert drawn(page) == "".join(p for p in trace["frames"][9]["rows"][0]["p"] if isinstance(p, str))
    box = page.locator(".dlm-heatmap canvas").bounding_box()
    page.mouse.click(box["x"] + 50, box["y"] + box["height"] * 20.5 / 33)
    assert step(page) == 20


def test_keys_drive_the_timeline_only_from_the_player(page):
    load(page, make_trace())
    page.locator(".dlm-player").focus()
    for key, expected in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 32)):
        page.keyboard.press(key)
        assert step(page) == expected
    page.locator(".dlm-speed").focus()
    page.keyboard.press("Home")
    assert step(page) == 32
    page.locator(".dlm-player").focus()
    page.keyboard.press("Space")
    page.evaluate(SETTLE)
    assert page.locator(".dlm-go-play").get_attribute("aria-label") == "Pause"
    page.keyboard.press("Space")
    assert step(page) < 32


def test_space_holds_and_resumes_a_live_run(page):
    trace = make_trace()
    push(page, trace, only=slice(0, 10))
    play = page.locator(".dlm-go-play")
    assert play.get_attribute("aria-label") == "Pause"
    page.locator(".dlm-player").focus()
    page.keyboard.press("Space")
    push(page, trace, only=slice(10, 20))
    assert step(page) == 9 and play.get_attribute("aria-label") == "Play"
    page.keyboard.press("Space")
    assert step(page) == 19 and play.get_attribute("aria-label") == "Pause"
    push(page, trace, only=slice(20, None))
    assert step(page) == 32 and play.get_attribute("aria-label") == "Play"


def test_the_host_hears_when_steps_come_and_when_the_last_is_shown(page):
    trace = make_trace()
    push(page, trace, only=slice(0, 10))
    assert page.evaluate("() => live") is True
    push(page, trace, only=slice(10, None))
    assert page.evaluate("() => live") is False


def test_a_new_pin_marks_what_it_changed(page):
    first, second = make_trace(steps=8), make_trace(steps=8)
    second["head"] = {**second["head"], "recipe": {**second["head"]["recipe"], "pins": {"20": "dog"}}}
    last = second["frames"][-1]["rows"][0]
    last["st"] = last["st"][:20] + "p" + last["st"][21:]
    for position in (20, 30):
        last["id"][position], last["p"][position] = 9, second["head"]["vocabulary"][9]
    push(page, first, run="first")
    assert page.locator(".dlm-text .dlm-differs").count() == 0
    push(page, second, run="second")
    marked = page.locator(".dlm-text .dlm-differs")
    assert [cell.get_attribute("data-position") for cell in marked.all()] == ["30"]
    assert page.locator(".dlm-note").inner_text() == "Your pin changed 1 other word (dotted)."
    push(page, first, run="third")
    push(page, make_trace(steps=8, seed=8), run="fourth")
    assert page.locator(".dlm-text .dlm-differs").count() == 0


def test_a_draft_is_not_called_settled_before_the_end(page):
    trace = make_trace()
    push(page, trace, only=slice(0, 20))
    states = trace["frames"][19]["rows"][0]["st"]
    settled = page.locator(".dlm-card-table dd").nth(2)
    cells(page).nth(states.index("d")).click()
    assert settled.inner_text() == "not yet"
    cells(page).nth(states.index("c")).click()
    assert settled.inner_text().startswith("at step")


def test_the_end_is_announced_with_the_last_step(page):
    trace = make_trace()
    for message in messages(trace):
        page.evaluate("(message) => player.push(message)", json.dumps(message))
    page.wait_for_function("() => document.querySelector('.dlm-spoken').textContent.includes('Finished')")
    assert page.locator(".dlm-spoken").inner_text() == "Step 32 of 32, 100 percent settled. Finished."


def test_nothing_readable_follows_the_end_mark(page):
    trace = make_trace(length=80)
    row = trace["frames"][-1]["rows"][0]
    end = row["p"].index(2)
    row["p"][end + 1], row["id"][end + 1] = " ghost", 9
    load(page, trace)
    assert "ghost" not in drawn(page)
    assert cells(page).nth(end + 1).evaluate("(cell) => cell.matches('.dlm-pad')")


def test_samples_are_copied_together(page):
    trace = make_trace(rows=2)
    load(page, trace)
    assert page.locator(".dlm-copy").inner_text() == "Copy 2 texts"
    page.locator(".dlm-copy").click()
    copied = page.locator(".dlm-copy-fallback textarea").input_value()  # this page may not use the clipboard
    assert copied == "\n\n".join(trace["end"]["texts"])


def kept(page, slim=False):
    return page.evaluate("(slim) => player.kept(slim)", slim)


def test_a_run_of_the_visitors_is_kept_for_a_page_that_is_loaded_anew(page):
    trace = make_trace(rows=2)
    load(page, trace)
    assert kept(page) is None  # a recorded one
    push(page, trace)
    assert kept(page) == page.evaluate("() => player.trace()") and kept(page)["end"]["status"] == "finished"
    assert [frame["s"] for frame in kept(page, slim=True)["frames"]] == [32]

    push(page, trace, run="b", only=slice(0, 9))
    whole = kept(page)
    assert (whole["end"]["status"], len(whole["frames"])) == ("stopped", 9)
    page.evaluate("(trace) => player.load(trace, {kept: true})", whole)
    assert (
        step(page) == 8
        and kept(page) == whole
        and "Stopped at step 8 of 32." in page.locator(".dlm-status").inner_text()
    )

    push(page, make_trace(rows=4, length=128, steps=128), run="c")
    assert [frame["s"] for frame in kept(page)["frames"]] == [128]  # all would be too much for a browser to keep


def test_a_stopped_run_claims_no_rate(page):
    trace = make_trace()
    push(page, trace, only=slice(0, 10))
    page.evaluate("() => player.stop()")
    page.evaluate(SETTLE)
    meter = page.locator(".dlm-meter").inner_text()
    assert "tokens/s" not in meter and "ms/step" in meter


def test_playback_reaches_the_end(page):
    load(page, make_trace(steps=6))
    page.locator(".dlm-speed").select_option("4")
    page.locator(".dlm-go-play").click()
    page.wait_for_function("() => player.step() === 6 && !document.querySelector('.dlm-playing')")


def test_hostile_pieces_are_text(page):
    trace = make_trace(hostile=True)
    push(page, trace)
    assert drawn(page) == trace["end"]["texts"][0]
    assert all(piece in drawn(page) for piece in HOSTILE if isinstance(piece, str))
    assert page.locator(".dlm-player img, .dlm-player script").count() == 0
    assert page.evaluate("() => player.text(0)") == trace["end"]["texts"][0]


def test_nodes_do_not_grow_over_runs(page):
    count = "() => document.querySelectorAll('*').length"
    push(page, make_trace(rows=2, steps=3), run="first")
    before = page.evaluate(count)
    for index in range(6):
        trace = make_trace(rows=1 + index % 2, length=40 + index, steps=3, seed=index)
        push(page, trace, run=f"run {index}")
    push(page, make_trace(rows=2, steps=3), run="last")
    assert page.evaluate(count) == before


def test_settled_step_on_a_trace_made_by_hand(page):
    ids = [[9, 5, 3, 5], [9, 6, 3, 6], [9, 5, 7, 6], [9, 5, 7, 6]]
    frames = [
        {
            "s": s,
            "n": 3,
            "u": 0,
            "t": s,
            "rows": [{"id": row, "p": [3 if i == 3 else f"w{i}" for i in row], "st": "fddd"}],
        }
        for s, row in enumerate(ids)
    ]
    load(page, {"format": "diffusion-lm-playground/trace", "version": 1, "head": None, "frames": frames, "end": None})
    assert page.evaluate("() => player.settled(0)") == [0, 2, 2, 1]


def test_card_shows_candidates_and_pins(page):
    trace = make_trace()
    load(page, trace)
    page.evaluate("() => player.goTo(10)")
    row = trace["frames"][10]["rows"][0]
    position = next(i for i, known in enumerate(row["k"]) if known)
    cells(page).nth(position).click()
    card = page.locator(".dlm-card")
    assert f"position {position}" in card.inner_text() and f"token {row['id'][position]}" in card.inner_text()
    shares = card.locator(".dlm-candidate-share").all_inner_texts()
    assert shares == [f"{permille / 10:.1f} %" for permille in row["k"][position][1::2]]
    card.locator(".dlm-candidate").nth(1).click()
    assert page.evaluate("() => pinned") == {"row": 0, "position": position, "token": row["k"][position][2]}
    page.keyboard.press("Escape")
    assert card.is_hidden()


def test_hovering_opens_the_card_while_steps_are_drawn(page):
    load(page, make_trace())
    page.evaluate("() => { window.drawing = setInterval(() => player.goTo(20 + (Date.now() % 3)), 30); }")
    cells(page).nth(10).hover()
    page.wait_for_selector(".dlm-card:visible")
    page.evaluate("() => clearInterval(drawing)")


def test_one_tab_stop_and_arrow_keys_among_cells(page):
    load(page, make_trace())
    assert page.locator(".dlm-text [tabindex='0']").count() == 1
    cells(page).first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.position") == "3"
    page.keyboard.press("ArrowDown")
    assert int(page.evaluate("() => document.activeElement.dataset.position")) > 8
    assert step(page) == 32
    page.keyboard.press("Enter")
    assert page.evaluate("() => Boolean(document.activeElement.closest('.dlm-card'))")
    page.keyboard.press("Escape")
    assert page.locator(".dlm-card").is_hidden()
    assert page.evaluate("() => document.activeElement.matches('.dlm-cell')")


def test_the_tab_stop_is_the_first_free_word_and_leaving_closes_the_card(page):
    load(page, make_trace(given=5))
    page.locator(".dlm-player").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.dataset.position") == "5"
    assert page.locator(".dlm-card").is_visible()
    page.keyboard.press("Tab")
    assert page.locator(".dlm-card").is_hidden()


def test_escape_closes_card_and_menu_from_anywhere(page):
    load(page, make_trace())
    cells(page).nth(30).click()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Escape")
    assert page.locator(".dlm-card").is_hidden()
    page.locator(".dlm-menu summary").click()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Escape")
    assert page.locator(".dlm-menu").get_attribute("open") is None


def test_a_run_that_needed_fewer_steps_ends_at_its_last(page):
    trace = make_trace("masked")
    trace["frames"] = trace["frames"][:30]
    load(page, trace)
    assert page.locator(".dlm-count").inner_text() == "step 29 / 29"
    trace["end"]["status"] = "stopped"
    load(page, trace)
    assert page.locator(".dlm-status").inner_text() == "Stopped at step 29 of 32."


def test_card_is_a_sheet_inside_a_phone(page):
    page.set_viewport_size({"width": 360, "height": 740})
    load(page, make_trace())
    cells(page).nth(30).click()
    box = page.locator(".dlm-card").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360 and box["y"] + box["height"] <= 741
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_csv_keeps_every_token_exact(page):
    trace = make_trace(hostile=True, steps=4)
    load(page, trace)
    table = list(csv.DictReader(io.StringIO(page.evaluate("() => player.csv()"), newline="")))
    assert len(table) == 5 * 64
    row = trace["frames"][-1]["rows"][0]
    for line, piece, token in zip(table[-64:], row["p"], row["id"], strict=True):
        assert int(line["token_id"]) == token
        assert not isinstance(piece, str) or line["token"] == piece
    assert table[0]["state"] == "fixed" and table[0]["step"] == "0"


def test_standalone_page_plays_without_a_network(page, chromium, tmp_path):
    trace = make_trace(hostile=True, steps=6)
    load(page, trace)
    path = tmp_path / "run.html"
    path.write_text(page.evaluate("() => player.page()"), encoding="utf-8")
    context = chromium.new_context(offline=True)
    alone = context.new_page()
    problems = []
    alone.on("pageerror", lambda error: problems.append(str(error)))
    alone.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    alone.on("console", lambda message: message.type == "error" and problems.append(message.text))
    alone.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
    alone.goto(path.as_uri())
    alone.wait_for_function("() => dlmPlayer.step() === 6")
    alone.evaluate(SETTLE)
    assert drawn(alone) == trace["end"]["texts"][0]
    cells(alone).nth(30).click()
    assert alone.locator(".dlm-pin").is_hidden() and alone.locator("button.dlm-candidate").count() == 0
    assert alone.evaluate("() => dlmPlayer.page()") == path.read_text(encoding="utf-8")
    assert not problems
    context.close()


def test_picture_and_trace_downloads(page):
    load(page, make_trace())
    for name, suffix in (("save-trace", ".json"), ("save-png", ".png")):
        page.locator(".dlm-menu summary").click()
        with page.expect_download() as waiting:
            page.locator(f".dlm-{name}").click()
        assert waiting.value.suggested_filename == "stories-continuous-seed7" + suffix
        assert waiting.value.path().stat().st_size > 10_000


def test_frame_rate(page):
    trace = make_trace(length=128, steps=90)
    gaps = page.evaluate(
        """async (messages) => {
            const times = [];
            for (const message of messages) {
                player.push(message);
                times.push(await new Promise(requestAnimationFrame));
            }
            return times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
        }""",
        [json.dumps(message) for message in messages(trace)],
    )
    mean, p99 = sum(gaps) / len(gaps), gaps[int(0.99 * len(gaps))]
    print(f"\n128 cells: {1000 / mean:.0f} frames/s, p99 gap {p99:.0f} ms")
    assert mean < 100


def test_single_draws_one_sample_and_keeps_the_height_of_the_tallest(page):
    page.evaluate(MOUNT.replace("live: true,", "live: true, single: true,"), [source(), style()])
    short, tall = make_trace(rows=2), make_trace(rows=2, hostile=True, seed=3)
    trace = short | {"frames": [short["frames"][-1]], "end": None}
    trace["frames"][0]["rows"][1] = tall["frames"][-1]["rows"][0]
    load(page, trace)
    lines = page.locator("#root > :last-child .dlm-line")
    shown = "() => [...document.querySelectorAll('#root > :last-child .dlm-row')].map((row) => !row.hidden)"
    assert lines.count() == 2 and page.evaluate(shown) == [True, False]
    page.evaluate("() => player.show(1)")
    page.evaluate(SETTLE)
    assert page.evaluate(shown) == [False, True]
    height = page.locator("#root > :last-child .dlm-text").bounding_box()["height"]
    page.evaluate("() => player.show(0)")
    page.evaluate(SETTLE)
    assert page.locator("#root > :last-child .dlm-text").bounding_box()["height"] == height
    assert page.evaluate("() => player.newest(1)") == lines.nth(1).evaluate("(line) => line.textContent")


def test_a_row_on_a_path_says_how_far_it_is_and_one_seed_is_said_once(page):
    trace = make_trace(rows=3)
    for row, weight in zip(trace["head"]["rows"], (0, 0.5, 1), strict=True):
        row |= {"seed": 7, "weight": weight}
    load(page, trace)
    assert page.locator(".dlm-row-title").all_inner_texts() == ["0% of the way", "50% of the way", "100% of the way"]
    assert page.locator(".dlm-meter").inner_text().endswith("seed 7")
