"""EAST's tables: published digits against each other, parts of the sets, and a training that does what its beta asks."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

import metricfit as mf
from metricfit._errors import DataError
from reproductions import _tables as tables
from reproductions._experiment import Scope
from reproductions.east_2024 import batches, beta, tabular
from reproductions.east_2024._baselines import best_sets, fit_ccs, label_probabilities
from reproductions.east_2024._beta_offsets import macro_f_beta
from reproductions.east_2024._dropout import ByteDropout
from reproductions.east_2024._filters import learn_filters
from reproductions.east_2024._predecessor import adult_with_age_codes, cocktail_party, pair_features
from reproductions.east_2024._protocol import Effort, Options, Parts, train_network
from reproductions.east_2024._sets import load_data


def test_ages_of_the_test_file_have_codes_above_all_others(data):
    """As pandas encodes a column of numbers and of the same numbers as text."""
    features, _, is_test = adult_with_age_codes(data)
    raw = tables.load("adult", data)[0]["x0"]
    mixed = pd.Series([*raw[~is_test], *raw[is_test].astype(str)], dtype=object).astype("category")
    assert features["0"].tolist() == mixed.cat.codes.tolist()
    assert features["0"][is_test].min() == features["0"][~is_test].max() + 1
    assert features.shape == (600, 13)  # without the weight
    assert is_test.tolist() == [False] * 400 + [True] * 200
    assert sorted(features["1"].unique()) == [0, 1]  # "?" and "Private"


def test_the_predecessors_reading_keeps_the_test_file(data):
    parts = load_data("adult-btg", data)
    assert [len(labels) for _, labels in (parts.train, parts.validation, parts.test)] == [320, 80, 200]
    assert parts.test[0][:, 0].min() > parts.train[0][:, 0].max()


def test_pairs_of_people(data):
    features, labels = cocktail_party(data)
    assert features.shape == (40 * 15, 22)
    assert labels.sum() == 20 * 9 + 20 * 11  # pairs of two groups, or also of somebody alone
    assert (features[0] > 0.0).all()
    assert np.allclose(features[3], -features[0])
    assert np.allclose(features[1] ** 2 + features[2] ** 2, 1.0)


def test_pair_features_do_not_depend_on_where_the_room_is():
    people, cosine, sine = np.random.default_rng(0).normal(0.0, 2.0, (6, 3)), np.cos(3.0), np.sin(3.0)
    moved = np.column_stack([people[:, :2] @ np.array([[cosine, sine], [-sine, cosine]]) + 5.0, people[:, 2] + 3.0])
    assert np.allclose(pair_features(people, 2, 4), pair_features(moved, 2, 4))


@pytest.mark.parametrize(("name", "n_rows", "n_features"), [("adult", 600, 16), ("mammography", 500, 6)])
def test_parts_are_64_16_and_20_percent_with_equal_shares_of_positives(name, n_rows, n_features, data):
    """Features are scaled by the training rows. Every split is another cut of the same rows."""
    parts, other = load_data(name, data), load_data(name, data, split=1)
    every = parts.train, parts.validation, parts.test
    assert [x.shape for x, _ in every] == [(round(share * n_rows), n_features) for share in (0.64, 0.16, 0.2)]
    shares = [labels.double().mean().item() for _, labels in every]
    assert 0.05 < shares[0] < 0.7
    assert shares == pytest.approx([shares[0]] * 3, abs=0.01)
    torch.testing.assert_close(parts.train[0].mean(0), torch.zeros(n_features), atol=1e-5, rtol=0.0)
    assert other.test[0].shape == parts.test[0].shape
    assert not torch.equal(other.test[0], parts.test[0])


def test_search_keeps_the_least_validation_loss(monkeypatch, data):
    losses, tried = [0.3, 0.1, 0.2], []

    def fake(parts, loss, options, effort, seed):
        tried.append(options)
        return SimpleNamespace(best_value=(-losses[len(tried) - 1], 0.0))

    monkeypatch.setattr(tabular, "train", fake)
    best = tabular._search("mammography", "CE", tabular.QUICK, Scope(data, quick=True, search=3))
    assert len(set(tried)) == 3
    assert best == tried[1]


def test_filters_see_what_is_where():
    """Stripes that stand on the left and lie on the right have the responses of either in their quarters."""
    lying = 255.0 * (torch.arange(32) // 3 % 2).float()[None, None, :, None].expand(1, 3, 32, 32)
    standing = lying.transpose(2, 3)
    both = torch.cat([standing[..., :16], lying[..., 16:]], 3)
    noise = 5.0 * torch.randn(40, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    filters = learn_filters(torch.cat([lying + noise[:20], standing + noise[20:]]), 8)
    of_lying, of_standing, of_both = (filters(one).reshape(8, 2, 2) for one in (lying, standing, both))
    for half, same, other in ((0, of_standing, of_lying), (1, of_lying, of_standing)):
        own = of_both[:, :, half]
        assert (own - same[:, :, half]).norm() < 0.5 * (own - other[:, :, half]).norm()
    assert filters(torch.full((2, 3, 32, 32), 7)).isfinite().all()  # nothing to see


def trained_on_overlapping_classes(loss, n_rows, options, effort):
    """Two classes of one number each, a deviation apart, and what was trained on them."""
    labels = torch.arange(n_rows) % 2
    part = torch.randn(n_rows, 1, generator=torch.Generator().manual_seed(0)) + labels[:, None], labels
    torch.manual_seed(0)
    return part, train_network(nn.Linear(1, 2), loss, Parts(part, part, part), options, effort, seed=0)


@pytest.mark.parametrize(("asked", "sign"), [(0.25, 1.0), (5.0, -1.0)])
def test_training_moves_the_class_where_its_beta_points(asked, sign):
    """To more precision than recall, or less."""
    loss = mf.EastLoss(mf.metrics.FBeta([1.0, asked], average="macro"))
    (x, labels), trainer = trained_on_overlapping_classes(loss, 2000, Options(batch=500, rate=0.05), Effort(30, 5))
    predicted = trainer.scores(x).argmax(1)
    hits = (predicted * labels).sum()
    assert sign * (hits / predicted.sum() - hits / labels.sum()) > 0.1


def test_training_ends_at_the_least_validation_loss():
    loss = nn.CrossEntropyLoss()
    part, trainer = trained_on_overlapping_classes(loss, 400, Options(batch=50, rate=0.5), Effort(20, 20))
    least = min(row["held_out_loss"] for row in trainer.history)
    assert float(loss(trainer.scores(part[0]), part[1])) == pytest.approx(least, rel=1e-5)
    assert trainer.history[-1]["held_out_loss"] > least


def f_measure(answer, label):
    """F1 of one row with one possible label; 0/0 counts as one."""
    return 1.0 if answer + label == 0 else 2.0 * answer * label / (answer + label)


def test_ccs_with_one_label_is_a_logistic_regression(data):
    """The answer with the largest expected F1 of a row, from separate regressions for "no label" and "one label"."""
    parts = load_data("mammography", data)
    (x, y), (new, _), fitted = [part.numpy() for part in parts.train], parts.test, fit_ccs(parts, 0)
    alone = LogisticRegression(C=fitted.C, max_iter=1000, tol=1e-8)
    no_label, one_label = (alone.fit(x, y == label).predict_proba(new.numpy())[:, 1] for label in (0, 1))
    expected = [no_label * f_measure(answer, 0) + one_label * f_measure(answer, 1) for answer in (0, 1)]
    decoded = np.argmax(expected, 0)
    assert 0 < decoded.sum() < len(decoded)
    assert (decoded == fitted.predict(new.numpy())).all()


def expected_f1(q, answer):
    """Of a row that has class j with probability q_j, over the classes of an answer; from the definition of F1."""
    return sum(probability * 2.0 * (label in answer) / (len(answer) + 1) for label, probability in enumerate(q))


def test_ccs_answers_with_the_set_of_largest_expected_f1():
    random = np.random.default_rng(0)
    q = random.dirichlet(np.ones(4), 50)
    subsets = [subset for size in range(1, 5) for subset in itertools.combinations(range(4), size)]
    found = best_sets(q)
    assert {int(one.sum()) for one in found} > {1, 2}
    for row, answer in zip(q, found, strict=True):
        best = max(expected_f1(row, subset) for subset in subsets)
        assert expected_f1(row, np.flatnonzero(answer).tolist()) == pytest.approx(best)


def test_ccs_of_several_classes_has_a_regression_for_each():
    """Of the answers with one class it gives that with the largest expected F1."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(300) % 3
    rows = torch.randn(300, 2, generator=generator) + 2.0 * torch.stack([labels == 1, labels == 2], dim=1)
    fitted = fit_ccs(Parts((rows, labels), (rows, labels), (rows, labels)), 0)
    q = label_probabilities(fitted, rows.numpy())
    strength = fitted.estimators_[0].C
    for label in range(3):
        alone = LogisticRegression(C=strength, max_iter=1000).fit(rows.numpy(), labels.numpy() == label)
        assert np.allclose(q[:, label], alone.predict_proba(rows.numpy())[:, 1], atol=1e-4)
    singles = [[expected_f1(row, [label]) for label in range(3)] for row in q]
    assert (fitted.predict(rows.numpy()) == np.argmax(singles, axis=1)).all()
    assert (fitted.predict(rows.numpy()) == labels.numpy()).mean() > 0.7


