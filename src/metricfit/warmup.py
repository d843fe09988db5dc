"""``python -m metricfit.warmup``: compile the fast CPU kernels and cache them on disk, so that no training step waits."""

from __future__ import annotations

import sys
import time

from metricfit.numerics import fused

__all__ = ["main"]


def main() -> int:
    start = time.perf_counter()
    if fused.kernels() is None:
        return 1
    fused.kernels().compile_all()
    print(f"metricfit: fast kernels ready after {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
