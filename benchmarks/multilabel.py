"""Several labels per row: does training for macro F1 beat binary cross-entropy, with and without tuned thresholds?

    METRICFIT_DATA=... python -m benchmarks.multilabel [--seeds 5] [--splits 3] [--out benchmarks/results]

The sets emotions, scene and yeast of Mulan (``multilabel/*.arff.gz`` below ``METRICFIT_DATA``). A network with one hidden
layer of 64 units, Adam, batches of 128. A third of the rows is for the test; a quarter of the others stops the training, by
the method's own loss, and tunes the thresholds. Nothing was tuned by hand. A cell is the macro F1 of the test rows in points;
differences to cross-entropy with tuned thresholds are means over sets, and their interval is over the means of the splits.
"""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by

SETS = {"emotions": 6, "scene": 6, "yeast": 14}  # labels, the last columns
LOSSES = {
    "binary cross-entropy": lambda: nn.BCEWithLogitsLoss(),
    "f1_macro": lambda: mf.MetricLoss("f1_macro", mode="multilabel"),
    "f1_macro, leak 0.1": lambda: mf.MetricLoss("f1_macro", mode="multilabel", leak=0.1),
    "f1_macro, leak 1": lambda: mf.MetricLoss("f1_macro", mode="multilabel", leak=1.0),
}
REFERENCE = "binary cross-entropy, tuned"
Part = tuple[Tensor, Tensor]


def read(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    path = Path(os.environ["METRICFIT_DATA"]) / "multilabel" / f"{name}.arff.gz"
    _, data = re.split(r"@data\s+", gzip.decompress(path.read_bytes()).decode(), flags=re.IGNORECASE)
    table = np.array([[float(cell) for cell in line.split(",")] for line in data.splitlines() if line.strip()])
    return table[:, : -SETS[name]], table[:, -SETS[name] :].astype(np.int64)


def parts(name: str, split: int) -> tuple[Part, Part, Part]:
    """Training, validation and test rows, standardised by the first."""
    features, labels = read(name)
    order = np.random.default_rng(split).permutation(len(features))
    n_test = len(order) // 3
    n_held = (len(order) - n_test) // 4
    cuts = np.split(order, [n_test, n_test + n_held])
    scaler = StandardScaler().fit(features[cuts[2]])
    test, held, train = ((torch.tensor(scaler.transform(features[c])).float(), torch.tensor(labels[c])) for c in cuts)
    return train, held, test


def fit(make: str, train: Part, held: Part, seed: int, patience: int = 20, epochs: int = 300) -> nn.Module:
    torch.manual_seed(seed)
    (x, y), loss = train, LOSSES[make]()
    target = y.float()
    model = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, y.shape[1]))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    best, best_state, since = float("inf"), model.state_dict(), 0
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            loss(model(x[rows]), target[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            value = loss(model(held[0]), held[1].float()).item()
        since += 1
        if value < best:
            best, since = value, 0
            best_state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
        if since >= patience:
            break
    model.load_state_dict(best_state)
    return model.eval()


@torch.no_grad()
def scores(model: nn.Module, held: Part, test: Part) -> tuple[float, float]:
    """Macro F1 of the test rows in points, at a probability of one half and with tuned thresholds."""
    logits = model(test[0])
    offsets = mf.tune_offsets(model(held[0]), held[1], "f1_macro", kind="logit")
    decided = (logits > 0).numpy(), mf.decide(logits, offsets, kind="logit")
    plain, tuned = (100 * f1_score(test[1].numpy(), one, average="macro", zero_division=0) for one in decided)
    return plain, tuned


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    methods = [f"{name}, {rule}" for name in LOSSES for rule in ("0.5", "tuned")]
    found = np.empty((len(methods), len(SETS), options.splits, options.seeds))
    for i, name in enumerate(SETS):
        for split in range(options.splits):
            train, held, test = parts(name, split)
            for seed in range(options.seeds):
                for j, loss in enumerate(LOSSES):
                    found[2 * j : 2 * j + 2, i, split, seed] = scores(fit(loss, train, held, seed), held, test)
            print(name, split, found[:, i, split].mean(-1).round(1), flush=True)
    lines = [
        "| loss, threshold | " + " | ".join(SETS) + " | mean | difference |",
        "|---|" + "---:|" * (len(SETS) + 1) + "---|",
    ]
    reference = found[methods.index(REFERENCE)]
    for method, own in zip(methods, found, strict=True):
        by_split = (own - reference).mean((0, 2))  # mean over sets and seeds
        half = student.ppf(0.975, options.splits - 1) * by_split.std(ddof=1) / np.sqrt(options.splits)
        mean = by_split.mean()
        gain = "" if method == REFERENCE else f"{mean:+.1f} ({mean - half:+.1f} … {mean + half:+.1f})"
        cells = " | ".join(f"{value:.1f}" for value in [*own.mean((1, 2)), own.mean()])
        lines.append(f"| {method} | {cells} | {gain} |")
    about = f"{written_by()} Macro F1 in points, {options.splits} splits of {options.seeds} seeds."
    text = "\n".join(["# Several labels per row", "", about, "", *lines, ""])
    write_page(options.out, "multilabel.md", text)


if __name__ == "__main__":
    main()
