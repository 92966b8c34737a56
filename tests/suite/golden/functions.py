#!/usr/bin/env python3
"""Makes `functions.txt`, `special.txt`, `integers.txt` and `types.txt` beside it: elementwise ops at special values.

    pip install numpy scipy ml_dtypes mpmath
    python3 tests/suite/golden/functions.py

Functions of floats are computed by mpmath in 60 digits and rounded once; at infinities, NaN and poles they are what NumPy and SciPy
say. Operations on integers are NumPy's, but for division by 0 and powers below 0.
"""

import itertools

import mpmath as mp
import numpy as np
import scipy.special as sp
from make import line, narrow, write

mp.mp.dps = 60
sp.seterr(all="ignore")


def log_gamma(x):
    if x <= 0 and x == mp.floor(x):
        raise ZeroDivisionError
    return mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x)


def erfinv(x):
    if abs(x) > 1:
        raise ValueError
    a = abs(x)
    if a == 0 or a == 1:
        raise ValueError
    if a < mp.mpf("1e-20"):
        return x * mp.sqrt(mp.pi) / 2 * (1 + mp.pi * a * a / 12)
    return mp.sign(x) * complement(1 - a)


def complement(m):
    """erfcinv, for m in (0, 1]."""
    if m == 1:
        return mp.mpf(0)
    y = mp.erfinv(1 - m) if m > mp.mpf("1e-10") else mp.sqrt(-mp.log(m * mp.sqrt(-mp.pi * mp.log(m))))
    for _ in range(60):
        step = (m - mp.erfc(y)) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        step /= 1 + y * step
        y -= step
        if abs(step) < mp.mpf(10) ** -50 * (1 + abs(y)):
            break
    return y


def erfcinv(x):
    if not 0 < x < 2:
        raise ValueError
    return complement(x) if x <= 1 else -complement(2 - x)


def real(function):
    def value(*args):
        y = function(*args)
        if isinstance(y, mp.mpc):
            raise ValueError
        return y

    return value


