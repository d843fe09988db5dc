"""Beyond the papers: which cells there are, thresholds and memories by hand, and gains counted right."""

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from reproductions import _tables
from reproductions._experiment import Scope
from reproductions.beyond import _linear, _network, tables
from reproductions.east_2024._protocol import Parts
from reproductions.east_2024._sets import load_data
from reproductions.east_2024.tabular import QUICK


def test_networks_have_seeds_and_linear_fits_have_ten_folds_or_none():
    cells = tables.cells(Scope(Path(), seeds=3))
    assert Counter(cell["paper"] for cell in cells) == {"exact": 10 * 3, "leaky": 5 * 3 * 10, "east": 5 * 3 + 7 * 3 + 2 * 2}


def test_whole_training_half_is_used_and_no_test_row(data, monkeypatch):
    seen = {}

    def fake(features, labels, metric, method):
        seen.update(n_rows=len(features), method=method)
        return SimpleNamespace(predict=lambda x: seen.update(n_test=len(x)) or (x[:, 0] < -100.0).astype(int))

    monkeypatch.setattr(_linear, "fit_classifier", fake)
    found = [
        _linear.of_leaky({"set": "pima", "method": "cross-entropy + threshold", "seed": seed}, Scope(data)) for seed in (0, 1)
    ]
    assert seen == {"n_rows": 60, "method": "threshold", "n_test": 60}
    _, labels = _tables.load("pima", data)
    assert sum(one["test_error"] for one in found) / 2 == pytest.approx(100.0 * labels.mean())  # two folds test every row


def test_memory_holds_as_many_rows_as_the_papers_batch():
    loss = _network.NETWORKS["EAST for f1, batch 64, batch-size-free"].loss()
    for _ in range(400):
        loss(torch.zeros(64, 2, requires_grad=True), torch.arange(64) % 2)
    assert float(loss.objective().size(loss.running)) == pytest.approx(1024.0, rel=1e-4)


@pytest.mark.parametrize(
    ("method", "first", "n_batches"),
    [("EXACT's noise for mcc", 2.0, 1), ("network, cross-entropy", math.nan, 1), ("EAST for f1, batch 64", 0.2, 5)],
)
def test_annealing_starts_where_it_should_and_small_batches_are_small(data, method, first, n_batches):
    """320 rows are five batches of 64, or one."""
    trainer = _network._train("mammography", _network.NETWORKS[method], load_data("mammography", data), QUICK, 0)
    assert trainer.history[0]["scale"] == pytest.approx(first, nan_ok=True)
    assert trainer.step == n_batches * trainer.epoch


def test_thresholds_are_tuned_on_validation_rows_by_hand():
    """Features are the scores. All say "no"; on validation a gap above -1.5 is best for F1, which hits two of three on test."""

    def part(gaps, labels):
        return torch.tensor([[0.0, gap] for gap in gaps]), torch.tensor(labels)

    validation = part([-1.0, -1.2, -1.8, -3.0], [1, 1, 0, 0])
    test = part([-1.1, -1.4, -1.6, -4.0], [1, 1, 1, 0])
    trainer = SimpleNamespace(scores=lambda features: features)
    found = _network._tune(trainer, Parts(validation, validation, test))
    assert found == pytest.approx({"f1_tuned": 80.0, "accuracy_tuned": 75.0, "mcc_tuned": 100.0 / math.sqrt(3.0)})
