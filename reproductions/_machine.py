"""The hardware and software of a run."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def processor() -> str:
    """The name of the processor, or an empty string."""
    return _cpuinfo("model name") or platform.processor()


def multiplies_bfloat16() -> bool:
    """Whether the processor multiplies matrices of bfloat16 (AVX-512 or AMX), where convolutions take half the time."""
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(_cpuinfo("flags").split())


def _cpuinfo(name: str) -> str:
    """An entry of the first processor, empty if it is missing."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith(name):
            return line.split(":")[1].strip()
    return ""


def hardware() -> str:
    """Processor, number of cores, and versions of Python, torch, numpy and scikit-learn."""
    parts = [f"{processor()} with {os.cpu_count()} cores", f"Python {platform.python_version()}"]
    return ", ".join([*parts, *(f"{name} {version(name)}" for name in ("torch", "numpy", "scikit-learn"))])
