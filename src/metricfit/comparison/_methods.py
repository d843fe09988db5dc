"""What is compared: one line per method. All are linear models of the same columns, so that only the training differs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """``strategy`` is the one of ``MetricClassifier``; ``for_metric`` says whether it trains for the metric itself."""

    strategy: str
    name: str
    what: str
    for_metric: bool = True


METHODS: dict[str, Method] = {
    method.strategy: method
    for method in (
        Method("cross_entropy", "cross-entropy", "logistic regression, the most probable class", for_metric=False),
        Method(
            "offset", "cross-entropy + threshold", "the same, its threshold or offsets tuned for the metric", for_metric=False
        ),
        Method("hinge", "hinge", "squared hinge, a class against the rest", for_metric=False),
        Method("expected", "expected error", "the metric expected under the softmax (İrsoy 2019, arXiv 1905.00448)"),
        Method("leaky", "leaky expected error", "the metric under noise, held by cross-entropy (after arXiv 1905.00448)"),
        Method("direct", "EXACT", "the metric under normal noise that shrinks (Karpukhin et al. 2022, arXiv 2205.09615)"),
        Method("anneal", "EAST", "the metric of soft sets, annealed (Li et al. 2024, arXiv 2405.20954)"),
        Method("auto", "MetricClassifier", "its own choice among the first two and leaky ones, by held-out rows"),
    )
}
BASELINE = "offset"  # what everything is measured against: the cheap thing that people can do today
CHOICE = "auto"
