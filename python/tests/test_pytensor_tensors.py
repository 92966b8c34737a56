"""PyTensor's ops of shapes, indices, matrices and loops, against PyTensor."""

import warnings

import numpy as np
import pytest
from pytensor_cases import PY, Mode, compare, ifelse, pt, pytensor, until, wp

import workalike as wa

RNG = np.random.default_rng(7)
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore:PyTensor could not"
)


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


def test_splits_by_lengths_that_are_arguments():
    x, lengths = pt.matrix("x"), pt.lvector("lengths")
    given = RNG.normal(size=(3, 6)), np.array([1, 0, 5])
    compare([x, lengths], pt.split(x, lengths, n_splits=3, axis=-1), *given)
    f = pytensor.function([x, lengths], pt.split(x, lengths, n_splits=3, axis=-1), mode=PY)
    with pytest.raises(wa.RunError, match="do not add up"):
        wp.Simulator(f, "host")(given[0], [1, 1, 1])


def test_second_derivatives_of_scans():
    x = pt.scalar("x")
    power = pytensor.scan(lambda a, x: a * x, outputs_info=[pt.constant(np.float64(1))], non_sequences=[x], n_steps=4)
    last = (power[0] if isinstance(power, tuple) else power)[-1]
    first = pt.grad(last, x)
    compare([x], [last, first, pt.grad(first, x), pt.grad(pt.grad(first, x), x)], 1.5)


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


def test_axes_joined_and_split_and_positions():
    x, i, j, k = pt.tensor3("x", dtype="float64"), pt.lvector("i"), pt.lvector("j"), pt.lvector("k")
    outputs = [pt.clip(x, 1.0, -1.0), pt.clip(x, -1.0, 1.0)]
    if hasattr(pt, "join_dims"):
        outputs += [pt.join_dims(x, 1, 2), pt.join_dims(x, 1, 0), pt.split_dims(x, (2, 2), axis=2)]
    for order in "CF":
        outputs += [pt.ravel_multi_index((i, j), (3, 5), order=order), *pt.unravel_index(k, (3, 5), order=order)]
    outputs += [pt.ravel_multi_index((2 * i, j), (3, 5), mode=mode) for mode in ("wrap", "clip")]
    given = np.random.default_rng(2).normal(size=(2, 3, 4)), np.array([0, 2, 1]), np.array([4, 0, 3])
    compare([x, i, j, k], outputs, *given, np.array([7, 14, 0]))