LN2 = mp.log(2)
# Name: mpmath's, and NumPy's or SciPy's.
UNARY = {
    "absolute": (abs, np.abs),
    "sign": (mp.sign, np.sign),
    "reciprocal": (lambda x: 1 / x, np.reciprocal),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), np.cbrt),
    "floor": (mp.floor, np.floor),
    "ceil": (mp.ceil, np.ceil),
    "trunc": (lambda x: mp.sign(x) * mp.floor(abs(x)), np.trunc),
    "rint": (mp.nint, np.rint),
    "round_half_away_from_zero": (lambda x: mp.sign(x) * mp.floor(abs(x) + mp.mpf("0.5")), lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)),
    "exp2": (lambda x: mp.mpf(2) ** x, np.exp2),
    "expm1": (mp.expm1, np.expm1),
    "log2": (real(lambda x: mp.log(x) / LN2), np.log2),
    "log10": (real(lambda x: mp.log(x) / mp.log(10)), np.log10),
    "log1p": (real(mp.log1p), np.log1p),
    "log1mexp": (real(lambda x: mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x))), lambda x: np.log(-np.expm1(x))),
    "tan": (mp.tan, np.tan),
    "arcsin": (real(mp.asin), np.arcsin),
    "arccos": (real(mp.acos), np.arccos),
    "arctan": (mp.atan, np.arctan),
    "sinh": (mp.sinh, np.sinh),
    "cosh": (mp.cosh, np.cosh),
    "arcsinh": (mp.asinh, np.arcsinh),
    "arccosh": (real(mp.acosh), np.arccosh),
    "arctanh": (real(mp.atanh), np.arctanh),
    "deg2rad": (lambda x: x * mp.pi / 180, np.deg2rad),
    "rad2deg": (lambda x: x * 180 / mp.pi, np.rad2deg),
    "softplus": (lambda x: mp.log1p(mp.exp(x)) if x < 100 else x, lambda x: np.logaddexp(x, 0)),
    "softsign": (lambda x: x / (1 + abs(x)), lambda x: x / (1 + abs(x))),
    "hard_sigmoid": (lambda x: min(max(x * mp.mpf(0.2) + mp.mpf(0.5), 0), 1), lambda x: np.clip(x * 0.2 + 0.5, 0, 1)),
    "xlogx": (real(lambda x: x * mp.log(x)), lambda x: sp.xlogy(x, x)),
    "erf": (mp.erf, sp.erf),
    "erfc": (mp.erfc, sp.erfc),
    "erfcx": (lambda x: mp.erfc(x) * mp.exp(x * x) if x < 100 else 1 / (mp.sqrt(mp.pi) * x) * mp.hyp2f0(mp.mpf(1) / 2, 1, -1 / (x * x)), sp.erfcx),
    "erfinv": (erfinv, sp.erfinv),
    "erfcinv": (erfcinv, sp.erfcinv),
    "ndtri": (lambda x: -mp.sqrt(2) * erfcinv(2 * x), sp.ndtri),
    "gamma": (mp.gamma, sp.gamma),
    "gammaln": (log_gamma, lambda x: np.where(np.isinf(x), np.inf, sp.gammaln(x))),
    "digamma": (mp.digamma, sp.digamma),
    # The limits at infinity, which SciPy lacks.
    "trigamma": (lambda x: mp.psi(1, x), lambda x: np.where(x == -np.inf, np.nan, sp.polygamma(1, x))),
    "i0": (lambda x: mp.besseli(0, x), lambda x: np.where(np.isinf(x), np.inf, sp.i0(x))),
    "i1": (lambda x: mp.besseli(1, x), lambda x: np.where(np.isinf(x), x, sp.i1(x))),
    "j0": (lambda x: mp.besselj(0, x), lambda x: np.where(np.isinf(x), 0, sp.j0(x))),
    "j1": (lambda x: mp.besselj(1, x), lambda x: np.where(np.isinf(x), 0, sp.j1(x))),
}
BINARY = {
    "power": (real(mp.power), lambda a, b: np.power(np.longdouble(a), np.longdouble(b))),
    "hypot": (lambda a, b: mp.sqrt(a * a + b * b), np.hypot),
    "arctan2": (mp.atan2, np.arctan2),
    "logaddexp": (lambda a, b: max(a, b) + mp.log1p(mp.exp(-abs(a - b))), np.logaddexp),
    "xlogy": (real(lambda a, b: a * mp.log(b)), sp.xlogy),
    "xlog1py": (real(lambda a, b: a * mp.log1p(b)), sp.xlog1py),
}
# Exact as NumPy has them.
BINARY_EXACT = ["floor_divide", "remainder", "fmod", "copysign", "nextafter"]
HUGE = {"gamma": 1e4, "i0": 1e4, "i1": 1e4, "j0": 1e12, "j1": 1e12, "exp2": 1e5, "expm1": 1e5, "sinh": 1e5, "cosh": 1e5, "erfcx": 1e300, "gammaln": 1e40, "digamma": 1e40, "trigamma": 1e6, "power": 1e6}


def wide(value):
    # mpmath takes too long to print numbers beyond the range of floats.
    if abs(value) > mp.mpf("1e4000"):
        return np.longdouble(np.inf) * int(mp.sign(value))
    if abs(value) < mp.mpf("1e-4000"):
        return np.longdouble(0) * int(mp.sign(value))
    return np.longdouble(mp.nstr(value, 30, min_fixed=0, max_fixed=0, strip_zeros=False).replace("+inf", "inf"))


def exact(function, plain, args, huge=mp.inf):
    theirs = np.longdouble(plain(*[np.float64(a) for a in args]))
    if not all(np.isfinite(a) for a in args) or any(abs(a) > huge for a in args):
        return theirs
    try:
        y = function(*[mp.mpf(float(a)) for a in args])
        if mp.isnan(y) or (len(args) > 1 and 0 in args):
            return theirs
        if y == 0:
            return theirs if theirs == 0 else np.longdouble(0)
        return wide(y)
    except (ValueError, ZeroDivisionError, OverflowError, mp.libmp.libhyper.NoConvergence):
        return theirs


def points(dtype, rng):
    info = np.finfo(dtype)
    special = [0.0, float(info.smallest_subnormal), float(info.tiny), 1e-20, 1e-5, 0.1, 0.25, 0.4999, 0.5, 0.75, 0.999, 1.0, 1.4616321, 1.5, 1.999]
    special += [2.0, 2.5, 3.0, 5.5, 7.99, 8.0, 8.01, 9.5, 10.0, 12.0, 20.5, 26.0, 34.9, 80.0, 88.7, 103.9, 170.5, 171.8, 708.0, 744.0, 1e4, 1e10]
    special += [float(info.max) / 2, float(info.max), np.inf]
    values = special + [-v for v in special] + [np.nan]
    values += list(rng.uniform(-1, 1, 40)) + list(rng.uniform(0, 2, 15)) + list(rng.normal(size=15) * 8) + list(10.0 ** rng.uniform(-8, 0, 10))
    return np.array(values).astype(dtype)


