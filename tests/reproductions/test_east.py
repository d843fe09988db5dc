"""EAST's tables: published digits against each other, parts of the sets, and a training that does what its beta asks."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import metricfit as mf
from metricfit._errors import DataError
from reproductions._experiment import Scope, get_experiment
from reproductions.east_2024 import beta, published, tabular
from reproductions.east_2024._filters import learn_filters
from reproductions.east_2024._protocol import Effort, Options, Parts, train_network
from reproductions.east_2024._sets import load_data


def claims_of_equal_scores(experiment):
    """Every method scores the same, so that ours are zero and only what is published is left."""
    names = ("f1", "macro_f1", "accuracy", "mcc", *(f"{a}_{b}" for a in ("precision", "recall") for b in ("dog", "frog")))
    found = [
        (cell, dict.fromkeys(names, 50.0)) for cell in experiment.cells(Scope(Path(), datasets=experiment.datasets, seeds=2))
    ]
    return {claim.text: claim.published for claim in experiment.claims(found)}


def test_published_gains_of_the_beta_tables():
    gains = claims_of_equal_scores(get_experiment("east-beta"))
    expected = {
        "precision(dog), beta 0.25 over CE": 13.4,
        "recall(dog), beta 5 over CE": 8.5,
        "macro F1, dog beta 0.25 over CE": 0.8,
        "macro F1, dog beta 5 over CE": 1.5,
        "precision(frog), beta 0.25 over CE": 10.5,
        "recall(frog), beta 5 over CE": 7.9,
        "macro F1, frog beta 0.25 over CE": 2.0,
        "macro F1, frog beta 5 over CE": 1.5,
        "precision(frog), dog beta 0.25 minus 5": -1.2,
        "recall(frog), dog beta 0.25 minus 5": 2.5,
        "precision(dog), beta 0.1 over 10": 9.9,
        "recall(dog), beta 10 over 0.1": 6.0,
    }
    assert gains == {text: pytest.approx(value, abs=1e-9) for text, value in expected.items()}


def test_published_gains_of_table_1():
    gains = claims_of_equal_scores(get_experiment("east-tabular"))
    assert gains["F1* over CE, F1, adult"] == pytest.approx(21.6)
    assert gains["Acc* over CE, accuracy, mammography"] == pytest.approx(-0.1)
    assert gains["MCC* over CE, MCC, mammography"] == pytest.approx(3.1)
    assert gains["F1* over CE, F1, mammography"] == -0.5  # exactly, for that is where a tie ends
    assert gains["F1* over Dice, F1, kaggle"] == pytest.approx(81.6)


def test_f1_of_table_1_is_that_of_the_positive_class():
    """F1 of one class, accuracy and the share of positives give the whole confusion matrix, and with it the published MCC."""
    share = 260 / 11183
    for method in ("F1*", "Acc*", "MCC*", "CE"):
        f1, accuracy, mcc = published.TABLE_1["mammography"][method]
        errors = 1.0 - accuracy
        hits = f1 * errors / (2.0 * (1.0 - f1))  # from F1 = 2 hits / (2 hits + errors)
        missed = share - hits
        false = errors - missed
        matrix = torch.tensor([[1.0 - share - false, false], [missed, hits]])
        assert float(mf.metrics.get("mcc")(matrix)) == pytest.approx(mcc, abs=0.02)


def test_cross_entropy_of_table_1_finds_a_twelfth_of_the_rich():
    """As if it saw capital gains only: those above 15,000 give F1 0.143, accuracy 0.779 and MCC 0.243."""
    f1, accuracy, _ = published.TABLE_1["adult"]["CE"]
    recall = f1 * (1.0 - accuracy) / (2.0 * (1.0 - f1)) / 0.2393
    assert recall == pytest.approx(0.08, abs=0.005)


@pytest.mark.parametrize(("name", "n_features"), [("adult", 16), ("mammography", 6)])
def test_parts_are_64_16_and_20_percent_with_equal_shares_of_positives(name, n_features, data):
    parts = load_data(name, data)
    n_rows = {"adult": 600, "mammography": 500}[name]
    sizes = [len(labels) for _, labels in (parts.train, parts.validation, parts.test)]
    assert sizes == [round(0.64 * n_rows), round(0.16 * n_rows), round(0.2 * n_rows)]
    assert parts.train[0].shape[1] == n_features
    shares = [labels.double().mean().item() for _, labels in (parts.train, parts.validation, parts.test)]
    assert max(shares) - min(shares) < 0.02
    assert 0.05 < shares[0] < 0.5


def test_features_are_scaled_by_the_training_rows(data):
    x, _ = load_data("mammography", data).train
    torch.testing.assert_close(x.mean(0), torch.zeros(6), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(x.std(0, correction=0), torch.ones(6), atol=1e-4, rtol=0.0)


def test_kaggle_takes_part_where_its_file_is(data, tmp_path):
    assert {cell["set"] for cell in tabular.cells(Scope(data, seeds=1))} == {"adult", "mammography"}
    with pytest.raises(DataError, match=r"creditcard\.csv is missing.*mlg-ulb"):
        tabular.run({"set": "kaggle", "method": "CE", "seed": 0}, Scope(tmp_path))
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        random.normal(0.0, 1.0, (100, 31)), columns=["Time", *(f"V{i}" for i in range(1, 29)), "Amount", "Class"]
    )
    table["Class"] = np.arange(100) % 10 == 0
    table.astype({"Class": int}).to_csv(tmp_path / "creditcard.csv", index=False)
    assert "kaggle" in {cell["set"] for cell in tabular.cells(Scope(tmp_path, seeds=1))}
    assert [len(x) for x, _ in (load_data("kaggle", tmp_path).train, load_data("kaggle", tmp_path).test)] == [64, 20]


def test_search_keeps_the_least_validation_loss(monkeypatch, data):
    losses, tried = [0.3, 0.1, 0.2], []

    def fake(parts, method, options, effort, seed):
        tried.append(options)
        return SimpleNamespace(best_value=(-losses[len(tried) - 1], 0.0))

    monkeypatch.setattr(tabular, "_train", fake)
    best = tabular._search("mammography", "CE", tabular.QUICK, Scope(data, quick=True, search=3))
    assert len(set(tried)) == 3
    assert best == tried[1]


def test_a_cell_is_the_same_every_time(data):
    cell = {"set": "mammography", "method": "F1*", "seed": 3}
    assert tabular.run(cell, Scope(data, quick=True)) == tabular.run(cell, Scope(data, quick=True))


def test_filters_see_what_is_where():
    """Stripes that stand on the left and lie on the right have the responses of either in their quarters."""
    lying = 255.0 * (torch.arange(32) // 3 % 2).float()[None, None, :, None].expand(1, 3, 32, 32)
    standing = lying.transpose(2, 3)
    both = torch.cat([standing[..., :16], lying[..., 16:]], 3)
    noise = 5.0 * torch.randn(40, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    filters = learn_filters(torch.cat([lying + noise[:20], standing + noise[20:]]), 8)
    of_lying, of_standing, of_both = (filters(one).reshape(8, 2, 2) for one in (lying, standing, both))
    left, right = of_both[:, :, 0], of_both[:, :, 1]
    assert (left - of_standing[:, :, 0]).norm() < 0.5 * (left - of_lying[:, :, 0]).norm()
    assert (right - of_lying[:, :, 1]).norm() < 0.5 * (right - of_standing[:, :, 1]).norm()
    assert filters(torch.full((2, 3, 32, 32), 7)).isfinite().all()  # nothing to see


def test_beta_is_of_one_class():
    assert beta._loss("dog 0.25").metric.beta == (1, 1, 1, 1, 1, 0.25, 1, 1, 1, 1)
    assert beta._loss("frog 5").metric.beta == (1, 1, 1, 1, 1, 1, 5, 1, 1, 1)


def test_scores_of_one_class_by_hand():
    true, predicted = np.array([5, 5, 5, 5, 6, 0]), np.array([5, 5, 5, 0, 5, 6])
    found = beta._scores(predicted, true)
    assert (found["precision_dog"], found["recall_dog"]) == (75.0, 75.0)
    assert (found["precision_frog"], found["recall_frog"]) == (0.0, 0.0)
    assert found["macro_f1"] == pytest.approx(100.0 * (0.75 + 0.0 + 0.0) / 3)


def overlapping(n_rows):
    """Two classes of one number each, a deviation apart."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(n_rows) % 2
    return torch.randn(n_rows, 1, generator=generator) + labels[:, None], labels


