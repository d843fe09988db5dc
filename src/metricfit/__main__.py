"""``python -m metricfit`` is ``metricfit``."""

from metricfit.cli import main

main()