def functions():
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for dtype in [np.dtype("float32"), np.dtype("float64")]:
            x = points(dtype, rng)
            yield line(f"x.{dtype.name}", x)
            for name, (function, plain) in UNARY.items():
                huge = HUGE.get(name, mp.inf)
                y = np.array([exact(function, plain, [v], huge) for v in x], dtype=np.longdouble)
                yield line(f"{name}.{dtype.name}", narrow(y, dtype))
            some = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, 1e-3, -7.25, 30.0, 1e10, np.inf, -np.inf, np.nan])
            a = np.repeat(some, len(some)).astype(dtype)
            b = np.tile(some, len(some)).astype(dtype)
            a = np.concatenate([a, rng.normal(size=40).astype(dtype) * 5, np.abs(rng.normal(size=40)).astype(dtype)])
            b = np.concatenate([b, rng.normal(size=40).astype(dtype) * 5, rng.normal(size=40).astype(dtype) * 9])
            yield line(f"a.{dtype.name}", a)
            yield line(f"b.{dtype.name}", b)
            for name, (function, plain) in BINARY.items():
                y = np.array([exact(function, plain, pair, HUGE.get(name, mp.inf)) for pair in zip(a, b)], dtype=np.longdouble)
                yield line(f"{name}.{dtype.name}", narrow(y, dtype))
            for name in BINARY_EXACT:
                yield line(f"{name}.{dtype.name}", getattr(np, name)(a, b))
            # For zeros of both signs, NumPy's vector loops and scalar loops differ.
            yield line(f"fmax.{dtype.name}", np.where((a >= b) | np.isnan(b), a, b))
            yield line(f"fmin.{dtype.name}", np.where((a <= b) | np.isnan(b), a, b))
            yield line(f"signbit.{dtype.name}", np.signbit(x))


def lower(a, x):
    """gammainc by its power series, whose terms have one sign."""
    term = total = 1 / a
    n = 0
    while term > total * mp.mpf(10) ** -mp.mp.dps:
        n += 1
        term *= x / (a + n)
        total += term
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a)) * total


def upper(a, x):
    with mp.workdps(800):
        return 1 - lower(a, x)


def incomplete_beta(a, b, x):
    """By the power series, whose terms have one sign, of x or of 1 - x."""
    if x > 0.5:
        with mp.workdps(400):
            return 1 - incomplete_beta(b, a, 1 - x)
    term = total = 1 / a
    n = 0
    while term > total * mp.mpf(10) ** -mp.mp.dps:
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        n += 1
    return mp.exp(a * mp.log(x) + b * mp.log1p(-x) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)) * total


def owen(h, a):
    if h == 0 or a == 0:
        return mp.atan(a) / (2 * mp.pi)
    top = min(abs(a), 30 / abs(h))
    pieces = [0] + [top * mp.mpf(2) ** -k for k in range(40, -1, -1)]
    return mp.sign(a) * mp.exp(-h * h / 2) / (2 * mp.pi) * mp.quad(lambda t: mp.exp(-((h * t) ** 2) / 2) / (1 + t * t), pieces)


def limits(function, at_infinity):
    """SciPy's values, with the limits at infinity, which it lacks."""
    return lambda order, x: np.where(np.isinf(x), at_infinity(order, x), function(order, x))


def signed(order, x):
    return np.where(x > 0, np.inf, np.where(order % 2 == 0, np.inf, np.where(order % 1 == 0, -np.inf, np.nan)))


def zero(order, x):
    return np.where((x > 0) | (order % 1 == 0), 0, np.nan)


def grid(*axes):
    return [list(column) for column in zip(*itertools.product(*axes))]


def pairs(*points):
    return [list(column) for column in zip(*points)]


def both(*columns):
    return [sum(parts, []) for parts in zip(*columns)]


