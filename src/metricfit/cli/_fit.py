"""``metricfit fit``: write a model and its cross-validated scores to a folder.

Several Parquet files, or one with ``--stream``, are fitted in parts by :mod:`metricfit.shards`.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metricfit import methods
from metricfit._errors import DataError, UsageError
from metricfit._extras import require
from metricfit._files import check_free
from metricfit._printable import printable
from metricfit.cli._arguments import (
    as_options,
    changed,
    check_importance,
    check_name,
    ignore_warnings,
    in_options,
    say,
    split_names,
    workers,
)
from metricfit.cli._compare import after_fit, show_comparison
from metricfit.cli._inputs import Inputs, check_options, read_inputs, say_contents
from metricfit.cli._inspect import REPORT_FILE, SCORES_FILE, TABLE_FILE
from metricfit.cli._metric import choose_metric
from metricfit.cli._options import IN_PARTS, MODELS, FitOptions
from metricfit.comparison import DEFAULT_MODELS, INNER_FOLDS, folds_of_groups, method_of_fit
from metricfit.estimators import MetricClassifier, check_limits, save
from metricfit.report import Run, page
from metricfit.shards import check_scratch, find_files, fit_files, open_files, read_all_labels

METHODS = ("cross_entropy", "threshold", "auto")  # for the linear model; fewer than `compare`, to save time
_COLUMNS = {"dropped": "drop", "numeric": "numeric", "categorical": "categorical"}  # arguments and options
NOT_IN_PARTS = (  # options for a single table in memory
    *("group", "time", "test", "header", "delimiter", "encoding"),
    *("subject_to", "confidence", "calibration", "fallback", "time_limit"),
    *("drop_rare", "keep_shared", "folds", "repeats", "method"),
)


def fit(options: FitOptions) -> None:
    if options.stream or reads_in_parts(options.data):
        fit_in_parts(options)
    else:
        _fit_table(options)


def _fit_table(options: FitOptions) -> None:
    model, method, out = options.model, options.method, options.out
    if model == IN_PARTS:
        raise UsageError(
            f"--model {model} is for Parquet files that are read in parts. Pass --stream too, or --model boosting instead."
        )
    check_name(model, "--model", "model", ("auto", *MODELS))
    _check_method(method, model)
    if options.time_limit is not None and model not in ("auto", "ensemble"):
        raise UsageError(f"--time-limit is for the ensemble, not for --model {model}. Leave one of them out.")
    limited = options.subject_to is not None
    if limited and method != "auto":
        raise UsageError(
            "--method cannot be combined with --subject-to, which trains the model with cross-entropy. Leave it out."
        )
    with in_options():
        check_limits(options.subject_to, options.confidence, options.calibration, options.fallback)
    check_options(options)
    check_free(out)
    with workers(options.jobs, options.cluster) as n_jobs:
        inputs = read_inputs(options.data[0], options)
        table, choice = inputs.table, inputs.choice
        found = inputs.compare(
            options,
            n_jobs,
            models=_compared_models(model),
            methods=None if limited else list(dict.fromkeys((*METHODS, method))),
            importance=check_importance(table.features.num_columns),
        )
        compared = {result.contender.model for result in found.results.values()}
        if model == "auto":
            model = "ensemble" if "ensemble" in compared else "linear"  # the notes of the comparison say why
        found = found.about(f"{model}, {'threshold' if limited else method_of_fit(model, method, found.measure)}")
        say("Fitting to all rows.")
        fitted = MetricClassifier(
            choice.metric,
            model=model,
            method=method,
            pos_label=choice.pos_label,
            class_order=choice.class_order,
            subject_to=options.subject_to,
            confidence=options.confidence,
            calibration=options.calibration,
            fallback=options.fallback,
            time_limit=options.time_limit if model == "ensemble" else None,  # which cannot take every table
            cv=_folds(inputs, options.seed),
            random_state=options.seed,
        )
        with ignore_warnings():
            fitted.fit(table.features, table.labels)
    rule = fitted.rule_ if limited else None
    sentences = [] if rule is None else as_options(rule.summary()).split("\n")
    decides = rule is None or rule.attainable_ or options.fallback is not None
    columns, next_command = {"target": table.target, **inputs.schema.as_json()}, after_fit(out) if decides else ""
    scores = {"data": inputs.name, "target": table.target, **found.as_json(), "profile": inputs.profile.as_json()}
    if decides:
        extra_files = {
            TABLE_FILE: json.dumps(columns, indent=1),
            SCORES_FILE: json.dumps(scores, indent=1),
            REPORT_FILE: page(found, Run.now(inputs.name, table.target, next_command), fitted, inputs.profile),
        }
        with ignore_warnings():
            save(fitted, out, extra_files)
    if options.as_json:
        about: dict[str, Any] = {"learner": fitted.learner_, "chosen": fitted.chosen_, "notes": list(fitted.notes_)}
        if rule is not None:
            about |= {"attainable": rule.attainable_, "refusal": rule.refusal_, "rule": sentences}
        print(json.dumps({"model": str(out) if decides else None, **about, **scores, "next_command": next_command}, indent=1))
        return
    show_comparison(found)
    print()
    automatic = ", the automatic choice" if method == "auto" and model == "linear" and not limited else ""
    by = f"{fitted.learner_} by {fitted.chosen_}{automatic}, for {found.metric_words.title}"  # no score but the verdict's
    lines = [f"Fitted to all rows: {by}.", *sentences, *fitted.notes_]
    if decides:
        lines += [f"Model and {REPORT_FILE}: {out}", f"Next: {next_command}"]
    else:
        lines.append("Pass --fallback best to use the best limit that is possible. No model was written.")
    for line in lines:
        print(printable(line))


def _check_method(name: str, model: str) -> None:
    """Check for a known method that can train the model."""
    check_name(name, "--method", "method", methods.names())
    method = methods.get(name)
    if isinstance(method, methods.Method) and method.loss != "cross_entropy" and model not in ("linear", "mlp"):
        raise UsageError(f"--method {name} does not train --model {model}. Pass --model linear or --model mlp.")


def _folds(inputs: Inputs, seed: int) -> Any:
    """Folds that keep the groups together, where there are any."""
    if inputs.groups is None:
        return INNER_FOLDS
    labels = np.unique(inputs.table.labels, return_inverse=True)[1].astype(np.int64)
    return folds_of_groups(labels, inputs.groups, seed)


def _compared_models(model: str) -> list[str] | None:
    """The default models and the one to fit. The linear model is compared alone, without trees."""
    if model == "auto":
        return None
    return [model] if model == "linear" else [*DEFAULT_MODELS, model]


def reads_in_parts(paths: Sequence[Path]) -> bool:
    """Whether there are several files: options one by one, by a pattern, or as a folder."""
    first = paths[0]
    return len(paths) > 1 or first.is_dir() or (glob.has_magic(str(first)) and not first.exists())


def fit_in_parts(options: FitOptions) -> None:
    _check_options_in_parts(options)
    check_free(options.out)
    with workers(options.jobs, options.cluster) as n_jobs:  # connect before reading all labels: the cluster may be down
        check_options(options)
        check_scratch(options.scratch)
        columns = {into: split_names(getattr(options, name)) for into, name in _COLUMNS.items()}
        files = open_files(find_files(options.data), options.target, say=say, **columns)
        labels = read_all_labels(files, options.merge_rare, say)
        say_contents(files.name, files.schema, files.target, labels.classes, labels.counts)
        choice = choose_metric(options, labels.classes, labels.counts)
        for note in choice.notes:
            say(note)
        classifier = MetricClassifier(
            choice.metric,
            model=options.model,
            pos_label=choice.pos_label,
            class_order=choice.class_order,
            random_state=options.seed,
            n_jobs=n_jobs,
            verbose=1,
        )
        try:
            fit_files(files, labels, classifier, options.scratch)
        except DataError:
            raise
        except ValueError as error:
            raise UsageError(str(error)) from error
    table = {"target": files.target, **files.schema.as_json()}
    with ignore_warnings():
        untrusted = save(classifier, options.out, {TABLE_FILE: json.dumps(table, indent=1)})
    if options.as_json:
        about = {"learner": classifier.learner_, "chosen": classifier.chosen_, "notes": list(classifier.notes_)}
        more = {"candidates": list(classifier.candidates_), "trusted": untrusted}
        print(json.dumps({"model": str(options.out), **about, **more}, indent=1))
        return
    for line in f"Fitted to all rows: {classifier.summary()}".splitlines():
        print(printable(line))
    print(f"Model, without a report: {options.out}")
    if untrusted:
        print(f"To predict with it, pass --trusted {','.join(untrusted)}")


def _check_options_in_parts(options: FitOptions) -> None:
    """Refuse options that need all rows in memory."""
    if options.model not in ("auto", "linear", IN_PARTS):
        raise UsageError(
            f"--model {options.model} does not support files that are read in parts. Pass --model linear or --model "
            f"{IN_PARTS}, or one file with a sample of the rows."
        )
    if options.model == IN_PARTS:
        for package in ("xgboost", "skops"):  # skops saves it
            require(package, "trees", f"--model {IN_PARTS}")
    for name in changed(options, NOT_IN_PARTS):
        raise UsageError(
            f"--{name.replace('_', '-')} does not support files that are read in parts. Leave it out, or pass one file."
        )
