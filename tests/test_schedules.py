import pytest

from metricfit import schedules


@pytest.mark.parametrize("make", [schedules.linear, schedules.geometric, schedules.cosine])
def test_ends_hold_and_the_way_is_monotone(make):
    schedule = make(10, 0.01, 100)
    assert schedule(-5) == schedule(0) == pytest.approx(10)
    assert schedule(100) == schedule(1000) == pytest.approx(0.01)
    values = [schedule(step) for step in range(101)]
    assert values == sorted(values, reverse=True)


def test_geometric_has_equal_ratios():
    schedule = schedules.geometric(0.2, 0.2 * 0.8**5, 5)
    assert [schedule(k) for k in range(6)] == pytest.approx([0.2 * 0.8**k for k in range(6)])


def test_join_counts_each_from_its_own_start():
    schedule = schedules.join([schedules.linear(0, 1, 10), schedules.cosine(1, 0, 20), schedules.constant(0)], [10, 30])
    assert schedule(10) == pytest.approx(1)
    assert schedule(20) == pytest.approx(0.5)
    assert schedule(31) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: schedules.geometric(0, 1, 10), ValueError, "`start` should be greater than 0, got 0"),
        (lambda: schedules.linear(0, 1, 0), ValueError, "`steps` should be at least 1, got 0"),
        (lambda: schedules.constant("x"), TypeError, "`value` should be a number, got 'x'"),
        (lambda: schedules.join([schedules.constant(1)], [3]), ValueError, "one fewer than the 1 schedules"),
    ],
)
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()
