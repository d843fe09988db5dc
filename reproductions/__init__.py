"""The papers' tables on their own data: what was published beside what comes out here.

One folder per paper, with its code and its results. An experiment is a list of cells (a data set, a method, a seed); each
cell runs by itself, and its numbers are kept as soon as it ends. ``python -m reproductions list`` names the experiments.
"""