def test_bytes_drop_each_unit_as_often():
    torch.manual_seed(0)
    kept = ByteDropout(0.5)(torch.ones(100_003))
    shares = [float((kept[place::8] == 0.0).double().mean()) for place in range(8)]
    assert shares == pytest.approx([0.5] * 8, abs=0.02)  # all bytes of a word are random
    assert float(kept.mean()) == pytest.approx(1.0, abs=0.02)
    with pytest.raises(ValueError, match=r"`share` should be a multiple of 1/256 .* got 0.3"):
        ByteDropout(0.3)


def test_macro_f_beta_from_precision_and_recall():
    """Exactly what the metric gives for the whole confusion matrix."""
    random = np.random.default_rng(0)
    true = random.integers(0, 10, 500)
    predicted = np.where(random.random(500) < 0.5, true, random.integers(0, 10, 500))
    scores = beta._scores(predicted, true)
    assert scores["recall_dog"] == pytest.approx(100.0 * (predicted[true == 5] == 5).mean())
    assignment = nn.functional.one_hot(torch.from_numpy(predicted), 10).double()
    expected = beta._metric("dog 2.5")(mf.confusion_matrix(assignment, torch.from_numpy(true)))
    found = macro_f_beta([({"method": "CE", "seed": 0}, scores)], "CE", "dog 2.5", 10)
    assert found == [pytest.approx(100.0 * float(expected))]


