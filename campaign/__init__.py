"""Attacks on metricfit: hostile numbers, damaged files, killed processes, full disks. Run it by `make campaign`."""