@pytest.mark.parametrize(("asked", "is_more"), [(0.25, "precision"), (5.0, "recall")])
def test_training_moves_the_class_where_its_beta_points(asked, is_more):
    part = overlapping(2000)
    torch.manual_seed(0)
    loss = mf.EastLoss(mf.metrics.FBeta([1.0, asked], average="macro"))
    trainer = train_network(
        nn.Linear(1, 2), loss, Parts(part, part, part), Options(batch=500, rate=0.05), Effort(30, 5), seed=0
    )
    predicted = trainer.scores(part[0]).argmax(1)
    hits = (predicted * part[1]).sum() / 1000.0
    right = (predicted * part[1]).sum() / predicted.sum()
    assert (right > hits + 0.1) if is_more == "precision" else (hits > right + 0.1)


def test_training_ends_at_the_least_validation_loss():
    part = overlapping(400)
    torch.manual_seed(0)
    loss = nn.CrossEntropyLoss()
    trainer = train_network(
        nn.Linear(1, 2), loss, Parts(part, part, part), Options(batch=50, rate=0.5), Effort(20, 20), seed=0
    )
    least = min(-row["metric"] for row in trainer.history)
    assert float(loss(trainer.scores(part[0]), part[1])) == pytest.approx(least, rel=1e-5)
    assert -trainer.history[-1]["metric"] > least
