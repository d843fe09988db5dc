"""Tables and the figure of the networks on images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reproductions._claims import mean_with_interval
from reproductions._experiment import Cell, Results
from reproductions._figure import empty_figure
from reproductions._markdown import mean_and_std, table
from reproductions._results import distinct_values, matching, paired_differences, values
from reproductions.exact_2022 import published
from reproductions.exact_2022._networks import TABLE_7, published_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"Cross-entropy": "#555555", "Hinge": "#c58a00", "EXACT": "#2471a3"}


def ends(found: Results) -> Results:
    """The rows at the end of training, which have the accuracies."""
    return [(cell, numbers) for cell, numbers in found if "test" in numbers]


def summary(found: Results) -> str:
    """Tables of the cells that are there: what is not finished is empty."""
    parts = [_table_3(ends(found)), _growth(found), _by_samples(ends(found)), _by_margin(ends(found))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table_3(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        for optimizer in distinct_values(found, "optimizer"):
            for loss in published.LOSSES:
                own: Cell = {"set": name, "optimizer": optimizer, "loss": loss, "variant": TABLE_7}
                paper = "{:.2f} ± {:.2f}".format(*published.VISION_TEST[optimizer, loss][published.VISION.index(name)])
                test, train = values(found, "test", **own), values(found, "train", **own)
                gain = paired_differences(found, "test", own, own | {"loss": published.LOSSES[0]})
                over = mean_with_interval(gain) if gain and loss != published.LOSSES[0] else ""
                seeds = str(len(test)) if test else ""
                rows.append([name, optimizer, loss, paper, seeds, _text(test), over, _text(train)])
    heads = ["set", "optimizer", "loss", "paper, test", "seeds", "ours *scaled*, test", "over cross-entropy", "train"]
    return (
        f"## Table 3: accuracy, %\n\n{table(heads, rows)}\n\n"
        "Our networks are *scaled* down: compare the losses with each other, not with the paper's accuracies. Intervals are "
        f"over seeds, at 95 %. The accuracy on train is that of the first 5,000 images.{_cost(found)}{_precision(found)}"
    )


def _cost(found: Results) -> str:
    """The processor time of a run under cross-entropy and SGD, which has neither a second gradient nor an integral."""
    own: Cell = {"optimizer": "SGD", "loss": published.LOSSES[0], "variant": TABLE_7}
    minutes = {name: values(found, "seconds", **own, set=name) for name in distinct_values(found, "set")}
    texts = [f"{np.median(seconds) / 60.0:.1f} minutes on {name}" for name, seconds in minutes.items() if seconds]
    return f" Training under SGD and cross-entropy takes {' and '.join(texts)}, on one core." if texts else ""


def _precision(found: Results) -> str:
    """How many runs are in bfloat16, which takes a processor that multiplies it."""
    known = [numbers["bfloat16"] for _, numbers in found if "bfloat16" in numbers]
    if not any(known):
        return ""
    return (
        " All runs are in bfloat16."
        if all(known)
        else f" {sum(known):.0f} of {len(known)} runs are in bfloat16, the others in float32."
    )


def _text(scores: list[float]) -> str:
    return mean_and_std(scores) if scores else ""


def _growth(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        row = [name]
        for loss in published.LOSSES:
            norms = _norms(found, name, loss)
            row += (
                [f"{norms[:, 0].mean():.3g}", f"{norms[:, -1].mean():.3g}", f"{(norms[:, -1] / norms[:, 0]).mean():.2g}"]
                if norms.size
                else [""] * 3
            )
        rows.append(row)
    heads = ["set", *(head for loss in published.LOSSES for head in (f"{loss}: at first", "at last", "ratio"))]
    return (
        "## Figure 5: norm of the gradient after a tenth of the steps and after all, SGD (*scaled*)\n\n"
        f"{table(heads, rows)}\n\n"
        "The paper, on CIFAR-100: those of cross-entropy and hinge reach a plateau, that of EXACT grows exponentially."
    )


def _norms(found: Results, name: str, loss: str) -> np.ndarray:
    """A row per seed, a column per point."""
    seeds: dict[object, list[float]] = {}
    for cell, numbers in matching(found, set=name, loss=loss, optimizer="SGD", variant=TABLE_7):
        seeds.setdefault(cell["seed"], []).append(numbers["gradient_norm"])
    return np.array(list(seeds.values()))


def _by_samples(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        for title, variant in _sample_variants(found):
            own: Cell = {"set": name, "optimizer": "SGD", "loss": "EXACT", "variant": variant}
            tests, costs = values(found, "test", **own), values(found, "loss_ms", **own)
            rows.append([name, title, str(len(tests)), _text(tests), f"{np.median(costs):.1f}" if costs else ""])
    return (
        "## Figure 6: accuracy of EXACT on test by the number of samples, SGD (*scaled*), %\n\n"
        f"{table(['set', 'samples', 'seeds', 'test', 'loss and gradient of 256 images, ms'], rows)}\n\n"
        "The paper: on MNIST, SVHN and CIFAR-10 the number of samples has minor effects; it trains with 16."
    )


def _sample_variants(found: Results) -> list[tuple[str, str]]:
    numbers = [variant for variant in distinct_values(found, "variant") if variant.startswith("samples")]
    return [(variant.split()[1], variant) for variant in numbers] + [("quadrature", TABLE_7)]


def _by_margin(found: Results) -> str:
    """Empty without such cells, as at the scaled size."""
    if not any(variant.startswith("margin") for variant in distinct_values(found, "variant")):
        return ""
    sets = distinct_values(found, "set")
    rows = [
        [margin, *(_mean_at(found, name, margin) for name in sets)]
        for margin in dict.fromkeys(margin for name in sets for margin in _margins(found, name))
    ]
    return (
        "## Accuracy of EXACT on test by its margin, SGD, %\n\n"
        f"{table(['margin', *sets], rows)}\n\nThe margin of Table 7 is bold. It is in units of the scores' deviation."
    )


def _mean_at(found: Results, name: str, margin: str) -> str:
    variants = _margins(found, name)
    if margin not in variants:
        return ""
    own: Cell = {"set": name, "optimizer": "SGD", "loss": "EXACT", "variant": variants[margin]}
    text = _text(values(found, "test", **own))
    return f"**{text}**" if text and variants[margin] == TABLE_7 else text


def _margins(found: Results, name: str) -> dict[str, str]:
    """The variant by margin, in rising order, "none" last."""
    variants = {f"{published_margin(name, 'EXACT'):g}": TABLE_7}
    for variant in distinct_values(found, "variant", set=name):
        if variant.startswith("margin"):
            variants[variant.split()[1]] = variant
    return dict(sorted(variants.items(), key=lambda item: np.inf if item[0] == "none" else float(item[0])))


def figure(found: Results) -> Figure:
    """A row per set: gradients during training, and accuracy by the number of samples."""
    sets = distinct_values(found, "set")
    drawing = empty_figure(7.5, 0.4 + 2.6 * len(sets))
    for name, (left, right) in zip(sets, drawing.subplots(len(sets), 2, squeeze=False), strict=True):
        _draw_gradients(left, found, name)
        _draw_samples(right, ends(found), name)
    return drawing


def _draw_gradients(axes: Axes, found: Results, name: str) -> None:
    for loss in published.LOSSES:
        norms = _norms(found, name, loss)
        if norms.size:
            share = np.arange(1, norms.shape[1] + 1) / norms.shape[1]
            axes.plot(share, norms.mean(0), color=COLOURS[loss], marker=".", label=loss)
    axes.set(yscale="log", xlabel="share of the steps (Figure 5)", ylabel=f"{name} (scaled): norm of the gradient")
    if axes.lines:
        axes.legend(frameon=False, fontsize="small")


def _draw_samples(axes: Axes, found: Results, name: str) -> None:
    """Mean and deviation over seeds; quadrature is filled."""
    variants = _sample_variants(found)
    for index, (_, variant) in enumerate(variants):
        own: Cell = {"set": name, "optimizer": "SGD", "loss": "EXACT", "variant": variant}
        if tests := values(found, "test", **own):
            face = COLOURS["EXACT"] if variant == TABLE_7 else "white"
            axes.errorbar(index, np.mean(tests), np.std(tests), color=COLOURS["EXACT"], marker="o", markerfacecolor=face)
    axes.set_xticks(range(len(variants)), [title for title, _ in variants])
    axes.set(xlabel="samples (Figure 6)", ylabel="EXACT on test, %")
