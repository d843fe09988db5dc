"""Learners: what is trained. All train cross-entropy; linear models and networks train every method."""

from metricfit.learners._catalogue import MODELS, DataFacts, build_learner, members_left_out, takes_gaps, takes_sparse
from metricfit.learners._ensemble import EnsembleLearner, TimedEnsembleLearner
from metricfit.learners._estimators import EstimatorLearner, with_seed
from metricfit.learners._learner import Deadline, Fold, History, Learner, MetricLearner, Task, Trained
from metricfit.learners._linear import LinearLearner
from metricfit.learners._models import (
    FAR,
    LEAST,
    LEAST_LOG,
    SELU_ALPHA,
    SELU_SCALE,
    EstimatorModel,
    LinearModel,
    MeanModel,
    NotInFileError,
    Restorer,
    class_scores,
    raw_scores,
    spread_classes,
)
from metricfit.learners._network_options import Network
from metricfit.learners._rows import (
    COLUMNS,
    GIVEN,
    MATRIX,
    Block,
    Blocks,
    Forms,
    TrainingRows,
    count_folds,
    spread_rows,
    stratified_folds,
    take_rows,
)
from metricfit.learners._surrogates import is_summed
from metricfit.learners._tree_arrays import trees_to_plain

__all__ = [
    "COLUMNS",
    "FAR",
    "GIVEN",
    "LEAST",
    "LEAST_LOG",
    "MATRIX",
    "MODELS",
    "SELU_ALPHA",
    "SELU_SCALE",
    "Block",
    "Blocks",
    "DataFacts",
    "Deadline",
    "EnsembleLearner",
    "EstimatorLearner",
    "EstimatorModel",
    "Fold",
    "Forms",
    "History",
    "Learner",
    "LinearLearner",
    "LinearModel",
    "MeanModel",
    "MetricLearner",
    "Network",
    "NotInFileError",
    "Restorer",
    "Task",
    "TimedEnsembleLearner",
    "Trained",
    "TrainingRows",
    "build_learner",
    "class_scores",
    "count_folds",
    "is_summed",
    "members_left_out",
    "raw_scores",
    "spread_classes",
    "spread_rows",
    "stratified_folds",
    "take_rows",
    "takes_gaps",
    "takes_sparse",
    "trees_to_plain",
    "with_seed",
]
