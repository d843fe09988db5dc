"""What a result was measured on."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """Its name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()
