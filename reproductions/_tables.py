"""Read the papers' tabular data sets from the folder METRICFIT_DATA, as DataFrame and labels.

Identifiers and columns that determine the class are dropped: the auditors' scores in audit-risk; dates, customers and jobs in
cylinder-bands; the treatment in mice-protein. Labels are unchanged.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from metricfit._errors import DataError
from reproductions import _openml

Read = Callable[[Path], tuple[pd.DataFrame, pd.Series]]


ORIGINAL_TEST = {"adult": 16281, "annealing": 100}  # number of original test rows, at the end of the table


def data_folder() -> Path:
    """The folder in METRICFIT_DATA, or by default shared/data next to the repository."""
    return Path(os.environ.get("METRICFIT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def _csv(*names: str, target: int = -1, drop: tuple[int, ...] = (), **options: object) -> Read:
    """A function that reads files without a header, with the class in column ``target``."""

    def read(data: Path) -> tuple[pd.DataFrame, pd.Series]:
        table = pd.concat([pd.read_csv(data / name, header=None, **options) for name in names], ignore_index=True)
        label = range(table.shape[1])[target]
        return table.drop(columns=[label, *drop]), table[label]

    return read


def adult_files(data: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training and the test file of adult; the labels, in the last column, end with a full stop in the second."""
    options = {"header": None, "skipinitialspace": True, "na_values": "?"}
    test = pd.read_csv(data / "adult/adult.test.gz", skiprows=1, **options)
    return pd.read_csv(data / "adult/adult.data.gz", **options), test


def _adult(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.concat(adult_files(data), ignore_index=True)
    return table.drop(columns=14), table[14].str.rstrip(".")


def _audit(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(data / "audit-risk/audit_risk.csv")
    derived = ["Audit_Risk", "Inherent_Risk", "TOTAL", "CONTROL_RISK", "Control_Risk", "Detection_Risk", "LOCATION_ID", "Risk"]
    return table.drop(columns=derived, errors="ignore"), table["Risk"]


_bands_as_spelled = _csv("cylinder-bands/bands.data", drop=(0, 1, 2, 3), na_values="?")


def _bands(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    features, target = _bands_as_spelled(data)
    words = features.select_dtypes(exclude="number").columns
    features[words] = features[words].apply(lambda column: column.str.upper())
    return features, target


def _bean(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    import gzip

    with gzip.open(data / "dry-bean/Dry_Bean_Dataset.arff.gz", "rt") as file:
        table = pd.read_csv(io.StringIO(file.read().split("@DATA")[1]), header=None)
    return table.drop(columns=16), table[16].str.strip()


def _mice(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(data / "mice-protein/Data_Cortex_Nuclear.csv.gz")
    return table.drop(columns=["MouseID", "Genotype", "Treatment", "Behavior", "class"]), table["class"]


def _mammography(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    features, target = _csv("mammography/mammography.csv")(data)
    return features, target.astype(str).str.strip("'").astype(int)


def _satellite47(data: Path) -> tuple[pd.DataFrame, pd.Series]:
    try:
        features, target = SETS["satellite"](data)
    except FileNotFoundError as missing:
        features, target = _fetch("satellite", missing)
    kept = target.astype(float).isin([4.0, 7.0])
    return features[kept].reset_index(drop=True), target[kept].reset_index(drop=True)


SETS: dict[str, Read] = {
    "wine": _csv("wine/wine.data", target=0),
    "cylinder-bands": _bands,
    "breast-cancer": _csv("breast-cancer-wisconsin/wdbc.data", target=1, drop=(0,)),
    "balance-scale": _csv("balance-scale/balance-scale.data", target=0),
    "breast-original": _csv("breast-cancer-wisconsin/breast-cancer-wisconsin.data", drop=(0,), na_values="?"),
    "pima": _csv("pima/pima-indians-diabetes.csv"),
    "audit-risk": _audit,
    "annealing": _csv("annealing/anneal.data", "annealing/anneal.test", na_values="?"),
    "mice-protein": _mice,
    "car": _csv("car/car.data", dtype=str),
    "satellite47": _satellite47,
    "satellite": _csv("satellite/sat.trn", "satellite/sat.tst", sep=" "),
    "musk2": _csv("musk2/musk2.csv.gz", target=0, drop=(1,)),
    "ringnorm": _csv("ringnorm/ringnorm.csv.gz"),
    "mammography": _mammography,
    "dry-bean": _bean,
    "magic": _csv("magic/magic04.data.gz"),
    "adult": _adult,
}

_AS_PUBLISHED = {"cylinder-bands-as-spelled": _bands_as_spelled}  # YES and yes are two categories


def numeric_features(features: pd.DataFrame, known: np.ndarray) -> np.ndarray:
    """Impute, one-hot encode ("?" for missing categories) and scale all rows; preprocessing is fitted on ``known`` rows."""
    unknown = SimpleImputer(strategy="constant", fill_value="?")
    words = make_pipeline(unknown, OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    reader = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include="number")), (words, make_column_selector(dtype_exclude="number"))
    )
    return make_pipeline(reader, StandardScaler()).fit(features.iloc[known]).transform(features)


def load(name: str, data: Path | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Features, with columns x0, x1, ..., and labels."""
    data = data_folder() if data is None else data
    try:
        features, target = (SETS | _AS_PUBLISHED)[name](data)
    except FileNotFoundError as missing:
        features, target = _fetch(name, missing)
    features.columns = [f"x{index}" for index in range(features.shape[1])]
    return features, target.to_numpy()


def _fetch(name: str, missing: FileNotFoundError) -> tuple[pd.DataFrame, pd.Series]:
    """Download from OpenML; if that fails, the error names the files to download."""
    try:
        return _openml.fetch(name)
    except (OSError, LookupError) as error:
        called = "{!r} (version {}) from OpenML".format(*_openml.NAMES[name]) if name in _openml.NAMES else "it from OpenML"
        raise DataError(
            f"Data set {name!r} not found: {missing.filename} is missing, and OpenML did not answer. Download {called} or "
            "the UCI repository, and pass its folder by --data or METRICFIT_DATA."
        ) from error
