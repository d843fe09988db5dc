r"""Losses of one form: a smoothing that gives each question's p(y|x), and a link that makes a loss of it.

"cross-entropy", the critic's yardstick, is the softmax with -log p. "EXACT" is the paper's recipe: normalised scores, margin,
scale going down, gradients normalised. "normal noise, linear" is EXACT as the critic writes it: the mean of p under noise of
scale 1 on raw scores. Its log form can be read in two ways. "normal noise, log" is the mean of -log p; "normal noise, log of
mean" is :math:`-\log E[p(y|x)]`, literally what he writes. The latter falls as the mean rises, so its minima are those of the
linear form, and its gradient is the linear form's divided by E[p] of the batch.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

import metricfit as mf

Loss = Callable[..., Tensor]

LINKS = ("linear", "power(0.7)", "power(0.3)", "leaky(0.1)", "log", "log_of_mean")


def _plain() -> dict[str, Loss]:
    losses: dict[str, Loss] = {"cross-entropy": nn.CrossEntropyLoss()}
    for link in LINKS[:4]:  # the log of the softmax is cross-entropy
        losses[f"softmax, {link}"] = mf.MetricLoss("accuracy", mf.smoothing.Softmax(), link)
    for link in LINKS:
        losses[f"normal noise, {link.replace('_', ' ')}"] = mf.MetricLoss("accuracy", mf.smoothing.Normal(), link)
    return losses


PLAIN = _plain()
EXACT = "EXACT"
METHODS = (*PLAIN, EXACT)
MARGINS = (0.1, 1.0, 5.0, 10.0)  # the paper tunes its margin for each set, from 0 to 10
SCALE = {"TF-IDF": (10.0, 0.01), "word vectors": (10.0, 1.0)}  # Section 5.4: linear models, networks
