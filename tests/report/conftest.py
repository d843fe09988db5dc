"""Comparisons to draw: two classes with all default models, four with names that would like to be HTML, and sixteen."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from metricfit.comparison import compare
from metricfit.comparison._features import Effect
from metricfit.estimators import MetricClassifier
from metricfit.profile import ColumnProfile, TableProfile
from metricfit.report import Run, page

NASTY = np.array(["<script>alert(1)</script>", '"quoted"', "a & b", "plain"])
NASTY_COLUMNS = ["<u>a</u>", "b & c", "d" * 80, "e", "f", "g"]
RUN = Run("data <b>.csv", "the & target", "metricfit fit 'data <b>.csv'", "2026-01-01 00:00 UTC", {"Python": "3"})


PROFILE = TableProfile(
    tuple(
        ColumnProfile(name, "number", "number", 3, 400, ("<i>1</i>", "2"), "It is odd." * (name == "<u>a</u>"))
        for name in NASTY_COLUMNS
    ),
    400,
    7,
    ("A warning of the <i>profile</i>.",),
)


def bare(comparison):
    """The comparison without all that may be missing."""
    return replace(comparison, warnings=(), notes=(), order=(), effects=(), positive=None)


def annotated(comparison):
    """The comparison with all that may be missing: warnings, notes, an order of the classes, effects."""
    return replace(
        comparison,
        warnings=("<b>A warning</b> of the comparison.", "A bell \x07 and turn \u202e."),
        notes=("A note.",),
        order=("plain", "a & b"),
        effects=(Effect("b & c = <u>", NASTY[0], 1.0, 0.1), Effect("e", NASTY[3], -0.5, 0.2)),
    )


def data(n_classes, n=400):
    weights = [0.8, 0.2] if n_classes == 2 else None
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, weights=weights, class_sep=0.8, random_state=0
    )


@pytest.fixture(scope="session")
def two():
    few = {"methods": ["cross_entropy", "leaky", "direct", "auto"], "n_splits": 5, "n_repeats": 1}
    return compare(*data(2), "f1", **few, importance=True)  # five scores: there are intervals


@pytest.fixture(scope="session")
def four():
    features, target = data(4)
    own, short = {"<u>mine</u>": GaussianNB()}, {"n_splits": 2, "n_repeats": 1, "importance": True}
    table = pd.DataFrame(features, columns=NASTY_COLUMNS)
    return compare(table, NASTY[target], "f1_macro", models=own, methods=["cross_entropy", "direct"], **short)


@pytest.fixture(scope="session")
def pages(two, four, tmp_path_factory):
    """Files: two classes, four classes with a model, and so many classes that their matrix is a picture."""
    folder = tmp_path_factory.mktemp("pages")
    features, target = data(4)
    model = MetricClassifier("f1_macro", model="linear", random_state=0).fit(features, NASTY[target])
    random = np.random.default_rng(0)
    labels = np.arange(480) % 16
    options = {"models": ["linear"], "methods": ["auto"], "n_splits": 2, "n_repeats": 1, "importance": True}
    many = compare(random.normal(size=(480, 20)) + labels[:, None] % 5, labels, "accuracy", **options)
    texts = {"two": page(bare(two), RUN), "four": page(annotated(four), RUN, model, PROFILE), "many": page(bare(many), RUN)}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder
