"""PyTensor's elementwise ops and reductions, against PyTensor."""

import numpy as np
import pytest
from pytensor_cases import PY, Elemwise, compare, devices, ps, pt, pytensor, wp

RNG = np.random.default_rng(7)
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


UNARY = """abs ceil floor trunc neg sgn sign round exp exp2 expm1 log log2 log10 log1p sqr sqrt reciprocal sin cos tan arcsin
arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg erf erfc erfcx erfinv erfcinv gamma gammaln psi tri_gamma
i0 i1 j0 j1 sigmoid softplus log1mexp isnan isinf invert round_half_away_from_zero""".split()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary(dtype):
    x = pt.matrix("x", dtype=dtype)
    values = RNG.uniform(0.05, 0.9, (3, 4)).astype(dtype)
    outputs = []
    for name in UNARY:
        if name == "invert":
            continue
        function = getattr(pt, name, None)
        if function is None:
            continue
        argument = {"arccosh": x + 1, "log1mexp": -x}.get(name, x)
        outputs.append(function(argument))
    assert len(outputs) > 45
    compare([x], outputs, values, rtol=2e-4 if dtype == "float32" else 1e-9, on=devices())


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "bool"])
def test_unary_of_integers(dtype):
    x = pt.vector("x", dtype=dtype)
    values = np.array([1, 1, 3, 7, 100]).astype(dtype)
    outputs = [pt.sqrt(x), pt.exp(x / 10), pt.cast(x, "float32"), pt.cast(x, "int16"), pt.neq(x, 3)]
    if dtype != "bool":
        outputs += [x**2, pt.sgn(x), pt.floor(x), x.astype("bool"), abs(x)]
    compare([x], outputs, values)


@pytest.mark.parametrize(
    "dtypes",
    [
        ("float32", "float32"),
        ("float64", "float32"),
        ("int64", "int32"),
        ("int32", "float32"),
        ("int8", "uint8"),
        ("float32", "int64"),
    ],
)
def test_binary(dtypes):
    x, y = pt.matrix("x", dtype=dtypes[0]), pt.vector("y", dtype=dtypes[1])
    a = RNG.integers(1, 9, (3, 4)).astype(dtypes[0])
    b = RNG.integers(1, 5, 4).astype(dtypes[1])
    outputs = [
        x + y,
        x - y,
        x * y,
        x / y,
        x // y,
        x % y,
        x**y,
        pt.maximum(x, y),
        pt.minimum(x, y),
        x < y,
        x <= y,
        x > y,
    ]
    outputs += [x >= y, pt.eq(x, y), pt.neq(x, y), pt.switch(x > y, x, y), pt.clip(x, 2, 6), pt.arctan2(x, y)]
    outputs += [x + y + x + 2 * y, pt.second(x, pt.as_tensor(1.5)), x.fill(3)] if hasattr(x, "fill") else []
    compare([x, y], outputs, a, b)


def test_bits_and_special_functions():
    x, y, m = pt.ivector("x"), pt.ivector("y"), pt.vector("m", dtype="bool")
    a, b = np.array([1, 6, 12], "int32"), np.array([3, 5, 9], "int32")
    n = np.array([True, False, True])
    compare([x, y, m], [x & y, x | y, x ^ y, ~x, m & (x > 3), m | ~m, m ^ m], a, b, n)
    u, v = pt.vector("u"), pt.vector("v")
    outputs = [pt.gammainc(u, v), pt.gammaincc(u, v), pt.gammal(u, v), pt.gammau(u, v), pt.betainc(u, v, v / 9)]
    outputs += [pt.jv(u, v), pt.ive(u, v), pt.kve(u, v), pt.owens_t(u, v), pt.hyp2f1(u, v, u + v, v / 9)]
    outputs += [pt.polygamma(2, v), pytensor.tensor.xlogx.xlogx(u), pt.logaddexp(u, v), pt.logsumexp(u)]
    compare([u, v], outputs, RNG.uniform(0.5, 3, 5), RNG.uniform(0.5, 3, 5), rtol=1e-8)


def test_composites_broadcast():
    """An output that depends on one argument alone has the shape of all."""
    x, y, z = ps.float64("x"), ps.float64("y"), ps.float64("z")
    inner = ps.Composite([x, y], [ps.exp(x) * y, x + 1.0])
    outer = ps.Composite([x, y, z], [*inner(x, y), ps.sqr(z)])
    a, b, c = pt.row("a"), pt.col("b"), pt.matrix("c")
    r, k, m = RNG.normal(size=(1, 4)), RNG.normal(size=(3, 1)), RNG.normal(size=(3, 4))
    shape = np.zeros((3, 4))
    cases = [
        ([a, b, c], Elemwise(outer)(a, b, c), (r, k, m), [np.exp(r) * k, r + 1 + shape, m**2]),
        ([a, b], Elemwise(ps.Composite([x, y], [x + 1.0, y * 2.0]))(a, b), (r, k), [r + 1 + shape, k * 2 + shape]),
    ]
    for inputs, outputs, given, want in cases:
        for got in (
            wp.Simulator(pytensor.function(inputs, outputs, mode=PY), "host")(*given),
            pytensor.function(inputs, outputs, mode="workalike")(*given),
        ):
            assert all(np.allclose(mine, its) and mine.shape == its.shape for mine, its in zip(got, want))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool"])
def test_reductions(dtype):
    x = pt.tensor3("x", dtype=dtype)
    values = RNG.integers(0, 3, (2, 3, 4)).astype(dtype)
    outputs = []
    for axis in (None, 0, -1, (0, 2), (0, 1, 2)):
        outputs += [
            x.sum(axis),
            x.prod(axis),
            x.max(axis),
            x.min(axis),
            pt.argmax(x, axis),
            pt.all(x, axis),
            pt.any(x, axis),
        ]
        outputs += [x.mean(axis), x.sum(axis, keepdims=True)]
    outputs += [x.var(), x.astype("float64").std(0), pt.argmin(x.astype("float64"), 1), x.sum(dtype="float64")]
    compare([x], outputs, values, on=devices() if dtype == "float32" else ("host",))


def test_running_folds_and_sorts():
    x, v = pt.matrix("x"), pt.vector("v")
    a = RNG.normal(size=(3, 4))
    outputs = [
        pt.cumsum(x, 0),
        pt.cumprod(x, 1),
        pt.cumsum(x),
        pt.sort(x, 0),
        pt.sort(x),
        pt.argsort(x, 1),
        pt.sort(x, None),
    ]
    outputs += [pt.special.softmax(x, axis=0), pt.special.softmax(x, axis=-1), pt.special.softmax(x, axis=None)]
    outputs += [pt.special.log_softmax(x, axis=1), pt.special.log_softmax(x, axis=None)]
    outputs += [pt.searchsorted(pt.sort(v), x), pt.searchsorted(v, x, side="right", sorter=pt.argsort(v)), pt.unique(v)]
    outputs += [*pt.nonzero(x > 0), pt.repeat(x, 2, axis=0), pt.repeat(v, 3)]
    compare([x, v], outputs, a, np.array([0.5, -1, 0.5, 2]))