INF, NAN = np.inf, np.nan
GAMMA = both(
    grid([0.0, 1e-10, 0.05, 0.5, 1.0, 2.5, 12.0, 29.0, 31.0, 250.0], [0.0, 1e-12, 0.3, 1.0, 1.2, 3.5, 28.0, 33.0, 100.0, 255.0, 700.0]),
    pairs((1e4, 9e3), (1e4, 1e4), (1e4, 10250.0), (1e4, 5e3), (1e4, 17e3), (-1.0, 1.0), (1.0, -1.0), (2.0, INF), (INF, 2.0), (INF, INF), (0.0, INF), (NAN, 1.0), (1.0, NAN)),
)
BESSEL = both(
    grid([0.0, 1.0, 2.0, 7.0, 0.5, 1.75, 30.25, 150.0, 250.5], [1e-8, 0.25, 1.0, 5.5, 20.0, 29.0, 31.0, 45.0, 120.0, 300.0, 690.0]),
    grid([-1.0, -2.0, 3.0], [-0.5, -25.0, -60.0]),
    grid([-0.5, -1.25, -7.5], [0.1, 4.0, 28.0, 100.0, -1.0]),
    pairs((0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (3.0, 1e5), (0.25, 1e6), (0.0, INF), (1.0, INF), (2.0, -INF), (0.5, -INF), (NAN, 1.0), (0.5, NAN)),
)
# Name: mpmath's, SciPy's, and the arguments.
SEVERAL = {
    "gammainc": (lower, sp.gammainc, GAMMA),
    "gammaincc": (upper, sp.gammaincc, GAMMA),
    "betainc": (
        incomplete_beta,
        sp.betainc,
        both(
            grid([1e-6, 0.25, 1.0, 3.5, 80.0, 1500.0], [1e-7, 0.5, 2.0, 9.25, 400.0], [1e-6, 0.125, 0.5, 0.75, 0.9990234375]),
            grid([0.0, 1.0, INF], [0.0, 2.0, INF], [0.0, 0.5, 1.0]),
            pairs((-1.0, 1.0, 0.5), (1.0, -1.0, 0.5), (1.0, 1.0, -0.1), (1.0, 1.0, 1.1), (NAN, 1.0, 0.5), (1.0, 1.0, NAN)),
        ),
    ),
    "polygamma": (
        lambda n, x: mp.psi(int(n), x) if n >= 0 and n == mp.floor(n) else mp.nan,
        sp.polygamma,
        both(
            grid([0.0, 1.0, 2.0, 3.0, 6.0, 21.0], [1e-3, 0.25, 1.0, 1.5, 5.0, 12.5, 60.0, 1e4, -0.1, -0.75, -3.25, -20.125, 0.0, INF]),
            pairs((60.0, 0.5), (60.0, 700.0), (1.0, -1.0), (2.0, -1.0), (1.0, -INF), (2.0, -INF), (-1.0, 2.0), (1.5, 2.0), (1.0, NAN), (NAN, 1.0)),
        ),
    ),
    "jv": (mp.besselj, limits(sp.jv, zero), BESSEL),
    "iv": (mp.besseli, limits(sp.iv, signed), BESSEL),
    "ive": (lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)), limits(sp.ive, zero), BESSEL),
    "kve": (lambda v, x: mp.besselk(v, x) * mp.exp(x) if x > 0 else mp.nan, limits(sp.kve, lambda v, x: np.where(x > 0, 0, np.nan)), BESSEL),
    "owens_t": (
        owen,
        sp.owens_t,
        both(
            grid([0.0, 1e-6, 0.1, 0.6, 1.0, 3.5, 12.0, 36.0, -2.0], [0.0, 1e-6, 0.25, 0.875, 1.0, 1.5, 8.0, 400.0, -3.0]),
            pairs((INF, 1.0), (1.0, INF), (1.0, -INF), (INF, INF), (0.0, INF), (NAN, 1.0), (1.0, NAN)),
        ),
    ),
    "hyp2f1": (
        lambda a, b, c, z: mp.nan if z > 1 else mp.hyp2f1(a, b, c, z),
        sp.hyp2f1,
        both(
            grid([0.5, 1.0, -1.75, 6.25], [1.0, 2.5, -0.5], [0.75, 3.0, 9.5, -2.5], [-300.0, -3.0, -0.75, -0.25, 0.375, 0.625, 0.9375, 0.9990234375]),
            pairs((-2.0, 1.5, 2.5, 0.5), (-5.0, 7.0, 2.5, -8.0), (1.5, 7.0, 4.5, 0.875), (0.25, 0.5, 2.0, 1.0), (3.5, -0.5, 2.0, 1.0)),
            pairs((1.0, 2.0, 3.0, 1.0), (1.0, 2.0, 4.0, 1.0), (1.0, 2.0, 3.0, 1.5), (-1.0, 2.0, 3.0, 1.5), (0.5, 0.5, -1.0, 0.5), (-1.0, 0.5, -2.0, 0.5)),
            pairs((-3.0, 0.5, -2.0, 0.5), (0.0, 2.0, 3.0, 5.0), (1.0, 2.0, 0.0, 0.0), (1.0, 2.0, 0.0, 0.5), (2.0, 3.0, 2.0, 0.5), (5.0, 3.0, 3.0, -1.0)),
            pairs((-1.0, 2.0, 3.0, INF), (1.0, 2.0, 3.0, INF), (1.0, 2.0, 3.0, -INF), (1.0, 2.0, 3.0, NAN), (NAN, 2.0, 3.0, 0.5)),
        ),
    ),
}


