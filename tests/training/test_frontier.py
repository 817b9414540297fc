"""Where on a temperature sweep texts are as diverse as real ones."""

import pytest

from playground.quality import Quality
from playground.training.frontier import frontier, match


def point(temperature, perplexity, distinct_2, entropy):
    return {"temperature": temperature, "perplexity": perplexity, "distinct_2": distinct_2, "entropy": entropy}


RISING = [point(0.6, 10, 0.2, 3.0), point(0.8, 20, 0.4, 3.2), point(1.0, 40, 0.6, 3.3)]
REAL = Quality(9, 0, 15.0, 3.5, 0.1, 0.5, 0.0, 0.5, 1.0)


def test_the_later_of_the_two_crossings_is_taken():
    assert match(RISING, 0.3, 2.0) == pytest.approx(point(0.7, 15, 0.3, 3.1))
    assert match(RISING, 0.3, 3.25) == pytest.approx(point(0.9, 30, 0.5, 3.25))


def test_a_floor_that_is_met_at_a_measured_point():
    assert match(RISING, 0.4, 3.2) == pytest.approx(RISING[1])
    assert match(RISING, 0.1, 1.0) == RISING[0]
    assert match(RISING, 0.6, 3.3) == pytest.approx(RISING[2])


def test_floors_that_no_temperature_meets():
    assert match(RISING, 0.7, 3.0) is None and match(RISING, 0.3, 3.4) is None and match([], 0, 0) is None


def test_floors_that_are_never_met_together():
    crossing = [point(0.5, 1, 0.0, 4.0), point(1.0, 1, 1.0, 3.0)]  # distinct rises while entropy falls
    assert match(crossing, 0.6, 3.5) is None
    assert match(crossing, 0.4, 3.5) == pytest.approx(point(0.7, 1, 0.4, 3.6))


def test_the_choice_is_said_with_its_ratio_to_real():
    found = frontier([point(0.6, 10, 0.4, 3.3), point(0.8, 20, 0.5, 3.5)], REAL)
    assert found["chosen"] == pytest.approx(point(0.7, 15, 0.45, 3.4) | {"perplexity_over_real": 1.0})
    assert found["said"].startswith("Temperature 0.700 keeps 90% of the real distinct-2 and 97% of the real entropy;")
    assert found["said"].endswith("perplexity 15.00, 1.00 of real.")


def test_what_cannot_be_chosen_is_said():
    assert frontier(RISING[:1], REAL)["said"].startswith("No temperature from 0.6 to 0.6 keeps 90%")
    assert "the lowest that was measured" in frontier([point(0.6, 10, 0.9, 3.9)], REAL)["said"]
    assert frontier([point(0.6, None, 0.9, 3.9)], REAL)["chosen"] is None
