"""What a result was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def processor() -> str:
    """Its name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def hardware() -> str:
    """Processor and cores, and the versions of what computes."""
    parts = [f"{processor()} with {os.cpu_count()} cores", f"Python {platform.python_version()}"]
    return ", ".join([*parts, *(f"{name} {version(name)}" for name in ("torch", "numpy", "scikit-learn"))])
