"""Who is let in: the API's key, the rate of a visitor, and who a visitor is."""

from types import SimpleNamespace

import gradio as gr
import pytest

from playground.interfaces import access
from playground.interfaces.access import MOST_VISITORS, Buckets, admit, admitted, visitor


def request(address="10.0.0.1", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(headers=named, client=SimpleNamespace(host=address))


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(access, "BUCKETS", Buckets())


def test_a_bucket_holds_a_minute_s_runs_and_fills_again():
    now = [0.0]
    buckets = Buckets(clock=lambda: now[0])
    assert [buckets.wait("a", 3) for _ in range(4)] == [0, 0, 0, 20.0]
    assert buckets.wait("b", 3) == 0
    now[0] = 19.0
    assert buckets.wait("a", 3) == pytest.approx(1.0)
    now[0] = 20.5
    assert buckets.wait("a", 3) == 0
    now[0] = 1e6
    assert [buckets.wait("a", 3) for _ in range(4)][3] > 0  # never more than a minute's


def test_only_so_many_visitors_are_remembered():
    buckets = Buckets()
    for i in range(MOST_VISITORS + 5):
        buckets.wait(str(i), 3)
    assert len(buckets.found) == MOST_VISITORS and "4" not in buckets.found


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        ("0", "6.6.6.6", "10.0.0.1"), ("1", "6.6.6.6, 7.7.7.7", "7.7.7.7"), ("2", "6.6.6.6, 7.7.7.7", "6.6.6.6"),
        ("2", "7.7.7.7", "10.0.0.1"), ("1", "", "10.0.0.1"),
    ],
)  # fmt: skip
def test_a_visitor_is_who_the_last_trusted_proxy_saw(monkeypatch, proxies, forwarded, expected):
    monkeypatch.setenv("PLAYGROUND_PROXIES", proxies)
    assert visitor(request(x_forwarded_for=forwarded)) == expected


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, "X-API-Key: is missing"), ({"x_api_key": "wrong"}, "X-API-Key: is wrong"),
        ({"authorization": "Basic s3cret"}, "X-API-Key: is missing"), ({"x_api_key": "ключ"}, "X-API-Key: is wrong"),
    ],
)  # fmt: skip
def test_a_program_without_the_key_is_sent_away(monkeypatch, headers, sentence):
    monkeypatch.setenv("PLAYGROUND_API_KEY", "s3cret")
    with pytest.raises(gr.Error) as refused:
        admit(request(**headers), by_program=True)
    assert refused.value.message.startswith(sentence) and "s3cret" not in refused.value.message
    admit(request(**headers), by_program=False)  # the page needs none


@pytest.mark.parametrize("headers", [{"x_api_key": "s3cret"}, {"authorization": "Bearer s3cret"}])
def test_the_key_opens(monkeypatch, headers):
    monkeypatch.setenv("PLAYGROUND_API_KEY", "s3cret")
    admit(request(**headers), by_program=True)


def test_a_rate_is_a_sentence_and_each_visitor_s_own(monkeypatch):
    monkeypatch.setenv("PLAYGROUND_RATE", "2")
    gate = admitted(lambda: "ran")
    assert [gate(request()), gate(request())] == ["ran", "ran"]
    with pytest.raises(gr.Error) as refused:
        gate(request())
    assert refused.value.message == "rate: more than 2 runs a minute; allowed again in 30 s."
    assert gate(request("10.0.0.2")) == "ran" and gate(None) == "ran"


def test_a_generator_stays_one():
    def run(x):
        yield x
        yield x + 1

    assert list(admitted(run)(request(), 1)) == [1, 2]
