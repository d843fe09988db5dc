"""Does onnxruntime decide as we do, how large are the files, and how fast is it?

    python -m benchmarks.onnx_models [--train 2000] [--repeats 3] [--out benchmarks/results]

Models are fitted to some rows of three tables: numbers of two and of seven classes, and a data frame with categories. Then
10,000 other rows are predicted here and in onnxruntime. "turned over" counts labels that differ. With inputs of float32,
another count: rounding a number can move it across the threshold of a tree. Both have one thread, and take turns.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import metricfit as mf
from benchmarks._script import Times, new_parser, take_turns, write_page, written_by
from reproductions._tables import load, numeric_features

TABLES = ("magic", "dry-bean", "adult")  # the last one stays a data frame
MODELS = ("linear", "boosting", "extra_trees", "ensemble", "random forest")
N_NEW = 10_000
HEAD = (
    "table",
    "model",
    "labels equal",
    "turned over",
    "turned over, float32 inputs",
    "largest difference of probabilities",
    "MB",
    "10,000 rows: rows/s, onnxruntime",
    "ours",
    "ratio",
    "1 row: rows/s, onnxruntime",
    "ours",
    "ratio",
)


def read(table: str, n_train: int) -> tuple[Any, Any, Any]:
    """Rows and labels to fit to, and 10,000 other rows."""
    features, y = load(table)
    chosen = np.random.default_rng(0).permutation(len(y))[: n_train + N_NEW]
    features, y = features.iloc[chosen].reset_index(drop=True), np.asarray(y)[chosen]
    rows: Any = features
    if table != "adult":
        rows = numeric_features(features, np.arange(n_train))
    return rows[:n_train], y[:n_train], rows[n_train:]


def build(model: str) -> Any:
    if model == "random forest":  # converted by skl2onnx
        return mf.OffsetClassifier(RandomForestClassifier(100, random_state=0), "f1_macro", random_state=0)
    return mf.MetricClassifier("f1_macro", model=model, random_state=0)


def feed_of(rows: Any, dtype: str) -> dict[str, Any]:
    """What onnxruntime reads: an array, or a column each."""
    if not isinstance(rows, pd.DataFrame):
        return {"X": rows.astype(dtype)}
    feed = {}
    for name in rows:
        is_number = pd.api.types.is_numeric_dtype(rows[name])
        feed[str(name)] = (
            rows[[name]].to_numpy(dtype) if is_number else rows[[name]].astype(object).fillna("").to_numpy(object)
        )
    return feed


def session_of(classifier: Any, dtype: str) -> tuple[Any, int]:
    content = classifier.to_onnx(dtype=dtype).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options), len(content)


def compare(table: str, model: str, n_train: int, n_repeats: int) -> list[str]:
    train, y, new = read(table, n_train)
    classifier = build(model).fit(train, y)
    session, size = session_of(classifier, "float64")
    feed = feed_of(new, "float64")
    label, probabilities = session.run(None, feed)
    ours = classifier.predict(new)
    differs = np.asarray(label, ours.dtype) != ours
    single, _ = session_of(classifier, "float32")
    rounded = np.asarray(single.run(["label"], feed_of(new, "float32"))[0], ours.dtype) != ours
    distance = float(np.abs(probabilities - classifier.predict_proba(new)).max())
    row, row_feed = new[:1], {name: values[:1] for name, values in feed.items()}
    many = {"theirs": lambda: session.run(None, feed), "ours": lambda: classifier.predict(new)}
    one = {"theirs": lambda: session.run(None, row_feed), "ours": lambda: classifier.predict(row)}
    rates = [*speeds(take_turns(many, least=n_repeats), N_NEW), *speeds(take_turns(one, least=4 * n_repeats), 1)]
    counts = [f"{(~differs).sum():,}", str(differs.sum()), str(rounded.sum())]
    return [table, model, *counts, f"{distance:.0e}", f"{size / 1e6:.2f}", *rates]


def speeds(times: Times, n_rows: int) -> list[str]:
    theirs, ours = map(statistics.median, times.values())
    return [f"{n_rows / theirs:,.0f}", f"{n_rows / ours:,.0f}", f"{ours / theirs:.1f}"]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for table in TABLES:
        for model in MODELS:
            if table == "adult" and model == "random forest":
                continue  # it takes no data frame
            rows.append(compare(table, model, given.train, given.repeats))
            print(*rows[-1], sep="  ", flush=True)
    lines = [f"| {' | '.join(line)} |" for line in (HEAD, ["---"] * 2 + ["---:"] * (len(HEAD) - 2), *rows)]
    text = (
        f"# Models in onnxruntime\n\n{given.train:,} rows to fit to, {N_NEW:,} others to predict. Medians of "
        f"{given.repeats} turns for 10,000 rows, of {4 * given.repeats} for one row, with one thread each. "
        "`random forest` is an `OffsetClassifier`, converted by skl2onnx, which adds votes in float32. All others are "
        "graphs of doubles.\n\n"
    )
    text += "\n".join(lines) + f"\n\n{written_by()} onnxruntime {onnxruntime.__version__}."
    write_page(given.out, "onnx_models.md", text)


if __name__ == "__main__":
    main()
