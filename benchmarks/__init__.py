"""Benchmarks: what things cost, and what they gain. Not part of the wheel."""
