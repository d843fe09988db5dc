"""Tables and the figure of the networks on images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reproductions._claims import mean_with_interval
from reproductions._experiment import Results
from reproductions._figure import empty_figure
from reproductions._markdown import mean_and_std, table
from reproductions._results import differences, distinct_values, values
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
    parts = [_table_3(ends(found)), _growth(found), _by_samples(ends(found)), _by_margin(ends(found))]
    return "\n\n".join(parts) + "\n"


def _table_3(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        for optimizer in distinct_values(found, "optimizer"):
            for loss in published.LOSSES:
                own = {"set": name, "optimizer": optimizer, "loss": loss, "variant": TABLE_7}
                paper = "{:.2f} ± {:.2f}".format(*published.VISION_TEST[optimizer, loss][published.VISION.index(name)])
                test, train = values(found, "test", **own), values(found, "train", **own)
                gain = differences(test, values(found, "test", **own | {"loss": published.LOSSES[0]}))
                over = "" if loss == published.LOSSES[0] else mean_with_interval(gain)
                rows.append([name, optimizer, loss, paper, mean_and_std(test), over, mean_and_std(train)])
    heads = ["set", "optimizer", "loss", "paper, test", "ours *scaled*, test", "over cross-entropy", "ours *scaled*, train"]
    return (
        f"## Table 3: accuracy, %\n\n{table(heads, rows)}\n\n"
        "Our accuracies are *scaled* and cannot be compared with the paper's; differences between losses can. Their intervals "
        "are over seeds, at 95 %."
    )


def _growth(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        row = [name]
        for loss in published.LOSSES:
            norms = _norms(found, name, loss)
            row += [f"{norms[:, 0].mean():.3g}", f"{norms[:, -1].mean():.3g}", f"{(norms[:, -1] / norms[:, 0]).mean():.2g}"]
        rows.append(row)
    heads = ["set", *(head for loss in published.LOSSES for head in (f"{loss}: at first", "at last", "ratio"))]
    return (
        "## Figure 5: norm of the gradient after a tenth of the steps and after all, SGD (*scaled*)\n\n"
        f"{table(heads, rows)}\n\n"
        "The paper, on CIFAR-100: those of cross-entropy and hinge reach a plateau, that of EXACT grows exponentially."
    )


def _norms(found: Results, name: str, loss: str) -> np.ndarray:
    """A row per seed, a column per point."""
    wanted = {"set": name, "loss": loss, "optimizer": "SGD", "variant": TABLE_7}
    seeds: dict[object, list[float]] = {}
    for cell, numbers in found:
        if wanted.items() <= cell.items():
            seeds.setdefault(cell["seed"], []).append(numbers["gradient_norm"])
    return np.array(list(seeds.values()))


def _by_samples(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        for title, variant in _sample_variants(found):
            own = {"set": name, "optimizer": "SGD", "loss": "EXACT", "variant": variant}
            cost = np.median(values(found, "loss_ms", **own))
            rows.append([name, title, mean_and_std(values(found, "test", **own)), f"{cost:.1f}"])
    return (
        "## Figure 6: accuracy of EXACT on test by the number of samples, SGD (*scaled*), %\n\n"
        f"{table(['set', 'samples', 'test', 'loss and gradient of 256 images, ms'], rows)}\n\n"
        "The paper: on MNIST, SVHN and CIFAR-10 the number of samples has minor effects; it trains with 16."
    )


def _sample_variants(found: Results) -> list[tuple[str, str]]:
    numbers = [variant for variant in distinct_values(found, "variant") if variant.startswith("samples")]
    return [(variant.split()[1], variant) for variant in numbers] + [("quadrature", TABLE_7)]


def _by_margin(found: Results) -> str:
    sets = distinct_values(found, "set")
    rows = [
        [margin, *(_mean_at(found, name, margin) for name in sets)]
        for margin in dict.fromkeys(margin for name in sets for margin in _margins(found, name))
    ]
    return (
        "## Accuracy of EXACT on test by its margin, SGD (*scaled*), %\n\n"
        f"{table(['margin', *sets], rows)}\n\nThe margin of Table 7 is bold. It is in units of the scores' deviation."
    )


def _mean_at(found: Results, name: str, margin: str) -> str:
    variants = _margins(found, name)
    if margin not in variants:
        return ""
    text = mean_and_std(values(found, "test", set=name, optimizer="SGD", loss="EXACT", variant=variants[margin]))
    return f"**{text}**" if variants[margin] == TABLE_7 else text


def _margins(found: Results, name: str) -> dict[str, str]:
    """The variant by margin, in rising order, "none" last."""
    variants = {f"{published_margin(name, 'EXACT'):g}": TABLE_7}
    for variant in distinct_values(found, "variant", set=name):
        if variant.startswith("margin"):
            variants[variant.split()[1]] = variant
    return dict(sorted(variants.items(), key=lambda item: np.inf if item[0] == "none" else float(item[0])))


def figure(found: Results) -> Figure:
    """A row per set: gradients during training, accuracy by the number of samples, and by the margin."""
    sets = distinct_values(found, "set")
    drawing = empty_figure(10.0, 0.4 + 2.6 * len(sets))
    for name, line in zip(sets, drawing.subplots(len(sets), 3, squeeze=False), strict=True):
        _draw_gradients(line[0], found, name)
        _draw_variants(line[1], ends(found), name, dict(_sample_variants(ends(found))), "samples (Figure 6)")
        _draw_variants(line[2], ends(found), name, _margins(ends(found), name), "margin")
    return drawing


def _draw_gradients(axes: Axes, found: Results, name: str) -> None:
    for loss in published.LOSSES:
        norms = _norms(found, name, loss)
        share = np.arange(1, norms.shape[1] + 1) / norms.shape[1]
        axes.plot(share, norms.mean(0), color=COLOURS[loss], marker=".", label=loss)
    axes.set(yscale="log", xlabel="share of the steps (Figure 5)", ylabel=f"{name} (scaled): norm of the gradient")
    axes.legend(frameon=False, fontsize="small")


def _draw_variants(axes: Axes, found: Results, name: str, variants: dict[str, str], label: str) -> None:
    """Mean and deviation over seeds; the variant of Table 7 is filled."""
    for place, variant in enumerate(variants.values()):
        tests = values(found, "test", set=name, optimizer="SGD", loss="EXACT", variant=variant)
        face = COLOURS["EXACT"] if variant == TABLE_7 else "white"
        axes.errorbar(place, np.mean(tests), np.std(tests), color=COLOURS["EXACT"], marker="o", markerfacecolor=face)
    axes.set_xticks(range(len(variants)), list(variants))
    axes.set(xlabel=label, ylabel="EXACT on test, %")
