"""Pictures from bytes that anybody may have written, by pillow."""

from __future__ import annotations

import io
import warnings

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._extras import require


def decode(content: bytes, name: str, kind: str, width: int, height: int | None) -> np.ndarray:
    """Bytes (height, width, 3) of a picture of this kind, such as "JPEG"; its size is checked before it is decoded."""
    require("PIL", "images", f"a {kind} picture")
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of large pictures, which are refused below
            picture = Image.open(io.BytesIO(content), formats=[kind])
        if picture.width == width and picture.height == (height or picture.height):
            return np.asarray(picture.convert("RGB"))
    except UnidentifiedImageError as error:
        raise DataError(f"{name} should be a {kind} picture, but is none.") from error
    except Exception as error:  # pillow raises errors of many kinds
        raise DataError(f"{name} should be a {kind} picture, but cannot be decoded: {error}.") from error
    wanted = f"{width} x {height}" if height else f"{width} pixels wide"
    raise DataError(f"{name} should be a picture of {wanted}, got {picture.width} x {picture.height}.")


def channels_first(images: np.ndarray) -> Tensor:
    """(n, height, width, 3) to a tensor (n, 3, height, width)."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