def test_batches_of_a_fixed_model(data):
    rows = batches.run({"set": "mammography"}, Scope(data, quick=True))
    assert [row["batch"] for row in rows] == list(batches.BATCHES)
    assert all(row["seen"] < row["bound"] for row in rows)
    assert rows[0]["seen_f1"] > rows[-1]["seen_f1"]
    assert rows[0]["asked_f1"] > rows[0]["enough_f1"] > rows[0]["enough"]
    assert rows[0]["without_class"] == pytest.approx(100.0 * 0.9**64)


def test_enough_rows_are_the_fewest():
    """Of a fair coin an entry is within 0.05 of a half with 95 % from about (1.96 * 0.5 / 0.05)² rows."""
    matrix = np.diag([0.5, 0.5])
    found = batches._enough(matrix, lambda drawn: batches._largest(drawn, matrix))
    assert found == pytest.approx(384, rel=0.15)


def test_kaggle_takes_part_where_its_file_is(data, tmp_path):
    """And only seeds that all methods have are compared."""
    cells = tabular.cells(Scope(data, seeds=3))
    assert "kaggle" not in {cell["set"] for cell in cells}
    missing = ("mammography", 1, "CCS"), ("mammography", 2, "F1*")
    found = [(cell, {}) for cell in cells if (cell["set"], cell["seed"], cell["method"]) not in missing]
    assert {cell["seed"] for cell, _ in tabular.complete_seeds(found) if cell["set"] == "mammography"} == {0}
    with pytest.raises(DataError, match=r"creditcard\.csv is missing.*mlg-ulb"):
        tabular.run({"set": "kaggle", "method": "CE", "seed": 0}, Scope(tmp_path))
    table = pd.DataFrame({"Amount": np.arange(100.0), "Class": (np.arange(100) % 10 == 0).astype(int)})
    table.to_csv(tmp_path / "creditcard.csv", index=False)
    assert "kaggle" in {cell["set"] for cell in tabular.cells(Scope(tmp_path, seeds=1))}
    assert len(load_data("kaggle", tmp_path).train[0]) == 64
