"""Ctrl-C in a comparison: the splits that are done are kept."""

import numpy as np
import pytest

import metricfit as mf
from metricfit._progress import Progress
from metricfit.comparison import InterruptedComparison

OPTIONS = {"models": ["linear"], "methods": ["threshold"], "n_splits": 3, "n_repeats": 2}


class StopAt(Progress):
    """Ctrl-C when split ``number`` ends."""

    def __init__(self, number):
        self.number = number

    def split_done(self, n_done, n_splits, n_jobs=1):
        if n_done == self.number:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def data():
    features = np.random.default_rng(0).normal(size=(90, 2))
    return features, np.where(features[:, 0] + 0.5 * features[:, 1] > 0.3, "yes", "no")


@pytest.fixture(scope="module")
def whole(data):
    return mf.compare(*data, "accuracy", **OPTIONS)


@pytest.mark.parametrize(("n_done", "n_held_out"), [(1, 30), (2, 60), (3, 90), (5, 90)])
def test_the_finished_splits_are_those_of_the_whole_comparison(data, whole, n_done, n_held_out):
    with pytest.raises(InterruptedComparison, match=f"^Interrupted after {n_done} of 6 splits$") as caught:
        mf.compare(*data, "accuracy", **OPTIONS, progress=StopAt(n_done + 1))
    partial = caught.value.partial
    for name, result in partial.results.items():
        assert result.scores == whole.results[name].scores[:n_done]
        assert len(result.held_out.scores) == len(partial.labels) == n_held_out
    assert partial.evaluation == f"3-fold cross-validation, 2 repeats, partial: {n_done} of 6 splits"
    assert partial.reference.estimate.known == (n_done >= 5)
    assert (partial.verdict.answer == "none") == (n_done < 5)
    assert f"partial: {n_done} of 6 splits" in str(partial.as_json())


def test_it_is_a_keyboard_interrupt_also_before_the_first_split_is_done(data):
    assert issubclass(InterruptedComparison, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        mf.compare(*data, "accuracy", **OPTIONS, progress=StopAt(1))
    assert type(caught.value) is KeyboardInterrupt