def special():
    with np.errstate(all="ignore"):
        for dtype in [np.dtype("float32"), np.dtype("float64")]:
            for name, (function, plain, columns) in SEVERAL.items():
                columns = [np.array(column).astype(dtype) for column in columns]
                values = []
                for point in zip(*columns):
                    args = [mp.mpf(float(a)) for a in point]
                    theirs = np.longdouble(plain(*[np.float64(a) for a in point]))
                    try:
                        value = function(*args) if all(map(np.isfinite, point)) else mp.nan
                        y = theirs if isinstance(value, mp.mpc) or not mp.isfinite(value) else wide(value)
                    except (ValueError, ZeroDivisionError, OverflowError, mp.libmp.libhyper.NoConvergence):
                        y = theirs
                    values.append(y)
                for at, column in enumerate(columns):
                    yield line(f"{name}.{at}.{dtype.name}", column)
                yield line(f"{name}.{dtype.name}", narrow(np.array(values, dtype=np.longdouble), dtype))


INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()


def integers():
    rng = np.random.default_rng(8)
    with np.errstate(all="ignore"):
        for name in ["bool", *INTEGERS]:
            dtype = np.dtype(name)
            if name == "bool":
                some = np.array([False, True])
            else:
                info = np.iinfo(dtype)
                some = [info.min, info.max, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64] + ([-1, -2, -7] if info.min else [])
                some = np.array(some + list(rng.integers(info.min, info.max, 2, dtype=dtype)), dtype=dtype)
            a, b = np.repeat(some, len(some)), np.tile(some, len(some))
            yield line(f"a.{name}", a)
            yield line(f"b.{name}", b)
            for op in "floor_divide remainder fmod bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_xor fmax fmin".split():
                yield line(f"{op}.{name}", getattr(np, op)(a, b))
            whole, power = (a.astype(np.int8), b.astype(np.int8)) if name == "bool" else (a, b)
            positive = np.where(power < 0, 0, power).astype(power.dtype)
            y = np.power(whole, positive)
            below = np.where(whole == 1, 1, np.where(whole == -1, np.where(power % 2 == 0, 1, -1), 0)) if whole.dtype.kind == "i" else y
            yield line(f"power.{name}", np.where(power < 0, below, y).astype(whole.dtype))
            for op in "absolute invert sign floor ceil trunc isnan isinf isfinite signbit".split():
                if op == "sign" and name == "bool":
                    continue
                yield line(f"{op}.{name}", getattr(np, op)(a))


# Dtypes that NumPy gives, or "-" where it refuses.
TYPED = """absolute sign floor ceil trunc rint reciprocal invert signbit isnan isinf isfinite cbrt exp2 expm1 log2 log10 log1p arctan deg2rad
 negative floor_divide remainder fmod power bitwise_and left_shift right_shift logical_xor arctan2 hypot copysign logaddexp fmax true_divide""".split()


def types():
    for op in TYPED:
        function = getattr(np, op)
        for name in ["bool", *INTEGERS, "float16", "float32", "float64"]:
            args = [np.ones(1, name)] * function.nin
            try:
                with np.errstate(all="ignore"):
                    yield f"{op}.{name} {function(*args).dtype.name}"
            except TypeError:
                yield f"{op}.{name} -"


if __name__ == "__main__":
    for make in [functions, special, integers, types]:
        write(make.__name__, list(make()))
