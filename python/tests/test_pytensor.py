"""PyTensor's graphs: each op against PyTensor's own result, in three ways of compiling it."""

import pickle
import warnings

import numpy as np
import pytest

import workalike as wa

pytensor = pytest.importorskip("pytensor")

import pytensor.scalar as ps  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.graph.basic import Apply  # noqa: E402
from pytensor.graph.op import Op  # noqa: E402
from pytensor.ifelse import ifelse  # noqa: E402
from pytensor.scan.utils import until  # noqa: E402
from pytensor.tensor.elemwise import Elemwise  # noqa: E402

import workalike.pytensor as wp  # noqa: E402

PY = Mode("py", "fast_run")
RNG = np.random.default_rng(7)
OPENCL = any(name.startswith("opencl") for name in wa.devices())
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def listed(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def compare(inputs, outputs, *args, rtol=None, devices=("host",)):
    """Runs a graph in PyTensor and here: by a Simulator of the fused graph and of the lean one, and by the linker."""
    single = not isinstance(outputs, (list, tuple))
    fused, lean = (
        pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore")
        for mode in (PY, PY.excluding(*wp.WorkalikeLinker.incompatible_rewrites))
    )
    # Without a C compiler PyTensor's own fused ops are wrong for some integers and bools.
    want = listed(lean(*args))
    for device in devices:
        for way in ("fused", "lean", "linker"):
            if way == "linker":
                got = pytensor.function(inputs, outputs, mode=wp.mode(device), on_unused_input="ignore")(*args)
            else:
                got = wp.Simulator(fused if way == "fused" else lean, device)(*args)
            assert isinstance(got, np.ndarray) if single else isinstance(got, list)
            got = listed(got)
            assert len(got) == len(want)
            for mine, its, output in zip(got, want, listed(outputs)):
                its = np.asarray(its)
                assert mine.dtype == its.dtype == np.dtype(output.type.dtype), (way, device)
                assert mine.shape == its.shape, (way, device)
                narrow = {"float32": 2e-5, "float16": 2e-3}.get(str(its.dtype), 1e-9)
                np.testing.assert_allclose(
                    mine, its, rtol=rtol or narrow, atol=rtol or narrow, err_msg=f"{way} {device}"
                )


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
    compare([x], outputs, values, rtol=2e-4 if dtype == "float32" else 1e-9, devices=_devices(dtype))


def _devices(dtype="float32"):
    return ("host", "opencl") if OPENCL else ("host",)


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
    compare([x], outputs, values, devices=_devices() if dtype == "float32" else ("host",))


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


def test_shapes():
    x, n = pt.tensor3("x"), pt.lscalar("n")
    column = pt.tensor("column", dtype="float64", shape=(None, 1))
    a = RNG.normal(size=(2, 3, 4))
    outputs = [
        x.dimshuffle(2, "x", 0, 1),
        x.T,
        x.reshape((4, -1)),
        x.reshape((n, 12)),
        x.reshape(()) if False else x.ravel(),
    ]
    outputs += [
        x.shape,
        x.shape[1],
        x.shape.prod(),
        x.reshape((x.shape[0], x.shape[1] * x.shape[2])),
        column.squeeze(1),
    ]
    outputs += [
        column.dimshuffle(0),
        pt.alloc(n, 2, x.shape[1]),
        pt.alloc(column, 2, 3, 5),
        pt.zeros((n, 3)),
        pt.ones_like(x),
    ]
    outputs += [
        pt.stack([n, n * 2, x.shape[0]]),
        pt.arange(n),
        pt.arange(1, 7, n),
        pt.arange(0.0, 2.0, 0.5),
        pt.eye(n),
        pt.eye(3, n + 1, k=1),
    ]
    outputs += [
        pt.concatenate([x, x * 2], axis=1),
        pt.join(0, x, x[:1]),
        *pt.split(x, splits_size=[1, 2], n_splits=2, axis=1),
        pt.specify_shape(x, (None, 3, 4)) * 2,
    ]
    outputs += [
        pt.tri(3, 4, 1),
        pt.tril(x[0]),
        pt.triu(x[0], 1),
        pt.flip(x, 1),
        pt.roll(x, 1, axis=0),
        pt.tile(column, (1, 2)),
    ]
    outputs += [
        pt.diagonal(x, 0, 1, 2),
        pt.diag(column[:, 0]),
        pt.diag(x[0], 1),
        pt.linspace(0.0, 1.0, 5),
        pt.zeros((0, 2)),
        pt.broadcast_to(column, (3, 4)),
    ]
    outputs += [pt.moveaxis(x, 0, 2), pt.swapaxes(x, 0, 1), pt.expand_dims(x, 1), pt.outer(column[:, 0], column[:, 0])]
    compare([x, n, column], outputs, a, 2, RNG.normal(size=(3, 1)))


def test_indices():
    x, i, j, v = pt.matrix("x"), pt.lscalar("i"), pt.lscalar("j"), pt.lvector("v")
    a = RNG.normal(size=(5, 6))
    outputs = [
        x[1],
        x[-1],
        x[i],
        x[i, j],
        x[1:3],
        x[i:],
        x[:j],
        x[i:j, ::2],
        x[::-1],
        x[:, ::-2],
        x[i:j:2],
        x[-3:, -1],
        x[None, :, 0],
    ]
    outputs += [
        x[v],
        x[v, 1:3],
        x[:, v],
        x[v, v],
        x[v, j],
        x[v[:, None], v],
        x[2:, v],
        x[x > 0],
        x.flatten()[v],
        pt.take(x, v, axis=1),
    ]
    compare([x, i, j, v], outputs, a, 1, 3, np.array([0, 2, 2, -1]))


def test_replaced_elements():
    x, y, i, v = pt.matrix("x"), pt.vector("y"), pt.lscalar("i"), pt.lvector("v")
    a, b, positions = RNG.normal(size=(5, 6)), RNG.normal(size=6), np.array([0, 2, 2, -1])
    outputs = [
        x[0].set(y),
        x[i].inc(y),
        x[i:].set(0.0),
        x[1:3, ::2].inc(1.5),
        x[:, i].set(3),
        x[::-1].set(x * 2),
        x[...].inc(y),
    ]
    outputs += [
        x[v].inc(y),
        x[v, 1].inc(2.0),
        x[v, v].inc(1.0),
        x[:, v].set(1.0),
        x[[0, 3]].set(y),
        x[x > 0].set(0.0),
        x[i, 2].inc(1),
    ]
    compare([x, y, i, v], outputs, a, b, 1, positions)


def test_gradients_of_indices():
    x, v = pt.matrix("x"), pt.lvector("v")
    cost = (x[v] ** 2).sum() + (x[1:3, 2] ** 3).sum() + (x[v, v] * 2).sum()
    compare([x, v], pt.grad(cost, x), RNG.normal(size=(5, 6)), np.array([0, 2, 2, -1]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products(dtype):
    a, b, v = pt.matrix("a", dtype=dtype), pt.matrix("b", dtype=dtype), pt.vector("v", dtype=dtype)
    t = pt.tensor3("t", dtype=dtype)
    s = pt.scalar("s", dtype=dtype)
    outputs = [
        a @ b,
        a @ v,
        v @ a,
        v @ v,
        s * (a @ b),
        2 * (a @ b) + 0.5 * a,
        a + s * pt.outer(v, v),
        v + s * (a @ v),
        v - a.T @ v,
    ]
    outputs += [
        t @ t,
        t @ a,
        pt.tensordot(t, a, axes=[[2], [0]]),
        pt.batched_dot(t, t) if hasattr(pt, "batched_dot") else t @ t,
    ]
    outputs += [pt.einsum("ij,jk->ki", a, b), pt.dot(a, b).T, a.T @ b.T]
    given = [
        RNG.normal(size=(4, 4)),
        RNG.normal(size=(4, 4)),
        RNG.normal(size=4),
        RNG.normal(size=(2, 4, 4)),
        np.array(0.3),
    ]
    given = [array.astype(dtype) for array in given]
    compare([a, b, v, t, s], outputs, *given, rtol=1e-5 if dtype == "float32" else 1e-9)


def test_blas_ops_of_the_c_mode():
    a, b, v, s = pt.matrix("a"), pt.matrix("b"), pt.vector("v"), pt.scalar("s")
    outputs = [s * (a @ b) + 0.3 * b, v + s * (a @ v), a + s * pt.outer(v, v), 2 * (a @ b)]
    f = pytensor.function([a, b, v, s], outputs, mode=Mode("py", "fast_run"))
    names = {type(node.op).__name__ for node in f.maker.fgraph.toposort()}
    assert names & {"Gemm", "Gemv", "Ger", "Dot22", "Dot22Scalar", "CGemv", "CGer"}
    given = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=3), 0.7
    for got, want in zip(wp.Simulator(f, "host")(*given), f(*given)):
        np.testing.assert_allclose(got, want)


def test_linear_algebra():
    a, b, v, t = pt.matrix("a"), pt.matrix("b"), pt.vector("v"), pt.tensor3("t")
    spd = a @ a.T + 3 * pt.eye(4)
    low = pt.linalg.cholesky(spd)
    outputs = [
        low,
        pt.linalg.cholesky(spd, lower=False),
        pt.linalg.inv(spd),
        pt.linalg.det(spd),
        *pt.linalg.slogdet(spd),
    ]
    outputs += [pt.linalg.solve(spd, b), pt.linalg.solve(spd, v, b_ndim=1), pt.linalg.solve(spd, b, assume_a="pos")]
    outputs += [
        pt.linalg.solve_triangular(low, b, lower=True),
        pt.linalg.solve_triangular(low.T, v, lower=False, b_ndim=1),
    ]
    outputs += [pt.linalg.solve_triangular(low, b, lower=True, trans=1), pt.linalg.cho_solve((low, True), b)]
    batch = t @ t.mT + 3 * pt.eye(4)
    outputs += [pt.linalg.cholesky(batch), pt.linalg.inv(batch), pt.linalg.det(batch), pt.linalg.solve(batch, t)]
    outputs += [
        pt.linalg.solve(batch, b),
        pt.linalg.solve_triangular(low, t, lower=True),
        pt.grad(pt.log(pt.linalg.det(spd)), a),
    ]
    outputs += [pt.grad(pt.linalg.solve_triangular(low, b, lower=True).sum(), [a])[0]]
    given = [RNG.normal(size=shape) for shape in ((4, 4), (4, 4), (4,), (2, 4, 4))]
    compare([a, b, v, t], outputs, *given, rtol=1e-7)


def test_branches_inner_graphs_and_checks():
    x, c = pt.vector("x"), pt.bscalar("c")
    graph = pytensor.compile.builders.OpFromGraph([x], [pt.exp(x).sum(), x * 2])
    checked = pytensor.raise_op.Assert("x is positive")(x, pt.all(x > 0))
    outputs = [ifelse(c, x, x * 2 + 1), *graph(x + 1), checked * 2, x.copy()]
    for given in (0, 1):
        compare([x, c], outputs, np.array([1.0, 2.0]), given)
    sim = wp.Simulator(pytensor.function([x], checked * 2, mode=PY), "host")
    with pytest.raises(wa.RunError, match="x is positive"):
        sim([1.0, -2.0])


def test_scans():
    x, n, h0 = pt.matrix("x"), pt.lscalar("n"), pt.vector("h0")
    scan = pytensor.scan
    w = pytensor.shared(RNG.normal(size=(3, 3)) * 0.3, "w")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        power = scan(lambda a: a * h0, outputs_info=[pt.ones_like(h0)], n_steps=n)[0]
        rnn = scan(lambda row, h, w: pt.tanh(row + h @ w), sequences=[x], outputs_info=[h0], non_sequences=[w])[0]
        fib = scan(lambda a, b: a + b, outputs_info=[{"initial": x[:2, 0], "taps": [-2, -1]}], n_steps=n)[0]
        running = scan(lambda row: (row**2).sum(), sequences=[x])[0]
        ended = scan(lambda a: (a * 2, until(a > 5)), outputs_info=[pt.constant(1.0)], n_steps=20)[0]
        taps = scan(lambda a, b: a - b, sequences=[{"input": x, "taps": [-1, 0]}])[0]
        reverse = scan(lambda a, s: a + s, sequences=[x], outputs_info=[h0], go_backwards=True)[0]
    outputs = [power, power[-1], rnn, rnn[-1], fib, fib[-1], running, ended, ended[-1], taps, reverse, rnn.sum(0)]
    outputs += list(pt.grad((rnn**2).sum(), [x, h0, w])) + [pt.grad(power[-1].sum(), h0), pt.grad((fib**2).sum(), x)]
    compare([x, n, h0], outputs, RNG.normal(size=(6, 3)), 5, RNG.normal(size=3), rtol=1e-8)


def accumulator(mode=PY):
    state, inc = pytensor.shared(np.int64(0), "state"), pt.lscalar("inc")
    add = pytensor.function([inc], state, updates=[(state, state + inc)], mode=mode)
    sub = pytensor.function([inc], state, updates=[(state, state - inc)], mode=mode)
    return state, add, sub


def test_the_protocol():
    state, add, sub = accumulator()
    sim = wp.Simulator(add, device="host")
    assert sim(1) == 0 and sim(inc=2) == 1 and sim.run_n(10, 1) == 12
    assert state.get_value() == 0 and sim.get_value(state) == 13
    assert sim.sync_to_pytensor() == ["state"] and state.get_value() == 13 and sim.sync_to_pytensor() == []
    sim.add_method("sub", sub)
    assert sim["sub"](3) == 13 and sim["sub"].run_n(2, 3) == 7 and sim.methods == ["main", "sub"]
    sim.sync_to_pytensor()
    assert add(0) == 4
    state.set_value(100)
    assert sim.sync_from_pytensor() == ["state"] and sim(0) == 100
    add(5)
    assert sim.sync_from_pytensor(keep="pytensor") == ["state"] and sim(0) == 105
    with pytest.raises(KeyError, match="sub"):
        sim["mul"]
    sim(1)
    state.set_value(7)
    with pytest.raises(wa.StateConflict):
        sim.sync_to_pytensor()
    sim.sync_to_pytensor(keep="simulator")
    assert state.get_value() == 106
    assert sim.run_n(3, wa.each(np.arange(3))) == 107


def test_results_have_pytensors_form():
    x = pt.vector("x")
    one, several, nothing, empty = (
        pytensor.function([x], outputs, mode=PY, on_unused_input="ignore")
        for outputs in (x * 2, [x * 2, x.sum()], None, [])
    )
    assert isinstance(wp.Simulator(one, "host")([1.0]), np.ndarray)
    assert isinstance(wp.Simulator(several, "host")([1.0]), list)
    assert isinstance(wp.Simulator(pytensor.function([x], [x + 1], mode=PY), "host")([1.0]), list)
    assert wp.Simulator(nothing, "host")([1.0]) == nothing([1.0])
    assert wp.Simulator(empty, "host")([1.0]) == empty([1.0])
    same = wp.Simulator(pytensor.function([x], [x, x * 2, x], mode=PY), "host")([1.0, 2.0])
    assert [part.tolist() for part in same] == [[1, 2], [2, 4], [1, 2]]


def regression(mode):
    rng = np.random.default_rng(3)
    x, y = pt.matrix("x"), pt.vector("y")
    w, b = pytensor.shared(rng.normal(size=4), "w"), pytensor.shared(0.0, "b")
    p = pt.sigmoid(x @ w + b)
    cost = pt.mean(-y * pt.log(p) - (1 - y) * pt.log(1 - p)) + 0.01 * (w**2).sum()
    updates = [(w, w - 0.1 * pt.grad(cost, w)), (b, b - 0.1 * pt.grad(cost, b))]
    return pytensor.function([x, y], [p > 0.5, cost], updates=updates, mode=mode), w, b


@pytest.mark.parametrize("device", _devices())
def test_logistic_regression(device):
    rng = np.random.default_rng(5)
    xs = rng.normal(size=(40, 4))
    ys = (xs[:, 0] > 0).astype("float64")
    f, w, b = regression(PY)
    sim = wp.Simulator(f, device)
    sim.run_n(30, xs, ys)
    for _ in range(30):
        f(xs, ys)
    want = w.get_value(), b.get_value()
    np.testing.assert_allclose(sim.get_value(w), want[0], rtol=1e-9)
    np.testing.assert_allclose(sim.get_value(b), want[1], rtol=1e-9)
    assert sim(xs, ys)[1] < 0.6
    linked, w, b = regression(wp.mode(device))
    for _ in range(30):
        linked(xs, ys)
    np.testing.assert_allclose(w.get_value(), want[0], rtol=1e-9)


def test_a_network():
    rng = np.random.default_rng(5)
    shapes = ((5, 8), (8,), (8, 3), (3,))
    x, y = pt.fmatrix("x"), pt.lvector("y")
    parameters = [
        pytensor.shared((rng.normal(size=shape) * 0.3).astype("float32"), f"p{at}") for at, shape in enumerate(shapes)
    ]
    w1, b1, w2, b2 = parameters
    p = pt.special.softmax(pt.tanh(x @ w1 + b1) @ w2 + b2, axis=-1)
    cost = -pt.log(p[pt.arange(y.shape[0]), y]).mean()
    updates = [(q, q - np.float32(0.2) * g) for q, g in zip(parameters, pt.grad(cost, parameters))]
    f = pytensor.function([x, y], cost, updates=updates, mode=PY)
    xs, ys = rng.normal(size=(30, 5)).astype("float32"), rng.integers(0, 3, 30)
    sim = wp.Simulator(f, "auto")
    last = sim.run_n(50, xs, ys)
    want = [f(xs, ys) for _ in range(50)][-1]
    np.testing.assert_allclose(last, want, rtol=1e-3)
    assert sim(xs, ys) < 0.9 * np.log(3)


def test_spiking_neurons():
    v, r = pytensor.shared(np.zeros(20, "float32"), "v"), pytensor.shared(np.zeros(20, "float32"), "r")
    current = pt.fvector("current")
    waits = r > 0
    moved = pt.switch(waits, np.float32(0), v + np.float32(0.05) * (current - v))
    spikes = moved > 1
    updates = [
        (v, pt.switch(spikes, np.float32(0), moved)),
        (r, pt.switch(spikes, np.float32(2), pt.maximum(r - np.float32(1), 0).astype("float32"))),
    ]
    f = pytensor.function([current], spikes, updates=updates, mode=PY)
    sim = wp.Simulator(f, "host")
    given = np.linspace(0, 4, 20).astype("float32")
    mine = sim.run_n_collect(100, given)
    its = np.stack([f(given) for _ in range(100)])
    assert np.array_equal(mine, its) and its.sum() > 10


def test_export(tmp_path):
    state, add, sub = accumulator()
    wp.export(add, tmp_path / "add.walk")
    add.trust_input = False
    loaded = wa.Function.load(tmp_path / "add.walk")
    assert [loaded(5).item(), loaded(5).item()] == [0, 5] and state.get_value() == 0
    wp.export({"add": add, "sub": sub}, tmp_path / "both.walk")
    bundle = wa.Bundle.load(tmp_path / "both.walk")
    bundle["add"](5)
    assert bundle["sub"](1) == 5
    function, pairs = wp.function_of(add)
    assert isinstance(function, wa.Function) and len(pairs) == 1 and pairs[0][0].storage is state.container.storage


class Unknown(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2


class Doubled(Unknown):
    pass


def test_unknown_ops_are_refused_and_registered():
    x = pt.vector("x")
    f = pytensor.function([x], Unknown()(x) + 1, mode=PY)
    with pytest.raises(wp.UnsupportedOp, match=r"Unknown[\s\S]*node[\s\S]*convert.register") as caught:
        wp.Simulator(f, "host")
    assert isinstance(caught.value, wa.Error) and isinstance(caught.value, NotImplementedError)
    with pytest.raises(wp.UnsupportedOp, match="Unknown"):
        pytensor.function([x], Unknown()(x) + 1, mode="workalike")

    @wp.convert.register(Doubled)
    def doubled(op, node, inputs, context):
        return [inputs[0] * 2]

    compare([x], Doubled()(x) + 1, np.arange(3.0))


def test_refusals_say_what_to_do():
    z = pt.zvector("z")
    with pytest.raises(wp.UnsupportedOp, match="pairs of reals"):
        wp.Simulator(pytensor.function([z], z * 2, mode=PY), "host")
    a = pt.matrix("a")
    with pytest.raises(wp.UnsupportedOp, match="SVD"):
        wp.Simulator(pytensor.function([a], pt.linalg.svd(a), mode=PY), "host")
    state, add, _ = accumulator()
    sim = wp.Simulator(add, "host")
    for call in (lambda: sim(), lambda: sim(1, 2), lambda: sim(1, wrong=2)):
        with pytest.raises(wa.ArgumentError):
            call()
    with pytest.raises(wa.ArgumentError, match="expected a compiled function"):
        wp.Simulator(a)
    state.container.storage[0] = np.zeros(3)
    with pytest.raises(wa.ArgumentError, match="holds float64 with 1 axes"):
        sim.sync_from_pytensor()
    with pytest.raises(wa.ArgumentError):
        wp.Simulator(pytensor.function([a], a + 1, mode=PY), "host")(np.zeros(3))


def test_modes_and_pickles():
    x = pt.vector("x")
    w = pytensor.shared(np.ones(3), "w")
    f = pytensor.function([x], (w * x).sum(), updates=[(w, w * 2)], mode="workalike")
    assert type(f.maker.linker) is wp.WorkalikeLinker
    assert f(np.arange(3.0)) == 3 and f(np.arange(3.0)) == 6 and w.get_value().tolist() == [4, 4, 4]
    assert isinstance(f(np.arange(3.0)), np.ndarray)
    g = pickle.loads(pickle.dumps(f))
    assert g(np.arange(3.0)) == f(np.arange(3.0))
    linker = pickle.loads(pickle.dumps(wp.WorkalikeLinker(device="opencl")))
    assert linker.device == "opencl" and repr(linker) == "WorkalikeLinker(device='opencl')"
    assert pickle.loads(pickle.dumps(wp.mode("auto"))).linker.device == "auto"


def test_draws():
    rng = pytensor.shared(np.random.default_rng(1), "rng")
    x = pt.vector("x")
    draws = [
        ("normal", (x, 2.0)),
        ("uniform", (x, x + 2)),
        ("bernoulli", (0.3,)),
        ("integers", (2, 6)),
        ("exponential", (2.0,)),
    ]
    nexts, outputs, state = [], [], rng
    for name, parameters in draws:
        node = getattr(pt.random, name)(*parameters, size=(4000, 2), rng=state).owner
        state = node.outputs[0]
        outputs.append(node.outputs[1])
    node = pt.random.categorical(pt.as_tensor([0.2, 0.5, 0.3]), size=(4000, 2), rng=state).owner
    f = pytensor.function([x], [*outputs, node.outputs[1]], updates=[(rng, node.outputs[0])], mode=PY)
    with pytest.warns(UserWarning, match="draws random numbers of its own"):
        sim = wp.Simulator(f, "host")
    with pytest.warns(UserWarning, match="draws random numbers of its own"):
        linked = pytensor.function([x], [*outputs, node.outputs[1]], updates=[(rng, node.outputs[0])], mode="workalike")
    for mine in (sim, linked):
        first, second = mine(np.array([0.0, 1.0])), mine(np.array([0.0, 1.0]))
        assert not np.array_equal(first[0], second[0])
        for got, want in zip(first, f(np.array([0.0, 1.0]))):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got.mean(0), want.mean(0), atol=0.15)
            np.testing.assert_allclose(got.std(0), want.std(0), atol=0.15)
    assert nexts == []


def test_pytensor_is_not_imported():
    import subprocess
    import sys

    code = "import sys, workalike; sys.exit('pytensor' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
