"""Two of the papers' data sets without their files: wine ships with scikit-learn, balance-scale is a law of levers."""

import itertools

import pytest
from sklearn.datasets import load_wine


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    features, target = load_wine(return_X_y=True)
    (folder / "wine").mkdir()
    rows = [f"{label + 1}," + ",".join(map(str, row)) for row, label in zip(features.tolist(), target, strict=True)]
    (folder / "wine" / "wine.data").write_text("\n".join(rows) + "\n")
    (folder / "balance-scale").mkdir()
    lines = []
    for a, b, c, d in itertools.product(range(1, 6), repeat=4):
        lines.append(f"{'B' if a * b == c * d else 'L' if a * b > c * d else 'R'},{a},{b},{c},{d}")
    (folder / "balance-scale" / "balance-scale.data").write_text("\n".join(lines) + "\n")
    return folder
