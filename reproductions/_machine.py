"""The hardware and software of a run."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def processor() -> str:
    """The name of the processor, or an empty string."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def hardware() -> str:
    """Processor, number of cores, and versions of Python, torch, numpy and scikit-learn."""
    parts = [f"{processor()} with {os.cpu_count()} cores", f"Python {platform.python_version()}"]
    return ", ".join([*parts, *(f"{name} {version(name)}" for name in ("torch", "numpy", "scikit-learn"))])
