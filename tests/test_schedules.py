"""Noise schedules: variance preserving, monotone, exact at the ends."""

import math
from itertools import pairwise

import plotly.graph_objects as go
import pytest
import torch
from plotly.subplots import make_subplots

from playground.schedules import NOISE_LOG_NSR, SCHEDULES, Learned, Schedule, clean_log_nsr, schedule_for

LEVELS = [k / 50 for k in range(51)]
NAMES = ["learned", "linear", "cosine", "sigmoid", "sqrt"]
MADE = {
    **{name: SCHEDULES[name]() for name in NAMES},
    **{f"{name} to -8": SCHEDULES[name](-8.0, 9.0) for name in NAMES if name != "learned"},
    "learned, low and wide": Learned(-2.0, 1.0, 2.5),
}


@pytest.fixture(params=MADE.values(), ids=MADE.keys())
def schedule(request) -> Schedule:
    return request.param


def test_the_schedules_are_the_documented_ones():
    assert list(SCHEDULES) == NAMES
    assert all(cls.name == name for name, cls in SCHEDULES.items())


def test_signal_and_noise_variance_sum_to_one(schedule):
    for u in LEVELS:
        assert schedule.alpha(u) ** 2 + schedule.sigma(u) ** 2 == pytest.approx(1, abs=1e-12)


def test_log_snr_is_the_log_of_the_variance_ratio(schedule):
    for u in LEVELS:
        assert schedule.log_snr(u) == -schedule.log_nsr(u)
        ratio = math.log(schedule.alpha(u) ** 2 / schedule.sigma(u) ** 2)
        assert schedule.log_snr(u) == pytest.approx(ratio, abs=1e-9)


def test_noise_rises_with_u(schedule):
    levels = [schedule.log_nsr(u) for u in LEVELS]
    assert levels == sorted(levels)
    assert all(a < b for a, b in pairwise(levels[1:-1]))


def test_the_ends_are_the_clean_and_the_noisy_level(schedule):
    assert schedule.log_nsr(0) == pytest.approx(schedule.clean, abs=1e-6)
    assert schedule.log_nsr(1) == pytest.approx(schedule.noise, abs=1e-6)
    assert schedule.clean < schedule.noise


@pytest.mark.parametrize("name", NAMES)
def test_signal_falls_from_one_to_zero_and_time_inverts_it(name):
    schedule = SCHEDULES[name]()
    assert schedule.signal(0) == 1 and schedule.signal(1) == pytest.approx(0, abs=1e-15)
    for t in LEVELS:
        assert schedule.time(schedule.signal(t)) == pytest.approx(t, abs=1e-7)


