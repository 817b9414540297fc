"""Runs at the same time, and a server that is called many times. Nothing here depends on how fast it was."""

import pytest

from playground import memory
from playground.denoisers import zoo
from playground.engine import RunError
from playground.interfaces import bench, bench_calls, bench_server, bench_soak
from playground.interfaces.bench_calls import Call
from playground.samplers import SAMPLERS


def test_runs_at_once_share_their_passes_and_write_what_they_write_one_by_one(monkeypatch):
    monkeypatch.setattr(bench_server, "LENGTH", 16)
    monkeypatch.setattr(bench_server, "STEPS", 4)
    said = []
    alone, both = bench_server.concurrency(["stories-masked"], 2, said.append, counts=(1, 2))
    assert (alone["family"], alone["runs"], both["runs"]) == ("masked", 1, 2) and len(said) == 2
    assert alone["passes"] == alone["evaluations"] == 2 * 4 and both["evaluations"] == 2 * 2 * 4
    assert 2 * 4 <= both["passes"] <= both["evaluations"]
    for row in (alone, both):
        assert row["same_texts"] and row["first_step_ms"] > 0 and row["one_by_one_first_step_ms"] > 0
        assert row["ratio"]["low"] <= row["ratio"]["median"] <= row["ratio"]["high"]
    assert "stories-masked     2" in bench.table({"concurrency": [alone, both]})


def test_a_warm_up_has_every_kind_and_every_sampler():
    warm_up = bench_calls.calls(bench_soak.WARM_UP)
    assert {call.endpoint for call in warm_up} == {
        "/generate", "/infill", "/interpolate", "/compare", "/race", "/models"
    }  # fmt: skip
    found = {(call.fields.get("model"), call.fields.get("sampler")) for call in warm_up}
    assert found >= {(name, sampler) for name, family in zoo.catalogue().items() for sampler in SAMPLERS[family]}
    assert {(call.endpoint, call.refusal) for call in warm_up if call.refusal} == {
        (endpoint, refusal) for endpoint, _, refusal in bench_calls.REFUSED
    }
    assert warm_up == bench_calls.calls(500)[: len(warm_up)]


def test_a_soak_of_a_real_server_fails_nowhere():
    found = bench_soak.soak(len(bench_calls.ROUND), warm_up=0)
    assert found["failures"] == [] and found["failed"] == 0
    assert (found["answered"], found["refused"]) == (10, 2)
    assert found["models_answers"] and found["health_answers"] and found["same_text"] and found["last_call_seconds"] > 0
    if memory.resident() is None:
        assert found["rss_mb"] is None and found["growth_percent"] is None
    else:
        assert len(found["rss_mb"]) == 1 + bench_soak.READINGS and min(found["rss_mb"]) > 100
    assert "rss_mb" in bench.table({"soak": found})


def test_what_a_call_came_to():
    wrong = Call("/generate", {"steps": 0}, "steps: 0")
    assert bench_soak._outcome(wrong, "steps: 0 is out of range") == "refused"
    assert bench_soak._outcome(wrong, "The server failed.") == "/generate {'steps': 0}: The server failed."
    assert bench_soak._outcome(wrong, {"text": "Tom"}) == "/generate {'steps': 0}: was answered"
    assert bench_soak._outcome(Call("/models", {}), []) == "answered"


def test_a_server_that_does_not_come_up_is_said(monkeypatch, tmp_path):
    (tmp_path / "app.py").write_text("raise SystemExit('app: port: 0 is not allowed.')", encoding="utf-8")
    monkeypatch.setattr(bench_soak, "ROOT", tmp_path)
    with pytest.raises(RunError, match="The server did not come up: app: port: 0 is not allowed"):
        bench_soak.soak(1)
