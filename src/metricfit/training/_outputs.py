"""What a module returns: scores, or scores and the standard deviation of the noise on them (EXACT, Eq. 8 and Figure 2).

Both travel as one tensor, sigma behind the last class, so that batches of them are joined, filtered and differentiated alike.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from metricfit.scores import binary_scores


def join_outputs(found: Any) -> tuple[Tensor, bool]:
    """Scores (n, k, ...), or scores with sigma as one more entry of dimension 1; and whether it has a sigma.

    >>> join_outputs((torch.zeros(2, 3), torch.tensor([1.0, 0.5])))
    (tensor([[0.0000, 0.0000, 0.0000, 1.0000],
            [0.0000, 0.0000, 0.0000, 0.5000]]), True)
    """
    if isinstance(found, Tensor):
        return _two_columns(found), False
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(one, Tensor) for one in found):
        scores, sigma = _two_columns(found[0]), found[1]
        if sigma.shape == scores.shape[:1] + scores.shape[2:]:
            return torch.cat([scores, sigma.unsqueeze(1).to(scores)], 1), True
        raise ValueError(
            f"`module` should return scores and one sigma per row, got shapes {tuple(scores.shape)} and {tuple(sigma.shape)}. "
            "Try `sigma.squeeze(1)`."
        )
    raise TypeError(f"`module` should return scores (n, k), or scores and sigma (n,), got {_named(found)}.")


def split_outputs(outputs: Tensor, has_sigma: bool) -> tuple[Tensor, Tensor | None]:
    """The scores, and sigma where there is one."""
    return (outputs[:, :-1], outputs[:, -1]) if has_sigma else (outputs, None)


def _two_columns(scores: Tensor) -> Tensor:
    return binary_scores(scores) if scores.ndim == 2 and scores.shape[1] == 1 else scores


def _named(found: Any) -> str:
    return f"a tuple of {len(found)}" if isinstance(found, tuple) else f"a {type(found).__name__}"
