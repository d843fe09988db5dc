"""The options of the commands.

A command has a dataclass, whose docstring is its help and whose fields are its options, and a function with the name of the
command, which takes that dataclass. The function and the heavy packages are imported when the command runs, so that ``--help``
is fast.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

MODELS = ("linear", "boosting", "extra_trees", "mlp", "ensemble")  # that have a name, from simple to complex
FORMATS = "CSV, TSV, ARFF, JSON Lines (also gzipped), Parquet or Excel file; - reads stdin."
IN_PARTS = "xgboost"  # the model of trees for files that are read in parts, and for these alone

Constraints = Annotated[str | None, typer.Option(help='Constraints, such as "precision >= 0.9 and recall[fraud] >= 50%".')]
Confidence = Annotated[float | None, typer.Option(help="Promise the constraints with this probability, such as 0.9.")]
Fallback = Annotated[
    Literal["best"] | None,
    typer.Option(
        help="What to do if the constraints cannot be kept: best uses the best limits that can be promised.",
        show_default="nothing is written",
    ),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line is a header.", show_default="detected")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Column separator. whitespace is any number of spaces.", show_default="detected")
]
Encoding = Annotated[str | None, typer.Option(help="Text encoding.", show_default="detected")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of splits that run in parallel.")]
Cluster = Annotated[
    str | None,
    typer.Option(help="Scheduler of a Dask cluster to run on, such as tcp://host:8786.", show_default="this machine"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of ``compare`` and ``fit``: the columns, the metric, which rows are held out, and where the work runs."""

    target: Annotated[
        str | None, typer.Option(help="Column to predict: name, or number from 1.", show_default="the last column")
    ] = None
    metric: Annotated[
        str | None, typer.Option(help="Metric to optimise; `metricfit metrics` lists them.", show_default="f1 or f1_macro")
    ] = None
    cost: Annotated[
        str | None,
        typer.Option(
            help='Costs of wrong answers instead of a metric: "bad,good=5; good,bad=1" (true class, predicted class), or a '
            "CSV file with a row per true class and a column per predicted class."
        ),
    ] = None
    subject_to: Constraints = None
    confidence: Confidence = None
    calibration: Annotated[
        float | None,
        typer.Option(
            help="Share of rows held out to set the rule for the constraints, such as 0.25. Makes the promise exact.",
            show_default="out-of-fold scores set it",
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            help="Positive class for f1, precision and similar metrics.",
            show_default="the larger of two numbers, or the rarer of two names",
        ),
    ] = None
    classes: Annotated[
        str | None, typer.Option(help="All classes in order, separated by commas, for metrics that need it.")
    ] = None
    drop: Annotated[list[str] | None, typer.Option(help="Columns to drop: names or numbers, separated by commas.")] = None
    numeric: Annotated[
        list[str] | None, typer.Option(help="Columns to read as numbers. Cells that are not numbers become missing values.")
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option(help="Columns to read as categories, even if they contain numbers.")
    ] = None
    merge_rare: Annotated[
        int,
        typer.Option(
            min=0,
            help="Merge classes with fewer rows than this into one class, 'other'; into neighbours if the metric needs an "
            "order.",
            show_default=False,
        ),
    ] = 0
    drop_rare: Annotated[
        int, typer.Option(min=0, help="Drop the rows of classes with fewer rows than this.", show_default=False)
    ] = 0
    group: Annotated[
        str | None,
        typer.Option(help="Column of groups: rows with the same value stay together, in the training or in the test rows."),
    ] = None
    time: Annotated[str | None, typer.Option(help="Column of dates or numbers: train on the past, test on the future.")] = None
    test: Annotated[Path | None, typer.Option(help="File of test rows, instead of cross-validation.")] = None
    keep_shared: Annotated[
        bool, typer.Option("--keep-shared", help="Also score rows of --test that occur in the training file.")
    ] = False
    header: Header = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 5
    repeats: Annotated[int, typer.Option(min=1, help="Number of cross-validation repeats.")] = 2
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Time limit in seconds for each fit of the ensemble, such as 60, which it uses to train more members. There "
            "is one fit per split (10 by default), and `fit` adds one for all rows, so 60 takes about 11 minutes."
        ),
    ] = None
    jobs: Jobs = 1
    cluster: Cluster = None
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")] = 0
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TableOptions):
    """Compare models and methods on the same cross-validation splits.

    The report also shows the data, what the gain means in rows, and which columns each model uses.
    """

    data: Annotated[Path, typer.Argument(help=FORMATS)]
    models: Annotated[
        str | None,
        typer.Option(
            help="Models to compare, separated by commas: linear, boosting, extra_trees, mlp, ensemble.",
            show_default="linear,boosting,ensemble",
        ),
    ] = None
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods of the linear model and mlp to compare, separated by commas. threshold is always included.",
            show_default="all, for the linear model",
        ),
    ] = None
    margin: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="A simpler model is recommended if it is shown to be within this distance of the best. In units of the "
            "metric; for --cost, a share of the cost of a constant answer.",
        ),
    ] = 0.01
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class FitOptions(TableOptions):
    """Fit a model and write it to a folder, with a report.

    By default the model is an ensemble of a linear model and trees, fitted to all rows. Its score in the report comes from
    cross-validation, and the report shows other models for comparison. Several Parquet files, or one with --stream, are read
    in parts. The model is then linear, or boosted trees with --model xgboost, and no report is written.
    """

    data: Annotated[
        list[Path],
        typer.Argument(
            help=f"{FORMATS} Several Parquet files, a pattern such as 'part-*.parquet' or a folder of them are read in parts."
        ),
    ]
    out: Annotated[Path, typer.Option(help="Folder to create for the model and report.html.")]
    model: Annotated[
        str, typer.Option(help=f"Model to fit: auto, {', '.join(MODELS)}. For files in parts: auto, linear, {IN_PARTS}.")
    ] = "auto"
    method: Annotated[
        str,
        typer.Option(
            help="Training method: auto, cross_entropy or threshold. linear and mlp take all methods of `metricfit compare`."
        ),
    ] = "auto"
    fallback: Fallback = None
    stream: Annotated[
        bool, typer.Option("--stream", help="Read a Parquet file in parts to save memory, for linear models and trees.")
    ] = False
    scratch: Annotated[
        Path | None,
        typer.Option(help="Folder for temporary files while files are read in parts.", show_default="the system's"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """Predict a label for every row.

    The label is chosen for the metric. It is not always the most probable class.
    """

    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote, or file of `metricfit decide`.")]
    data: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV, ARFF, Parquet, JSON Lines or Excel files with the model's columns, or with scores; - is stdin."
        ),
    ]
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file: .csv, .csv.gz or .parquet. For several files: a folder, with one output for each of them.",
            show_default="stdout, as CSV",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns to copy to the output: names or numbers, separated by commas. Can be repeated."),
    ] = None
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the calibrated probability of every class.")
    ] = False
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do with unreadable rows: skip leaves their prediction empty.")
    ] = "stop"
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse data that differ from the training table: new categories, other numbers, more missing values.",
        ),
    ] = False
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            help="Types to trust if the model contains estimators of other packages: names, separated by commas.",
            show_default="none",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first line is a header.", show_default="as in the model's table"
        ),
    ] = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    jobs: Annotated[int, typer.Option(min=1, help="Number of files that are predicted in parallel.")] = 1
    cluster: Cluster = None
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    """Find the best decision from the scores of any classifier.

    The rows should be new to the classifier. Nothing is trained. The command fits an offset for each class, or a threshold
    for two classes, to the metric and the constraints, and evaluates it on held-out rows. `metricfit predict rule.json
    new_scores.csv` applies it.
    """

    data: Annotated[Path, typer.Argument(help=f"{FORMATS} Each row has a label and its scores.")]
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the labels: name, or number from 1. For several labels per row, pass their columns of 0 and 1, "
            "separated by commas.",
            show_default="the last column",
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric to optimise; `metricfit metrics` lists them. recall@200 and precision@200 score the 200 best rows. "
            "For several labels per row there are also f1_samples, jaccard_samples and subset_accuracy.",
            show_default="f1 or f1_macro",
        ),
    ] = None
    cost: Annotated[
        str | None,
        typer.Option(
            help='Costs of wrong answers instead of a metric: "fraud,ok=amount; ok,fraud=5" (true class, predicted class), or '
            "a CSV file with a row per true class and a column per predicted class. A cost is a number, or a column "
            "with a number for each row."
        ),
    ] = None
    scores: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of scores: names or numbers, separated by commas. One column is enough for two classes.",
            show_default="found by the names of the classes",
        ),
    ] = None
    kind: Annotated[Literal["auto", "probability", "log_probability", "logit"], typer.Option(help="Kind of the scores.")] = (
        "auto"
    )
    subject_to: Constraints = None
    confidence: Confidence = None
    fallback: Fallback = None
    budget: Annotated[
        list[str] | None,
        typer.Option(help="Limit on the predictions of a class in each file: fraud=200 rows, or fraud=2%. Can be repeated."),
    ] = None
    abstain: Annotated[
        str | None,
        typer.Option(
            help='Answer only as many rows as a limit on their error allows: "error <= 0.02". --confidence promises it.'
        ),
    ] = None
    abstain_cost: Annotated[
        float | None, typer.Option(help="Cost of a row without an answer. A wrong answer costs 1, or as in --cost.")
    ] = None
    abstain_label: Annotated[
        str | None, typer.Option(help="Label of rows without an answer.", show_default="-1 among numbers, abstain among names")
    ] = None
    pos_label: Annotated[
        str | None,
        typer.Option(
            "--pos-label",
            "--positive",
            help="Positive class of two. A single column of scores belongs to it.",
            show_default="the class of a single column; else the larger of two numbers, or the rarer of two names",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            help="All classes in order, separated by commas, including classes without rows. The columns of --scores are in "
            "this order if their names do not contain the classes."
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option("--groups", "--group", help="Column of groups: rows with the same value depend on each other."),
    ] = None
    weight: Annotated[str | None, typer.Option(help="Column with the weights of the rows.")] = None
    prevalence: Annotated[str | None, typer.Option(help="Class shares where the rule will be used: fraud=0.003.")] = None
    adapt: Annotated[
        Path | None, typer.Option(help="File of new scores without labels. The rule is adjusted to their class shares.")
    ] = None
    out: Annotated[Path | None, typer.Option(help="JSON file to write the rule to.")] = None
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None
    header: Header = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    overwrite: Overwrite = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """Describe a saved model or rule.

    The command reads only the description of the model, so it is fast.
    """

    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote, or rule of `metricfit decide`.")]
    as_json: AsJson = False


_LIMITED = '\n\nExample: metricfit {} churn.csv --metric recall --subject-to "precision >= 0.9" --confidence 0.9'
_WITH_COSTS = '\n\nExample: metricfit decide payments.csv --cost "fraud,ok=amount; ok,fraud=5" --budget fraud=2%'
COMMANDS: dict[type[Any], str] = {  # the options of each, and an example
    CompareOptions: f"compare churn.csv --target churned --metric f1 --report report.html{_LIMITED.format('compare')}",
    FitOptions: f"fit churn.csv --target churned --metric f1 --out model{_LIMITED.format('fit')} --out model",
    PredictOptions: "predict model new.csv --out predictions.csv",
    DecideOptions: f"decide scores.csv --target y --metric mcc --out rule.json{_WITH_COSTS}",
    InspectOptions: "inspect model",
}


def as_command(options: type[Any]) -> Callable[..., None]:
    """The command as typer takes it: ``CompareOptions`` are those of ``compare`` in ``metricfit.cli._compare``."""
    name = options.__name__.removesuffix("Options").lower()
    types = get_type_hints(options, include_extras=True)

    def command(**values: Any) -> None:
        getattr(import_module(f"metricfit.cli._{name}"), name)(options(**values))

    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=types[field.name],
        )
        for field in fields(options)
    ]
    command.__name__, command.__doc__ = name, options.__doc__
    command.__signature__, command.__annotations__ = inspect.Signature(parameters), types  # type: ignore[attr-defined]
    return command
