"""Prints the coefficients of ``_normal_parts``: (u + 4) m(u) in powers of t = (u - 4) / (u + 4), m the Mills ratio.

The Chebyshev series over t from -1 to 1, which is u from 0 to infinity, cut after degree 9 (what is left out sums to 6e-8) and
22 (2e-16), in powers of t, the highest first. The centre 4 makes both short. Run it: ``python fit_mills.py``.
"""

import mpmath as mp

CENTRE, N_POINTS = 4, 80
mp.mp.dps = 60


def mills(u):
    """Phi(-u) / phi(u), or far out its asymptotic series."""
    if u > 60:
        return mp.fsum((-1) ** j * mp.fac2(2 * j - 1) / u ** (2 * j + 1) for j in range(40))
    return mp.sqrt(mp.pi / 2) * mp.erfc(u / mp.sqrt(2)) * mp.exp(u * u / 2)


def chebyshev_series():
    angles = [mp.pi * (j + mp.mpf(1) / 2) / N_POINTS for j in range(N_POINTS)]
    points = [CENTRE * (1 + mp.cos(a)) / (1 - mp.cos(a)) for a in angles]
    values = [(u + CENTRE) * mills(u) for u in points]
    sums = [mp.fsum(v * mp.cos(m * a) for v, a in zip(values, angles, strict=True)) for m in range(N_POINTS)]
    return [(2 if m else 1) * total / N_POINTS for m, total in enumerate(sums)]


def in_powers(series):
    """Clenshaw's recurrence on coefficient lists, the lowest power first."""
    size = len(series)
    last, one_before = [mp.mpf(0)] * size, [mp.mpf(0)] * size
    for c in reversed(series[1:]):
        shifted = [mp.mpf(0), *last[:-1]]
        last, one_before = [2 * a - b for a, b in zip(shifted, one_before, strict=True)], last
        last[0] += c
    shifted = [mp.mpf(0), *last[:-1]]
    powers = [a - b for a, b in zip(shifted, one_before, strict=True)]
    powers[0] += series[0]
    return powers


if __name__ == "__main__":
    series = chebyshev_series()
    for degree, digits in ((9, 10), (22, 18)):
        print("left out", mp.nstr(mp.fsum(map(abs, series[degree + 1 :])), 2))
        print([mp.nstr(c, digits) for c in reversed(in_powers(series[: degree + 1]))])
