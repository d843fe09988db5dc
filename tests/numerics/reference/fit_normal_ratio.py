"""Prints the coefficients of ``_race_triton._normal``: r(-t) - t = N(t) / D(t) for t >= 0, where r = phi / Phi.

N has degree 4 and D degree 5, both with leading coefficient one. They level the error relative to sqrt(g r), g = r(-t) - t:
small in r, which is what is used, and in g too, which is the second derivative's. Run it: ``python fit_normal_ratio.py``
(20 s).
"""

import mpmath as mp

DEGREE, N_POINTS, ROUNDS = 4, 120, 60
mp.mp.dps = 50


def excess(t):
    """r(-t) - t, from the Mills ratio Phi(-t) / phi(t) or, far out, its asymptotic series."""
    if t > 100:
        mills = 1 / t + sum((-1) ** j * mp.fac2(2 * j - 1) / t ** (2 * j + 1) for j in range(1, 20))
    else:
        mills = mp.sqrt(mp.pi / 2) * mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2)
    return 1 / mills - t


def fit():
    """Least squares on N - g D, divided by the last round's D; Lawson: weights times error, until the error is level."""
    points = [2 * (1 - w) / w for w in ((1 - mp.cos(mp.pi * (j + 0.5) / N_POINTS)) / 2 for j in range(N_POINTS))]
    g = [excess(t) for t in points]
    size = [mp.sqrt(a * (t + a)) for t, a in zip(points, g, strict=True)]
    bottom = [(1 + t) ** (DEGREE + 1) for t in points]
    weights = [mp.mpf(1)] * N_POINTS
    best = (mp.inf, None, None)
    for _ in range(ROUNDS):
        matrix, target = mp.matrix(N_POINTS, 2 * DEGREE + 1), mp.matrix(N_POINTS, 1)
        for i, t in enumerate(points):
            factor = mp.sqrt(weights[i]) / (bottom[i] * size[i])
            for j in range(2 * DEGREE + 1):
                matrix[i, j] = factor * (t**j if j < DEGREE else -g[i] * t ** (j - DEGREE))
            target[i] = factor * (g[i] * t ** (DEGREE + 1) - t**DEGREE)
        solution = list(mp.qr_solve(matrix, target)[0])
        numerator, denominator = [*solution[:DEGREE], 1][::-1], [*solution[DEGREE:], 1][::-1]
        bottom = [mp.polyval(denominator, t) for t in points]
        errors = [abs(mp.polyval(numerator, t) / b - a) / s for t, b, a, s in zip(points, bottom, g, size, strict=True)]
        best = min(best, (max(errors), numerator, denominator), key=lambda found: found[0])
        weights = [w * (e + max(errors) / 100) for w, e in zip(weights, errors, strict=True)]
        weights = [w / sum(weights) for w in weights]
    return best


if __name__ == "__main__":
    error, *polynomials = fit()
    print("error", mp.nstr(error, 3))
    for polynomial in polynomials:
        print([mp.nstr(c, 9) for c in polynomial])
