"""A small part of the campaign against folders of models, and that it can fail."""

import numpy as np
import pytest

from campaign import models
from campaign._process import CrashError
from campaign._tally import Outcome


@pytest.fixture
def only_linear(monkeypatch):
    monkeypatch.setattr(models, "MODELS", {"linear": models.MODELS["linear"]})


def test_nothing_that_must_not_be(only_linear, tmp_path):
    tally = models.run(np.random.default_rng(0), 60, tmp_path)
    assert tally.failures == []
    assert tally.n_tried == 60
    assert tally.counts[Outcome.REFUSED] > 30


class Answers:
    """A worker that answers, or raises, what it was given."""

    def __init__(self, answer):
        self.answer = answer

    def call(self, *_, limit):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


RIGHT = np.array([[0.25, 0.75]])


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (RIGHT, Outcome.ANSWERED),
        (1.0 - RIGHT, Outcome.WRONG),
        (np.full((1, 2), np.nan), Outcome.WRONG),
        (ValueError("one line"), Outcome.REFUSED),
        (ValueError("two\nlines"), Outcome.TRACEBACK),
        (KeyError("classes"), Outcome.TRACEBACK),
        (CrashError("the process ended"), Outcome.TRACEBACK),
    ],
)
def test_it_can_fail(answer, outcome, tmp_path):
    assert models.judge(Answers(answer), tmp_path, "linear", RIGHT)[0] == outcome
