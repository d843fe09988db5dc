"""The campaign: every part once, a table at the end, and exit code 1 if a number that must be zero is not.

    python -m campaign [--seed 0] [--parts losses tables ...] [--share 1.0]

The same seed draws the same cases. ``--share 0.1`` runs a tenth of them.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from campaign._tally import Tally, as_table

# modules with a function ``run(random, n_cases, folder)`` that returns a Tally, and how many cases each draws
PARTS: dict[str, int] = {
    "losses": 100_000,
    "tables": 200,
    "kills": 50,
    "disk": 12,
}


def run_part(name: str, seed: int, n_cases: int) -> Tally:
    random = np.random.default_rng([seed, *name.encode()])
    with tempfile.TemporaryDirectory(prefix=f"campaign-{name}-") as folder:
        return importlib.import_module(f"campaign.{name}").run(random, n_cases, Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="draws the cases (default: 0)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases, at least one of each part (default: 1)")
    args = parser.parse_args()
    tallies = []
    for name in args.parts:
        start = time.perf_counter()
        tallies.append(run_part(name, args.seed, max(1, round(args.share * PARTS[name]))))
        print(f"{name}: {tallies[-1].n_tried:,} cases, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    failures = [line for tally in tallies for line in tally.failures]
    print(f"Seed {args.seed}\n\n{as_table(tallies)}")
    print("\n".join(failures[:100]), file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
