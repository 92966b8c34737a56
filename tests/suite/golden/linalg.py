#!/usr/bin/env python3
"""Makes `linalg.txt` beside it: decompositions, solutions and determinants of small matrices.

    pip install numpy scipy ml_dtypes mpmath
    python3 tests/suite/golden/linalg.py

Values are computed by mpmath in 60 digits from the matrices as they are stored, and rounded once to float64; the tests compare
float32 with these too. Names are `function|operands.dtype`. Matrices are well conditioned, so that a bound of a few ulp times their
order holds.
"""

import itertools

import mpmath as mp
import numpy as np
from make import line, write

mp.mp.dps = 60
RNG = np.random.default_rng(20)


def general(*shape):
    """Row-permuted diagonally dominant matrices, so that pivoting must move rows."""
    n = shape[-1]
    return np.roll(RNG.normal(size=shape) + 2 * n * np.eye(n), 1, axis=-2)


def definite(*shape):
    m = RNG.normal(size=shape)
    p = m @ np.swapaxes(m, -1, -2) + shape[-1] * np.eye(shape[-1])
    return (p + np.swapaxes(p, -1, -2)) / 2


OPERANDS = {f"g{n}": general(n, n) for n in (0, 1, 2, 5)} | {f"p{n}": definite(n, n) for n in (0, 1, 2, 5)}
OPERANDS |= {f"v{n}": RNG.normal(size=n) for n in (0, 1, 2, 5)} | {f"m{n}": RNG.normal(size=(n, 3)) for n in (0, 1, 2, 5)}
OPERANDS |= {
    "gb": general(2, 3, 4, 4),
    "pb": definite(2, 3, 4, 4),
    "g1b": general(2, 1, 4, 4),
    "none": np.zeros((0, 4, 4)),
    "v4": RNG.normal(size=4),
    "mb": RNG.normal(size=(3, 4, 2)),
    "m4": RNG.normal(size=(4, 2)),
    "noneb": np.zeros((0, 4, 2)),
    "empty": np.zeros((4, 0)),
}


def matrix(a):
    return mp.matrix(a.tolist()) if a.size else mp.matrix(*a.shape)


def array(m, shape):
    return np.array([float(x) for x in m], dtype=np.float64).reshape(shape)


def each(function, result, *stacks):
    """The function of every matrix of broadcast stacks; `result` gives the shape of one result from the matrices' shapes."""
    batch = np.broadcast_shapes(*[s.shape[:-2] for s in stacks])
    wide = [np.broadcast_to(s, batch + s.shape[-2:]) for s in stacks]
    shape = result(*[s.shape[-2:] for s in stacks])
    out = np.zeros(batch + shape)
    for at in itertools.product(*map(range, batch)):
        if 0 not in shape:
            out[at] = array(function(*[matrix(w[at]) for w in wide]), shape)
    return out


def cholesky(a):
    return each(lambda m: mp.cholesky(m) if m.rows else m, lambda s: s, a)


def determinant(m):
    """By elimination: mpmath refuses matrices that need row exchanges."""
    if not m.rows:
        return mp.mpf(1)
    m, sign = m.copy(), mp.mpf(1)
    for k in range(m.rows):
        top = max(range(k, m.rows), key=lambda i: abs(m[i, k]))
        if top != k:
            sign = -sign
            for j in range(m.cols):
                m[k, j], m[top, j] = m[top, j], m[k, j]
        for i in range(k + 1, m.rows):
            f = m[i, k] / m[k, k]
            for j in range(k, m.cols):
                m[i, j] -= f * m[k, j]
    return sign * mp.fprod(m[k, k] for k in range(m.rows))


def number(function):
    return lambda a: each(lambda m: [function(determinant(m))], lambda s: (), a)


def solve(a, b):
    if b.ndim == 1:
        return solve(a, b[:, None])[..., 0]
    return each(mp.lu_solve if b.shape[-1] == 1 else columns, lambda s, t: t, a, b)


def columns(a, b):
    x = mp.matrix(b.rows, b.cols)
    for j in range(b.cols):
        column = mp.lu_solve(a, b[:, j])
        for i in range(b.rows):
            x[i, j] = column[i]
    return x


def triangle(a, kind):
    part = np.tril(a) if "lower" in kind else np.triu(a)
    if "unit" in kind:
        part = part - part * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    return np.swapaxes(part, -1, -2) if "transposed" in kind else part


def cases():
    for p in ("p0", "p1", "p2", "p5", "pb", "none"):
        yield "cholesky", cholesky, [p]
        # The transpose of the lower factor of the transpose: the matrices are symmetric.
        yield "cholesky_upper", lambda a: np.swapaxes(cholesky(a), -1, -2), [p]
    for g in ("g0", "g1", "g2", "g5", "gb", "none"):
        yield "det", number(lambda d: d), [g]
        yield "sign", number(mp.sign), [g]
        yield "logabsdet", number(lambda d: mp.log(abs(d))), [g]
        yield "inv", lambda a: solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape)), [g]
    pairs = [(f"g{n}", f"{b}{n}") for n in (0, 1, 2, 5) for b in "vm"]
    pairs += [("gb", "v4"), ("gb", "m4"), ("gb", "mb"), ("g1b", "mb"), ("none", "noneb"), ("none", "v4"), ("gb", "empty")]
    for g, b in pairs:
        yield "solve", solve, [g, b]
    kinds = ["lower", "upper", "lower,transposed", "upper,transposed"]
    for p, b in [("p0", "v0"), ("p1", "m1"), ("p2", "v2"), ("p5", "m5"), ("pb", "v4"), ("pb", "mb"), ("none", "noneb")]:
        for kind in kinds + ([f"{kind},unit" for kind in kinds] if p == "p2" else []):
            yield f"triangular:{kind}", lambda a, b, kind=kind: solve(triangle(a, kind), b), [p, b]


lines = []
for dtype in (np.float32, np.float64):
    name = np.dtype(dtype).name
    stored = {key: value.astype(dtype) for key, value in OPERANDS.items()}
    lines += [line(f"{key}.{name}", value) for key, value in stored.items()]
    for function, of, names in cases():
        value = of(*[stored[key].astype(np.float64) for key in names])
        lines.append(line(f"{function}|{','.join(names)}.{name}", np.asarray(value, dtype=np.float64)))
write("linalg", lines)
