"""The papers' tables with what the papers left out: threshold tuning, ``MetricClassifier``, each other's losses."""
