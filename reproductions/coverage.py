"""Every table and figure of the papers: run in full, reduced, scaled, or not run, and why.

``make evidence`` writes this list to evidence.md. A test compares it with the list of experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

from reproductions._claims import FULL
from reproductions._experiment import get_experiment
from reproductions._markdown import table

PARTLY, NOT_RUN = "in part", "not run"


@dataclass(frozen=True)
class Item:
    """A table or figure: what it shows, and the experiments that run it, none if it is not run.

    ``missing`` is what is left out, and why.
    """

    paper: str
    place: str
    content: str
    experiments: tuple[str, ...] = ()
    missing: str = ""

    @property
    def status(self) -> str:
        """Reduced or scaled if all of its experiments are, else those that are by name; in part if something is missing.

        >>> Item("EXACT", "Table 9", "").status, Item("EXACT", "Table 1", "", ("exact-tabular", "exact-splits")).status
        ('not run', 'full, `exact-splits` reduced')
        """
        if not self.experiments:
            return NOT_RUN
        sizes = {name: get_experiment(name).protocol for name in self.experiments if name not in EXAMPLES}
        smaller = {name: size for name, size in sizes.items() if size != FULL}
        if len(smaller) == len(self.experiments):
            return ", ".join([*dict.fromkeys(smaller.values()), *[PARTLY] * bool(self.missing)])
        names = "".join(f", `{name}` {size}" for name, size in smaller.items())
        return (PARTLY if self.missing else FULL) + names


EXAMPLES = ("examples/toy.py",)  # programs that are not experiments
BEYOND = {"exact-floor", "exact-vision-search", "leaky-rates"}  # experiments in a paper's folder that the paper does not have

ITEMS = (
    Item("EXACT", "Figures 1, 3, 4, 10", "two toys", ("examples/toy.py", "critique")),
    Item("EXACT", "Figure 2", "drawing of the pipeline", missing="no result"),
    Item("EXACT", "Tables 1, 2", "linear models on ten tables", ("exact-tabular", "exact-estimators", "exact-splits")),
    Item(
        "EXACT",
        "Table 3",
        "networks on images",
        ("exact-vision",),
        "two seeds under Adam and ASAM; no files of SVHN and CIFAR-100 here, `--full` runs them",
    ),
    Item("EXACT", "Figure 5", "norm of gradients", ("exact-vision",), "the paper has CIFAR-100, we MNIST and CIFAR-10"),
    Item("EXACT", "Figure 6", "accuracy by samples", ("exact-vision",), "1, 4 and 16 samples, two seeds"),
    Item("EXACT", "Figures 7 to 9", "cost and error of the integral", ("exact-integral",)),
    Item("EXACT", "Tables 4 to 6", "ablations", ("exact-ablation", "exact-splits")),
    Item("EXACT", "Tables 7, 8", "hyper-parameters", missing="no result; the experiments use them"),
    Item("critique", "toys", "with a temperature, a free weight", ("critique",)),
    Item("critique", "text classification", "no numbers published", ("critique",)),
    Item("critique", "log x ≈ x - 1", "an argument, no numbers published", ("critique-late",)),
    Item("leaky", "Figure 1", "curves of the losses", missing="no result: the formulas are drawn"),
    Item("leaky", "Tables 1, 2", "the data sets", missing="no result"),
    Item("leaky", "Figures 2 to 4", "logistic regression on MNIST", ("leaky-mnist",), "three of ten folds, 100 of 200 epochs"),
    Item("leaky", "Table 3", "logistic regression on six tables", ("leaky-tabular",), "polyadenylation: no public copy"),
    Item("leaky", "Table 4", "a network on MNIST", ("leaky-mnist",), "three of ten folds"),
    Item("leaky", "Table 5", "ResNet-18 on CIFAR-10", ("leaky-images",)),
    Item(
        "leaky",
        "Table 6",
        "taggers",
        ("leaky-tagging",),
        "PTB and CoNLL-2003 need a licence; CoNLL-2000 (a fifth of PTB), UD English and WNUT-17 instead",
    ),
    Item("leaky", "Table 7", "Tree-LSTM on SST", ("leaky-trees",)),
    Item(
        "EAST",
        "Table 1, tables",
        "networks on four tables",
        ("east-tabular", "east-splits"),
        "`east-tabular`: a small search instead of the grid; `east-splits`: 8 of 60 points of the grid, 6,000 rows of adult; "
        "CocktailParty: other head angles; credit cards: the file may not be passed on",
    ),
    Item("EAST", "Table 1, images", "Darknet-19", ("east-image",), "Caltech256: the file is not here; `--full` runs it"),
    Item("EAST", "Table 2", "forest and CCS on images", ("east-baselines",), "Caltech256: the file is not here"),
    Item("EAST", "Table 3", "forest and CCS on tables", ("east-tabular", "east-splits"), "as Table 1"),
    Item(
        "EAST",
        "Tables 4 to 7",
        "a beta for each class",
        ("east-beta",),
        "a small network instead of Darknet-19, 20,000 pictures, no Caltech256; `--full` runs all",
    ),
    Item("EAST", "Theorem 5.8", "deviation of a batch's matrix", ("east-batches",)),
)


def coverage_table() -> str:
    """The list as Markdown."""
    rows = []
    for item in ITEMS:
        commands = ", ".join(f"`{name}`" for name in item.experiments)
        rows.append([f"{item.paper}, {item.place}", item.content, item.status, commands, item.missing])
    return table(["paper, place", "what it is", "run", "experiment", "left out, and why"], rows)
