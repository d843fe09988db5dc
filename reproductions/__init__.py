"""Reproductions of the papers' tables: published numbers and ours, on the same data.

Each paper has a folder with code and results. An experiment is a list of cells (data set, method, seed). Each cell runs
independently, and its numbers are saved when it ends. ``python -m reproductions list`` lists the experiments.
"""