@pytest.mark.parametrize(
    ("name", "t", "signal"),
    [
        ("linear", 0.25, 0.75),
        ("cosine", 0.5, 0.5),
        ("cosine", 1 / 3, 0.75),  # cos^2(30 degrees)
        ("sigmoid", 0.5, 0.5),
        ("sigmoid", 0.25, 0.85085),  # (0.952574 - 0.182426) / (0.952574 - 0.047426)
        ("sqrt", 0.25, 0.5),
        ("learned", 0.25, 0.75),
    ],
)
def test_signal_by_hand(name, t, signal):
    assert SCHEDULES[name]().signal(t) == pytest.approx(signal, abs=5e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_mask_rate_rises_from_exactly_zero_to_exactly_one(name):
    rates = [SCHEDULES[name]().mask_rate(u) for u in LEVELS]
    assert rates[0] == 0 and rates[-1] == 1
    assert all(a < b for a, b in pairwise(rates))


def test_every_cell_is_masked_by_the_linear_schedule_in_proportion():
    assert SCHEDULES["linear"]().mask_rate(0.3) == pytest.approx(0.3)
    assert SCHEDULES["learned"]().mask_rate(0.3) == pytest.approx(0.3)


def test_the_clean_level_by_hand():
    # C = sqrt(2 ln(2 * 4095 / 0.1)) = sqrt(2 * 11.3133) = 4.7567; C / sqrt(128) = 0.42044; -2 ln 0.42044 = 1.7329
    assert clean_log_nsr(4096, 128) == pytest.approx(1.7329, abs=2e-4)
    assert clean_log_nsr(4096, 512) == pytest.approx(1.7329 + math.log(4), abs=2e-4)


@pytest.mark.parametrize(("clean", "loc", "scale"), [(1.73, 3.0, 1.0), (1.73, 2.93, 0.85), (0.0, 4.0, 0.5)])
def test_the_learned_schedule_is_the_quantile_of_a_gumbel(clean, loc, scale):
    schedule = Learned(clean, loc, scale)

    def cdf(g: float) -> float:
        return math.exp(-math.exp(-(g - loc) / scale))

    least = max(cdf(clean), 1e-6)
    for u in LEVELS[1:]:
        assert cdf(schedule.log_nsr(u)) == pytest.approx(least + (1 - 1e-4 - least) * u, abs=1e-9)


def test_the_median_of_the_learned_schedule_by_hand():
    # nothing is cut off at the clean end, so u = 0.5 / (1 - 1e-4) is the median: loc - scale ln(ln 2)
    schedule = Learned(-30.0, 3.0, 1.0)
    assert schedule.log_nsr((0.5 - 1e-6) / (1 - 1e-4 - 1e-6)) == pytest.approx(3 + 0.366513, abs=1e-5)


class FakeDenoiser:
    """As much of a denoiser as a schedule asks about."""

    vocab_size, embedding_width = 4096, 128

    def __init__(self, family: str, loc: float = 3.0, scale: float = 0.85):
        self.family = family
        self.schedule_loc, self.schedule_log_scale = torch.tensor(loc), torch.tensor(math.log(scale))


@pytest.mark.parametrize("name", NAMES)
def test_a_continuous_denoiser_gets_the_range_it_was_trained_on(name):
    schedule = schedule_for(name, FakeDenoiser("continuous"))
    assert schedule.name == name
    assert schedule.log_nsr(0) == pytest.approx(1.7329, abs=2e-4)
    # the Gumbel quantile at 1 - 1e-4: 3 - 0.85 ln(-ln 0.9999) = 3 + 0.85 * 9.21029
    assert schedule.log_nsr(1) == pytest.approx(10.8287, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_masked_denoiser_gets_the_whole_schedule(name):
    schedule = schedule_for(name, FakeDenoiser("masked"))
    assert schedule.name == name and schedule.mask_rate(0) == 0 and schedule.mask_rate(1) == 1


def test_without_a_limit_the_noise_ends_where_nothing_is_left_to_see():
    assert SCHEDULES["linear"]().log_nsr(1) == pytest.approx(NOISE_LOG_NSR, abs=1e-6)


def test_all_schedules_can_be_drawn(tmp_path):
    """One picture a person can open: signal, noise and log-SNR of every schedule over a run."""
    figure = make_subplots(rows=1, cols=3, subplot_titles=("alpha", "sigma", "log-SNR"))
    for name in NAMES:
        schedule = SCHEDULES[name]()
        for column, curve in enumerate((schedule.alpha, schedule.sigma, schedule.log_snr), start=1):
            figure.add_trace(go.Scatter(x=LEVELS, y=[curve(u) for u in LEVELS], name=name), row=1, col=column)
    path = tmp_path / "schedules.html"
    figure.write_html(path, include_plotlyjs="cdn")

    assert len(figure.data) == 15
    assert all(len(trace.y) == len(LEVELS) and all(map(math.isfinite, trace.y)) for trace in figure.data)
    assert len({tuple(round(y, 3) for y in trace.y) for trace in figure.data}) == 15  # no two curves are the same
    page = path.read_text(encoding="utf-8")
    assert all(page.count(f'"name":"{name}"') == 3 for name in NAMES)
