"""Cumulative probabilities of the distributions of random streams, from SciPy: writes distributions.txt.

A line is a draw, its parameters, and pairs of a number and the probability of what is not above it.
"""

from pathlib import Path

import numpy as np
import scipy
from scipy import stats

DRAWS = {
    "uniform": (stats.uniform, [()]),
    "normal": (stats.norm, [()]),
    "exponential": (lambda scale: stats.expon(scale=scale), [(3.0,)]),
    "gamma": (
        lambda shape, scale: stats.gamma(shape, scale=scale),
        [(0.05, 1.0), (0.5, 2.0), (1.0, 1.0), (7.5, 0.25), (1e4, 1.0)],
    ),
    "beta": (stats.beta, [(0.1, 0.2), (0.5, 0.5), (2.0, 5.0), (300.0, 40.0)]),
    "standard_t": (stats.t, [(1.0,), (4.5,)]),
    "poisson": (stats.poisson, [(0.3,), (9.5,), (10.0,), (37.2,), (1e6,)]),
    "binomial": (
        stats.binom,
        [(5, 0.3), (40, 0.5), (1000, 0.013), (1000, 0.9), (10**9, 0.25), (20, 0.01), (20, 0.95)],
    ),
    "integers": (stats.randint, [(-5, 10), (0, 10**12)]),
    "bernoulli": (stats.bernoulli, [(0.3,), (0.99,)]),
    # The first of three probabilities, and the first of three counts in 30 draws.
    "dirichlet": (lambda *alpha: stats.beta(alpha[0], sum(alpha[1:])), [(0.5, 2.0, 3.0), (0.02, 0.03, 0.01)]),
    "multinomial": (lambda *w: stats.binom(30, w[0] / sum(w)), [(1.0, 3.0, 4.0), (5.0, 0.0, 1.0)]),
    "categorical": (
        lambda *w: stats.rv_discrete(values=(range(len(w)), np.array(w) / sum(w))),
        [(1.0, 0.0, 4.0, 3.0)],
    ),
}


def lines():
    yield f"# SciPy {scipy.__version__}: distributions.py"
    for name, (distribution, all_parameters) in DRAWS.items():
        for parameters in all_parameters:
            frozen = distribution(*parameters)
            points = sorted({float(frozen.ppf(i / 24)) for i in range(1, 24)})
            text = " ".join(f"{x!r} {float(frozen.cdf(x))!r}" for x in points)
            yield f"{name} {' '.join(repr(p) for p in parameters)} : {text}"


Path(__file__).with_suffix(".txt").write_text("\n".join(lines()) + "\n")
