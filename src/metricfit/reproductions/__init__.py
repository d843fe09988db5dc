"""The papers' tables on their own data: what was published beside what comes out here.

One folder per paper; an experiment is a list of cells (a data set, a method, a seed), each run by itself and kept as it ends.
"""

from metricfit.reproductions._experiment import Cell, Experiment, Scope, names, of_name
from metricfit.reproductions._runner import run

__all__ = ["Cell", "Experiment", "Scope", "names", "of_name", "run"]
