#!/usr/bin/env python3
"""Makes the series of `src/ops/vector/halves.rs`: of least relative error at Chebyshev nodes, by weighted least squares.

    pip install numpy
    python3 kernels/fit/halves.py
"""

import numpy as np


def fit(name, function, low, high, terms):
    """c such that function(x) is about c[0] + c[1] x + .., and how far it is off, relatively."""
    nodes = np.cos(np.pi * (np.arange(400) + 0.5) / 400).astype(np.longdouble)
    x = (low + high) / 2 + (high - low) / 2 * nodes
    y = function(x)
    rows = np.stack([x**k for k in range(terms)], 1) / y[:, None]
    c = np.linalg.lstsq(rows.astype(float), np.ones(len(x)), rcond=None)[0].astype(np.float32)
    x = np.linspace(low, high, 20001).astype(np.longdouble)
    error = np.max(np.abs(sum(np.longdouble(k) * x**i for i, k in enumerate(c)) / function(x) - 1))
    print(f"/// {name}: {float(error):.1e}.\nconst {name}: [f32; {terms}] = [{', '.join(str(k) for k in c)}];")


def tail(function, order):
    """function(x) / x^order, where x may be 0."""
    return lambda x: np.where(x == 0, 1, function(np.where(x == 0, 1, x))) / np.where(x == 0, 1, x) ** order


ln2, quarter = np.log(np.longdouble(2)), np.pi / 4
fit("EXP", np.exp, -ln2 / 2, ln2 / 2, 5)
fit("EXP2", np.exp2, -0.5, 0.5, 5)
fit("EXPM1", tail(np.expm1, 1), -ln2 / 2, ln2 / 2, 4)
root = np.sqrt(np.longdouble(0.5))
fit("LOG", tail(np.log1p, 1), root - 1, 2 * root - 1, 6)
of_square = lambda function: lambda z: function(np.sqrt(np.where(z == 0, np.longdouble(1e-8), z)))
fit("SINE", of_square(lambda r: np.sin(r) / r), 0, quarter**2, 3)
fit("COSINE", of_square(np.cos), 0, quarter**2, 3)
fit("TANGENT", of_square(lambda r: np.tan(r) / r), 0, quarter**2, 5)
fit("ARCTANGENT", of_square(lambda t: np.arctan(t) / t), 0, 1, 6)
fit("SINH", of_square(lambda r: np.sinh(r) / r), 0, (ln2 / 2) ** 2, 2)
fit("COSH", of_square(np.cosh), 0, (ln2 / 2) ** 2, 3)
