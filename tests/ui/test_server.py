"""What is put around Gradio's queue and values, and what a failure of our own looks like from outside."""

from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
from gradio.queueing import Event
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from playground import log
from playground.interfaces.guard import Guard
from playground.ui import server


@pytest.fixture
def page():
    with gr.Blocks() as built:
        number, examples = gr.Number(minimum=0), gr.Dataset(components=[gr.Textbox()], samples=[["a"]])
        number.change(lambda x: x, number)
        examples.click(lambda x: x, examples)
    built.queue()
    server.app_kwargs(built)
    return built


def test_a_message_to_a_session_that_is_gone_is_dropped(page):
    event = Event("gone", page.fns[0], None, None)
    page._queue.send_message(
        event, SimpleNamespace()
    )  # Gradio's own raises KeyError, in the loop that serves everybody
    page._queue.pending_messages_per_session["there"] = SimpleNamespace(put_nowait=(got := []).append)
    page._queue.send_message(Event("there", page.fns[0], None, None), message := SimpleNamespace())
    assert got == [message]


@pytest.mark.parametrize(
    ("event", "values"),
    [(0, []), (0, ["x"]), (0, [{}]), (1, [None]), (1, ["x"]),
     (0, [[{"path": "HTTP://example.com/", "meta": {"_type": "gradio.FileData"}}]])],
)  # fmt: skip
def test_values_that_a_component_cannot_take_are_a_sentence(page, in_a_loop, event, values):
    with pytest.raises(gr.Error) as refused:
        in_a_loop(page.preprocess_data, page.fns[event], values, None)
    assert refused.value.message == server.UNREADABLE and refused.value.print_exception is False


def test_other_values_arrive(page, in_a_loop):
    assert in_a_loop(page.preprocess_data, page.fns[0], [3], None) == [3]


async def fails(request):
    raise OSError(f"a secret at {__file__}")


async def breaks_off(request):
    async def pieces():
        yield b"data: 1\n\n"
        raise OSError("a secret")

    return StreamingResponse(pieces(), media_type=f"text/{request.path_params['kind']}")


async def refuses(request):
    return JSONResponse(
        {"error": {"sentence": "steps: 0 is out of range", "null": None}[request.path_params["kind"]]}, 500
    )


@pytest.fixture
def answer(monkeypatch, in_a_loop):
    """The answer of an application behind the guard to GET, and what was logged."""
    told = []
    monkeypatch.setattr(log, "event", lambda name, **facts: told.append(facts | {"event": name}))
    routes = [Route("/fails", fails), Route("/breaks/{kind}", breaks_off), Route("/refuses/{kind}", refuses)]
    app = Starlette(routes=routes, middleware=[Middleware(Guard)])

    async def get(path):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            return await client.get(path)

    return lambda path: (in_a_loop(get, path), told)


def test_a_failure_of_ours_is_one_and_is_logged_without_its_words(answer):
    got, (line,) = answer("/fails")
    assert got.status_code == 500 and got.json() == {"detail": "The server failed at this request; its log says where."}
    assert (line["event"], line["path"], line["error"]) == ("request failed", "/fails", "OSError")
    assert line["where"].endswith(" fails") and "secret" not in str(line)


def test_a_stream_that_fails_is_closed_and_another_answer_is_not_taken_for_complete(answer):
    got, (line,) = answer("/breaks/event-stream")
    assert got.text == "data: 1\n\n" and line["error"] == "OSError"
    with pytest.raises(ConnectionError):
        answer("/breaks/csv")


def test_a_sentence_of_an_event_is_no_failure_and_one_without_is(answer):
    got, told = answer("/refuses/sentence")
    assert (got.status_code, told) == (400, []) and got.json() == {"error": "steps: 0 is out of range"}
    got, told = answer("/refuses/null")
    assert got.status_code == 500 and [line["event"] for line in told] == ["request failed"]
    assert got.headers["x-content-type-options"] == "nosniff" and got.headers["referrer-policy"] == "same-origin"
