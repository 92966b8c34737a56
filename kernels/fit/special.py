#!/usr/bin/env python3
"""Makes `src/ops/special/series.rs`: Chebyshev series of the special functions, at more digits than they keep.

    pip install mpmath
    python3 kernels/fit/special.py

Each series is of a smooth function over [-1, 1], sampled at Chebyshev nodes and cut where what follows no longer
changes an f64; `_SINGLE` is how many of its terms an f32 needs.
"""

import pathlib

import mpmath as mp

mp.mp.dps = 50
TARGET = pathlib.Path(__file__).parent.parent / "src/ops/special/series.rs"


def chebyshev(function, nodes=96):
    """c such that function(x) is about c[0]/2 + c[1] T1(x) + ..."""
    angle = [mp.pi * (k + mp.mpf(1) / 2) / nodes for k in range(nodes)]
    value = [function(mp.cos(a)) for a in angle]
    return [2 / mp.mpf(nodes) * mp.fsum(v * mp.cos(j * a) for v, a in zip(value, angle)) for j in range(nodes)]


def terms(series, digits):
    """How many terms leave a rest below that, relative to the largest value."""
    size = max(abs(c) for c in series)
    rest = mp.mpf(0)
    for count in range(len(series), 0, -1):
        rest += abs(series[count - 1])
        if rest > size * mp.mpf(2) ** -digits:
            return count
    return 1


def erfinv_of(w):
    """erfinv(x) where w is -log(1 - x^2), by Newton's steps on the complement."""
    x = mp.sqrt(-mp.expm1(-w))
    m = mp.exp(-w) / (1 + x)
    y = mp.sqrt(w) * mp.mpf("0.886") if w < 1 else mp.sqrt(max(w - mp.log(w + 1), mp.mpf("0.3")))
    for _ in range(100):
        step = (m - mp.erfc(y)) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        step = step / (1 + y * step)
        y -= step
        if abs(step) < mp.mpf(10) ** -45 * (1 + abs(y)):
            break
    return y, x


def between(low, high):
    """From [-1, 1] to [low, high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    return lambda u: (low + high) / 2 + (high - low) / 2 * u


def small_gamma(u):
    t = (u + 1) / 2
    return mp.loggamma(1 + t) / (t * (t - 1))


def scaled_erfc(u):
    # u = (x - 3.75) / (x + 3.75)
    x = mp.mpf("3.75") * (1 + u) / (1 - u)
    value = mp.erfc(x) * mp.exp(x * x) if x < 200 else 1 / (mp.sqrt(mp.pi) * x) * mp.hyp2f0(mp.mpf(1) / 2, 1, -1 / (x * x))
    return value * (1 + 2 * x)


def near_erfinv(u):
    y, x = erfinv_of(between(0, 6)(u))
    return y / x if x else mp.sqrt(mp.pi) / 2


def hankel(order, sine):
    """The amplitude of a Bessel function's cosine or sine beyond 8, in u = 128 / x^2 - 1."""

    def value(u):
        x = mp.sqrt(128 / (u + 1))
        phase = x - (2 * order + 1) * mp.pi / 4
        scale = mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x) * scale, mp.bessely(order, x) * scale
        return (-j * mp.sin(phase) + y * mp.cos(phase)) * x / 8 if sine else j * mp.cos(phase) + y * mp.sin(phase)

    return value


def scaled_i(order, low):
    def near(u):
        x = between(0, 8)(u)
        # Products that change little: small values would have the rounding errors of large ones.
        value = mp.besseli(order, x) * mp.exp(-x)
        return value / x * (1 + x / 2) ** 2 if order else value * (1 + mp.mpf("0.75") * x)

    def far(u):
        x = 16 / (u + 1)
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

    return near if low else far


def cotangent(u):
    f = mp.sqrt((u + 1) / 8)
    return (1 / f - mp.pi * mp.cot(mp.pi * f)) / f


def near_j(order):
    def value(u):
        x = mp.sqrt(between(0, 64)(u))
        return mp.besselj(order, x) / x if order else mp.besselj(0, x)

    return value


SERIES = [
    ("LOG_GAMMA", "log(gamma(1 + t)) / (t (t - 1)) for t from 0 to 1", small_gamma),
    ("COTANGENT", "(1 / f - pi cot(pi f)) / f in 8 f^2 - 1, for f to 1/2", cotangent),
    ("ERFCX", "(1 + 2 x) erfcx(x), in (x - 3.75) / (x + 3.75), for x from 0", scaled_erfc),
    ("ERFINV_NEAR", "erfinv(x) / x, for w = -log(1 - x^2) from 0 to 6", near_erfinv),
    ("ERFINV_FAR", "erfinv(x), for sqrt(w) from sqrt(6) to 6", lambda u: erfinv_of(between(mp.sqrt(6), 6)(u) ** 2)[0]),
    ("ERFINV_FARTHEST", "erfinv(x), for sqrt(w) from 6 to 28", lambda u: erfinv_of(between(6, 28)(u) ** 2)[0]),
    ("I0_NEAR", "(1 + 3 x / 4) exp(-x) i0(x) for x from 0 to 8", scaled_i(0, True)),
    ("I0_FAR", "sqrt(x) exp(-x) i0(x), in 16 / x - 1, for x from 8", scaled_i(0, False)),
    ("I1_NEAR", "(1 + x / 2)^2 exp(-x) i1(x) / x for x from 0 to 8", scaled_i(1, True)),
    ("I1_FAR", "sqrt(x) exp(-x) i1(x), in 16 / x - 1, for x from 8", scaled_i(1, False)),
    ("J0_NEAR", "j0(x) in x^2 / 32 - 1, for x to 8", near_j(0)),
    ("J0_COSINE", "the amplitude of j0's cosine, in 128 / x^2 - 1, for x from 8", hankel(0, False)),
    ("J0_SINE", "x / 8 times the amplitude of j0's sine, likewise", hankel(0, True)),
    ("J1_NEAR", "j1(x) / x in x^2 / 32 - 1, for x to 8", near_j(1)),
    ("J1_COSINE", "the amplitude of j1's cosine, in 128 / x^2 - 1, for x from 8", hankel(1, False)),
    ("J1_SINE", "x / 8 times the amplitude of j1's sine, likewise", hankel(1, True)),
]


def main():
    lines = ["//! Chebyshev series of special functions, for [`Real::chebyshev`](crate::ops::real::Real::chebyshev). Made by"]
    lines += ["//! `fit/special.py`.", ""]
    for name, doc, function in SERIES:
        series = chebyshev(function)
        double, single = terms(series, 55), terms(series, 27)
        assert double < 90, (name, double)
        lines.append(f"/// Of {doc}.")
        lines.append(f"pub(super) const {name}: [f64; {double}] = [")
        lines += [f"    {float(c)!r}," for c in series[:double]]
        lines += ["];", f"/// Terms of it for an f32.", f"pub(super) const {name}_SINGLE: usize = {single};", ""]
        print(name, double, single, flush=True)
    TARGET.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
