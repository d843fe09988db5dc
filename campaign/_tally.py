"""What became of the cases of a part: a row of the campaign's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class Outcome(Enum):
    """How a case ended. The first two are fine; of the others there must be none."""

    ANSWERED = "answered"  # a right result
    REFUSED = "refused"  # one line that says what is wrong
    TRACEBACK = "tracebacks"  # or a crash, or no end within the time limit
    WRONG = "wrong"  # a wrong or incomplete file, or a wrong number
    LOST = "lost rows"


FINE = (Outcome.ANSWERED, Outcome.REFUSED)


@dataclass
class Tally:
    """The cases of one part, by outcome; ``failures`` says of each bad one how to repeat it."""

    part: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def count(self, outcome: Outcome, case: str = "") -> None:
        """Count a case; ``case`` names it in the list of failures."""
        self.counts[outcome] += 1
        if outcome not in FINE:
            self.failures.append(f"{self.part}: {outcome.value}: {case}")

    @property
    def n_tried(self) -> int:
        return self.counts.total()


def as_table(tallies: Sequence[Tally]) -> str:
    """A Markdown table with a row for each part.

    >>> tally = Tally("losses")
    >>> tally.count(Outcome.ANSWERED)
    >>> print(as_table([tally]).splitlines()[2])
    | losses | 1 | 1 | 0 | 0 | 0 | 0 |
    """
    names = ["part", "tried", *(outcome.value for outcome in Outcome)]
    rows = [[one.part, f"{one.n_tried:,}", *(f"{one.counts[outcome]:,}" for outcome in Outcome)] for one in tallies]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [names, ["---", *["---:"] * (len(names) - 1)], *rows])
