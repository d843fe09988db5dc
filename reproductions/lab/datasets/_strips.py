"""CIFAR-10 in strips, as convnetjs has its first pictures without loss: PNG files with one picture per row of pixels."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError
from reproductions.lab.datasets._cifar import CIFAR10_CLASSES, SIZE
from reproductions.lab.datasets._content import first_existing, open_content
from reproductions.lab.datasets._pictures import channels_first, decode

MOST_BYTES = 2**26
_COLUMNS = ("batch", "row", "label")


def cifar10_strips(folder: str | Path) -> tuple[Tensor, Tensor]:
    """Pictures (n, 3, 32, 32) of bytes and labels 0 ... 9, in the order of ``labels.csv``.

    Args:
        folder: has ``cifar10_batch_0.png`` and so on, 1024 pixels wide with one picture per row, and ``labels.csv`` with the
            columns ``batch``, ``row`` and ``label``.
    """
    folder = Path(folder)
    file = first_existing(folder, ("labels.csv",), "Pass the folder that has it, with cifar10_batch_0.png and so on.")
    places = _read_places(file)
    images = np.empty((len(places), SIZE, SIZE, 3), np.uint8)
    for batch in np.unique(places[:, 0]).tolist():
        png = first_existing(folder, (f"cifar10_batch_{batch}.png",), f"{file} names it.")
        own = places[:, 0] == batch
        strips = _read_strips(png)
        if (last := places[own, 1].max()) >= len(strips):
            raise DataError(f"{png} should have a row {last}, which {file} names, but has {len(strips)} rows.")
        images[own] = strips[places[own, 1]]
    return channels_first(images), torch.from_numpy(places[:, 2].copy())


def _read_places(file: Path) -> np.ndarray:
    """Batch, row and label of each picture, (n, 3)."""
    with open_content(file, "a table of labels") as content:
        lines = csv.DictReader(io.StringIO(content.read(MOST_BYTES).decode("utf-8", "replace")))
    try:
        places = np.array([[int(line[name]) for name in _COLUMNS] for line in lines], np.int64).reshape(-1, len(_COLUMNS))
    except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
        raise DataError(f"{file} should have whole numbers in the columns {', '.join(_COLUMNS)}, got {error}.") from error
    if not len(places) or places.min() < 0 or places[:, 2].max() >= len(CIFAR10_CLASSES):
        got = f"{places.min(0).tolist()} ... {places.max(0).tolist()}" if len(places) else "no line"
        limits = f"batches and rows from 0 and labels 0 ... {len(CIFAR10_CLASSES) - 1}"
        raise DataError(f"{file} should have {limits}, got {got}.")
    return places


def _read_strips(png: Path) -> np.ndarray:
    """The pictures (n, 32, 32, 3) of one file."""
    with open_content(png, "a PNG picture") as content:
        strips = decode(content.read(MOST_BYTES), str(png), "PNG", SIZE * SIZE, None)
    return strips.reshape(-1, SIZE, SIZE, 3)
