"""What the critique (kexue.fm/archives/9098) and EXACT (arXiv 2205.09615, Section 3 and Appendix E) say of the toys.

Of text classification the critique gives directions without numbers, so there are no standard deviations to compare with.
"""

from __future__ import annotations

# toy and loss: threshold and accuracy in percent
TOYS = {
    ("three points, weight 1", "cross-entropy"): ("0.7", 66.67),
    ("three points, weight 1", "hinge"): ("0.75 … 1", 66.67),
    ("three points, weight 1", "EXACT"): ("0.125", 100.0),
    ("three points, free weight", "cross-entropy"): ("in (0, 0.25)", 100.0),
    ("three points, free weight", "hinge"): ("in (0, 0.25)", 100.0),
    ("five points, free weight", "cross-entropy"): ("-7.75", 60.0),
    ("five points, free weight", "hinge"): ("-11", 60.0),
    ("five points, free weight", "EXACT"): ("-5.35", 80.0),
}
# gains over cross-entropy in points of accuracy. The first and the last are the paper's; the others the critique's: that EXACT
# solves the first toy by its temperature alone, and that with one cross-entropy solves it too
TOY_GAINS = {
    ("three points, weight 1", "EXACT"): 33.33,
    ("three points, weight 1", "normal noise, linear"): 0.0,
    ("three points, free weight", "EXACT"): 0.0,
    ("five points, free weight", "EXACT"): 20.0,
}

# the critique's words; better (+1) or worse (-1) is the first of two methods
DIRECTIONS = (
    ("EXACT, the paper's recipe, is behind cross-entropy", "EXACT", "cross-entropy", -1),
    ("EXACT as the critique writes it is behind cross-entropy", "normal noise, linear", "cross-entropy", -1),
    ("softmax expected accuracy is behind cross-entropy", "softmax, linear", "cross-entropy", -1),
    ("-log E[p] is behind E[p], normal noise", "normal noise, log of mean", "normal noise, linear", -1),
    ("the rule: E[-log p] is ahead of E[p], normal noise", "normal noise, log", "normal noise, linear", +1),
)
