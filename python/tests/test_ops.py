"""Every function against NumPy's or SciPy's of the same name."""

from pathlib import Path

import numpy as np
import pytest

import workalike as wa
from workalike import _workalike

scipy = pytest.importorskip("scipy.special")
ROWS, METHODS = _workalike.methods()
RANDOM = np.random.default_rng(3)

# Names of other libraries for rows that NumPy does not have, or that have another name there.
ELSEWHERE = {
    "sqr": np.square,
    "sigmoid": scipy.expit,
    "gamma": scipy.gamma,
    "gammaln": scipy.gammaln,
    "psi": scipy.psi,
    "digamma": scipy.psi,
    "trigamma": lambda x: scipy.polygamma(1, x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "log1mexp": lambda x: np.log1p(-np.exp(x)),
    "log1pexp": lambda x: np.logaddexp(x, 0),
    "xlogx": lambda x: scipy.xlogy(x, x),
    "trunc_divide": lambda x, y: np.trunc(x / y),
    "round_half_away_from_zero": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "hard_sigmoid": lambda x: np.clip(x * 0.2 + 0.5, 0, 1),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "where": np.where,
    "owens_t": scipy.owens_t,
    "relu": lambda x: np.maximum(x, 0),
}
POSITIVE = {"sqrt", "log", "log2", "log10", "gammaln", "digamma", "psi", "trigamma", "gamma", "xlogx", "xlogy"}
POSITIVE |= {"power", "gammainc", "gammaincc", "jv", "iv", "ive", "kve", "arccosh", "log1p", "xlog1py"}
UNIT = {"arcsin", "arccos", "arctanh", "erfinv", "erfcinv", "ndtri", "log1mexp", "betainc", "hyp2f1"}
INTEGERS = {"invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
BOOLS = {"logical_and", "logical_or", "logical_xor", "logical_not"}


def arguments(name, arity):
    shape = (3, 4)
    if name in INTEGERS:
        return [RANDOM.integers(1, 9, shape) for _ in range(arity)]
    if name in BOOLS:
        return [RANDOM.integers(0, 2, shape).astype(bool) for _ in range(arity)]
    if name == "polygamma":
        return [np.full(shape, 2), RANDOM.uniform(0.5, 4, shape)]
    if name == "where":
        return [RANDOM.integers(0, 2, shape).astype(bool)] + [RANDOM.normal(size=shape) for _ in range(2)]
    if name == "log1mexp":
        return [-RANDOM.uniform(0.1, 3, shape)]
    low, high = (0.1, 0.9) if name in UNIT else (1.1, 3.0) if name in POSITIVE else (-3.0, 3.0)
    return [RANDOM.uniform(low, high, shape) for _ in range(arity)]


def reference(name):
    return ELSEWHERE.get(name) or getattr(np, name, None) or getattr(scipy, name, None)


ELEMENTWISE = [(name, arity) for name, arity, _ in ROWS if not name.startswith(("draw_", "philox"))]


@pytest.mark.parametrize("name, arity", ELEMENTWISE)
def test_elementwise(name, arity):
    same = reference(name)
    assert same is not None, f"no reference for {name}"
    given = arguments(name, arity)
    inputs = [wa.tensor(f"x{at}", a.dtype, (None, None)) for at, a in enumerate(given)]
    got = wa.function(inputs, getattr(wa, name)(*inputs))(*given)
    want = same(*given)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    # As an op of the package on a constant, and by NumPy's own function.
    if isinstance(same, np.ufunc) and same.__name__ == name:
        by_numpy = wa.function(inputs, same(*inputs))(*given)
        assert np.array_equal(by_numpy, got, equal_nan=True)


MATRIX = RANDOM.normal(size=(4, 5))
WITH_NAN = np.where(RANDOM.uniform(size=(4, 5)) < 0.3, np.nan, MATRIX)
REDUCTIONS = "sum prod mean var std max min ptp all any argmax argmin count_nonzero median".split()
REDUCTIONS += "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian nanargmax nanargmin".split()


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}])
def test_reductions(name, options):
    if "arg" in name and isinstance(options.get("axis"), tuple):
        pytest.skip("NumPy takes one axis")
    data = WITH_NAN if name.startswith("nan") else MATRIX > 0.5 if name in ("all", "any") else MATRIX
    x = wa.matrix("x", data.dtype)
    got = wa.function([x], getattr(wa, name)(x, **options))(data)
    want = getattr(np, name)(data, **options)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got.shape == np.shape(want)


def test_options_of_reductions():
    x = wa.matrix("x", "float64")
    assert np.allclose(wa.function([x], x.var(axis=1, ddof=1))(MATRIX), MATRIX.var(axis=1, ddof=1))
    assert wa.function([x], x.sum(dtype="float32"))(MATRIX).dtype == "float32"


# Name, call with the package or NumPy, arrays.
CUBE, VECTOR = RANDOM.normal(size=(2, 3, 4)), RANDOM.normal(size=7)
COUNTS = RANDOM.integers(0, 5, 12)
CASES = {
    "arange": (lambda m: m.arange(2, 11, 3) + m.arange(3), []),
    "argsort": (lambda m, x: m.argsort(x, axis=0), [MATRIX]),
    "argwhere": (lambda m, x: m.argwhere(x), [MATRIX > 0]),
    "bincount": (lambda m, n: m.bincount(n, minlength=9), [COUNTS]),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (4, 7)), [VECTOR]),
    "clip": (lambda m, x: m.clip(x, -0.5, 0.5), [MATRIX]),
    "compress": (lambda m, c, x: m.compress(c, x, axis=1), [np.array([True, False, True, True, False]), MATRIX]),
    "concatenate": (lambda m, x: m.concatenate([x, 2 * x], axis=1), [MATRIX]),
    "cross": (lambda m, a, b: m.cross(a, b), [CUBE[0].T, CUBE[1].T]),
    "cumprod": (lambda m, x: m.cumprod(x, axis=1), [MATRIX]),
    "cumsum": (lambda m, x: m.cumsum(x), [MATRIX]),
    "diag": (lambda m, x: m.diag(x, 1), [VECTOR]),
    "diagonal": (lambda m, x: m.diagonal(x, 1), [MATRIX]),
    "diff": (lambda m, x: m.diff(x, 2, axis=0), [MATRIX]),
    "digitize": (lambda m, x: m.digitize(x, np.array([-1.0, 0.0, 1.0])), [VECTOR]),
    "dot": (lambda m, a, b: m.dot(a, b), [MATRIX, MATRIX.T.copy()]),
    "einsum": (lambda m, a: m.einsum("ijk,ljk->il", a, a), [CUBE]),
    "expand_dims": (lambda m, x: m.expand_dims(x, (0, -2)) + m.expand_dims(m.expand_dims(x, 1), axis=0), [MATRIX]),
    "extract": (lambda m, x: m.extract(x > 0, x), [MATRIX]),
    "eye": (lambda m: m.eye(3, 4, 1), []),
    "flatnonzero": (lambda m, x: m.flatnonzero(x), [MATRIX > 0]),
    "flip": (lambda m, x: m.flip(x, axis=1), [MATRIX]),
    "full": (lambda m: m.full((2, 3), 1.5), []),
    "full_like": (lambda m, x: m.full_like(x, 2), [MATRIX]),
    "inner": (lambda m, a: m.inner(a, a), [MATRIX]),
    "isclose": (lambda m, a: m.isclose(a, a + 1e-9), [MATRIX]),
    "kron": (lambda m, a: m.kron(a, a), [MATRIX]),
    "linspace": (lambda m: m.linspace(0.0, 1.0, 5), []),
    "matmul": (lambda m, a: m.matmul(a, a.transpose(0, 2, 1)), [CUBE]),
    "meshgrid": (lambda m, a: m.meshgrid(a, a, **({"indexing": "ij"} if m is np else {}))[0], [VECTOR]),
    "moveaxis": (lambda m, x: m.moveaxis(x, 0, 2), [CUBE]),
    "ones": (lambda m: m.ones((2, 2)), []),
    "ones_like": (lambda m, x: m.ones_like(x), [MATRIX]),
    "outer": (lambda m, a: m.outer(a, a), [VECTOR]),
    "pad": (lambda m, x: m.pad(x, ((1, 2), (0, 3)), mode="reflect"), [MATRIX]),
    "quantile": (lambda m, x: m.quantile(x, [0.3, 0.9], axis=1) + m.quantile(x, 0.3, axis=1), [MATRIX]),
    "nonzero": (lambda m, x: m.stack(m.nonzero(x)), [MATRIX > 0]),
    "ravel": (lambda m, x: m.ravel(x), [MATRIX]),
    "ravel_multi_index": (lambda m, n: m.ravel_multi_index((n, n - 1), (5, 3), mode="clip"), [COUNTS]),
    "repeat": (lambda m, x: m.repeat(x, 3, axis=1), [MATRIX]),
    "reshape": (lambda m, x: m.reshape(x, (2, -1)), [MATRIX]),
    "roll": (lambda m, x: m.roll(x, (1, 2), (0, 1)) + m.roll(x, 3), [MATRIX]),
    "round": (lambda m, x: m.round(x), [MATRIX]),
    "searchsorted": (lambda m, x: m.searchsorted(np.sort(VECTOR), x, side="right"), [MATRIX]),
    "sort": (lambda m, x: m.sort(x), [MATRIX]),
    "squeeze": (lambda m, x: m.squeeze(x, axis=0), [MATRIX[None]]),
    "stack": (lambda m, x: m.stack([x, x], axis=1), [MATRIX]),
    "swapaxes": (lambda m, x: m.swapaxes(x, 0, 2), [CUBE]),
    "take": (lambda m, x: m.take(x, np.array([2, 0]), axis=1) + m.take(x, 3), [MATRIX]),
    "take_along_axis": (lambda m, x: m.take_along_axis(x, m.argsort(x, axis=1), axis=1), [MATRIX]),
    "tensordot": (lambda m, a: m.tensordot(a, a, axes=([0, 2], [0, 2])), [CUBE]),
    "tile": (lambda m, x: m.tile(x, (2, 3)), [MATRIX]),
    "trace": (lambda m, x: m.trace(x), [MATRIX]),
    "transpose": (lambda m, x: m.transpose(x, (2, 0, 1)), [CUBE]),
    "tri": (lambda m: m.tri(3, 4, 1), []),
    "tril": (lambda m, x: m.tril(x, 1), [MATRIX]),
    "triu": (lambda m, x: m.triu(x), [MATRIX]),
    "unique": (lambda m, n: m.unique(n), [COUNTS]),
    "unravel_index": (lambda m, n: m.stack(m.unravel_index(n, (2, 3))), [COUNTS]),
    "vdot": (lambda m, a: m.vdot(a, a), [VECTOR]),
    "vecdot": (lambda m, a: m.vecdot(a, a) if hasattr(m, "vecdot") else (a * a).sum(-1), [MATRIX]),
    "zeros": (lambda m: m.zeros((2, 3)), []),
    "zeros_like": (lambda m, x: m.zeros_like(x), [MATRIX]),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_of_numpy(name):
    build, given = CASES[name]
    inputs = [wa.tensor(f"x{at}", a.dtype, (None,) * a.ndim) for at, a in enumerate(given)]
    if name == "squeeze":
        inputs = [wa.tensor("x", "float64", (1, None, None))]
    got = wa.function(inputs, build(wa, *inputs))(*given)
    want = np.asarray(build(np, *given))
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert got.shape == want.shape


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


windows = np.lib.stride_tricks.sliding_window_view
IDS = np.array([0, 2, 1, 0])
# What NumPy does not have: the package's function, and a formula.
OTHERS = {
    "argtopk": (lambda x: wa.argtopk(x, 2), lambda x: np.argsort(-x, axis=-1)[:, :2]),
    "assert_": (lambda x: wa.assert_(x, (x < 100).all(), "too large"), lambda x: x),
    "astype": (lambda x: wa.astype(x, "int32"), lambda x: x.astype("int32")),
    "average_pool": (
        lambda x: wa.average_pool(x[None, None], [2, 2])[0, 0],
        lambda x: x[:, :4].reshape(2, 2, 2, 2).mean((1, 3)),
    ),
    "bitwise_count": (
        lambda x: wa.bitwise_count(wa.astype(wa.abs(x) * 9, "int64")),
        lambda x: np.vectorize(lambda n: bin(n).count("1"))((np.abs(x) * 9).astype("int64")),
    ),
    "cast": (lambda x: wa.cast(x, "float32"), lambda x: x.astype("float32")),
    "choose": (lambda x: wa.choose(wa.astype(x > 0, "int64"), [x, 2 * x]), lambda x: np.where(x > 0, 2 * x, x)),
    "clip_norm": (lambda x: wa.clip_norm([x], 1.0)[0], lambda x: x / np.linalg.norm(x)),
    "concat": (lambda x: wa.concat([x, x]), lambda x: np.concatenate([x, x])),
    "consider_constant": (lambda x: wa.consider_constant(x), lambda x: x),
    "conv1d": (lambda x: wa.conv1d(x[None, None, 0], np.ones((1, 1, 2)))[0, 0], lambda x: x[0, 1:] + x[0, :-1]),
    "conv2d": (
        lambda x: wa.conv2d(x[None, None], np.ones((1, 1, 2, 1)), padding="valid")[0, 0],
        lambda x: x[1:] + x[:-1],
    ),
    "conv3d": (
        lambda x: wa.conv3d(x[None, None, None], np.ones((1, 1, 1, 1, 2)))[0, 0, 0],
        lambda x: x[:, 1:] + x[:, :-1],
    ),
    "conv_transpose1d": (
        lambda x: wa.conv_transpose1d(x[None, None, 0], np.ones((1, 1, 2)))[0, 0],
        lambda x: np.convolve(x[0], [1, 1]),
    ),
    "conv_transpose2d": (
        lambda x: wa.conv_transpose2d(x[None, None], np.ones((1, 1, 1, 1)), stride=[1, 1])[0, 0],
        lambda x: x,
    ),
    "conv_transpose3d": (
        lambda x: wa.conv_transpose3d(x[None, None, None], np.ones((1, 1, 1, 1, 1)))[0, 0, 0],
        lambda x: x,
    ),
    "cummax": (lambda x: wa.cummax(x, axis=1), lambda x: np.maximum.accumulate(x, axis=1)),
    "cummin": (lambda x: wa.cummin(x, axis=1), lambda x: np.minimum.accumulate(x, axis=1)),
    "dimshuffle": (lambda x: wa.dimshuffle(x, 1, None, 0), lambda x: x.T[:, None, :]),
    "extent": (lambda x: wa.extent(x, 1), lambda x: x.shape[1]),
    "fill_diagonal": (lambda x: wa.fill_diagonal(x, 7.0), lambda x: np.where(np.eye(4, 5) > 0, 7, x)),
    "flatten": (lambda x: wa.flatten(x), lambda x: x.ravel()),
    "gelu": (lambda x: wa.gelu(x), lambda x: x * scipy.ndtr(x)),
    "grad_clip": (lambda x: wa.grad_clip(x, -1.0, 1.0), lambda x: x),
    "in_bounds": (lambda x: x[wa.in_bounds(wa.constant(np.array([1, 0])))], lambda x: x[[1, 0]]),
    "layer_norm": (
        lambda x: wa.layer_norm(x, np.ones(5), np.zeros(5), 0.0),
        lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True),
    ),
    "log_softmax": (lambda x: wa.log_softmax(x), lambda x: np.log(softmax(x))),
    "logsumexp": (lambda x: wa.logsumexp(x, axis=1), lambda x: np.log(np.exp(x).sum(1))),
    "max_pool": (
        lambda x: wa.max_pool(x[None, None], [2, 2])[0, 0],
        lambda x: x[:, :4].reshape(2, 2, 2, 2).max((1, 3)),
    ),
    "multi_dot": (lambda x: wa.multi_dot([x, x.T, x]), lambda x: x @ x.T @ x),
    "nanquantile": (lambda x: wa.nanquantile(x, 0.5, axis=0), lambda x: np.median(x, axis=0)),
    "one_hot": (lambda x: wa.one_hot(wa.argmax(x, axis=1), 5), lambda x: np.eye(5)[x.argmax(1)]),
    "permute_dims": (lambda x: wa.permute_dims(x, (1, 0)), lambda x: x.T),
    "print": (lambda x: wa.print(x[0, 0], "test") + 0 * x, lambda x: x[0, 0] + 0 * x),
    "prod_without_zeros": (lambda x: wa.prod_without_zeros(wa.maximum(x, 0)), lambda x: x[x > 0].prod()),
    "put_along_axis": (
        lambda x: wa.put_along_axis(x, wa.argmax(x, axis=1, keepdims=True), 0.0, 1),
        lambda x: np.where(x == x.max(1, keepdims=True), 0, x),
    ),
    "rsqrt": (lambda x: wa.rsqrt(x * x), lambda x: 1 / np.abs(x)),
    "segment_max": (lambda x: wa.segment_max(x, IDS, 3), lambda x: np.stack([np.maximum(x[0], x[3]), x[2], x[1]])),
    "segment_mean": (lambda x: wa.segment_mean(x, IDS, 3), lambda x: np.stack([(x[0] + x[3]) / 2, x[2], x[1]])),
    "segment_min": (lambda x: wa.segment_min(x, IDS, 3), lambda x: np.stack([np.minimum(x[0], x[3]), x[2], x[1]])),
    "segment_prod": (lambda x: wa.segment_prod(x, IDS, 3), lambda x: np.stack([x[0] * x[3], x[2], x[1]])),
    "segment_sum": (lambda x: wa.segment_sum(x, IDS, 3), lambda x: np.stack([x[0] + x[3], x[2], x[1]])),
    "shape": (lambda x: wa.shape(x), lambda x: np.array(x.shape)),
    "silu": (lambda x: wa.silu(x), lambda x: x * scipy.expit(x)),
    "softmax": (lambda x: wa.softmax(x), softmax),
    "specify_shape": (lambda x: wa.specify_shape(x, (4, None)), lambda x: x),
    "split": (lambda x: wa.split(x, [1], axis=0)[1], lambda x: x[1:]),
    "sliding_window_view": (
        lambda x: wa.sliding_window_view(x, (2, 3)) + wa.sliding_window_view(x, 3, stride=1)[:3, :, None, :],
        lambda x: windows(x, (2, 3)) + windows(x, (1, 3))[:3],
    ),
    "sum_pool": (
        lambda x: wa.sum_pool(x[None, None], [2, 2])[0, 0],
        lambda x: x[:, :4].reshape(2, 2, 2, 2).sum((1, 3)),
    ),
    "topk": (lambda x: wa.topk(x, 2), lambda x: -np.sort(-x, axis=-1)[:, :2]),
    "transfer": (lambda x: wa.transfer(x, "dev0"), lambda x: x),
    "zero_grad": (lambda x: wa.zero_grad(x), lambda x: x),
    "grad": (lambda x: wa.grad((x**3).sum(), x), lambda x: 3 * x**2),
    "jacobian": (lambda x: wa.jacobian((x[0] ** 2), [x])[0][:, 0], lambda x: np.diag(2 * x[0])),
    "hvp": (lambda x: wa.hvp((x**3).sum(), [x], [x])[0], lambda x: 6 * x * x),
    "jvp": (lambda x: wa.jvp(wa.sin(x), [x], [x]), lambda x: np.cos(x) * x),
    "vjp": (lambda x: wa.vjp(wa.sin(x), [x], x)[0], lambda x: np.cos(x) * x),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name):
    build, same = OTHERS[name]
    x = wa.matrix("x", "float64")
    got = wa.function([x], build(x))(MATRIX)
    np.testing.assert_allclose(got, same(MATRIX), rtol=1e-9, atol=1e-12)


def test_new_axes_lie_within_the_result():
    x = wa.vector("x")
    assert wa.expand_dims(x, (-1, -3)).shape == (1, None, 1)
    for wrong in (-3, 2, (-4,), (0, 3), (0, 0)):
        with pytest.raises(wa.Error, match="expand_dims"):
            wa.expand_dims(x, wrong)


def test_add_along_axis_and_hessian():
    x, i = wa.vector("x", "float64"), np.array([1, 1, 0])
    got = wa.function([x], wa.add_along_axis(x, i, 5.0, 0))(np.zeros(3))
    assert got.tolist() == [5, 10, 0]
    h = wa.function([x], wa.hessian((x**3).sum(), [x])[0])(np.array([1.0, 2.0]))
    assert np.allclose(h, np.diag([6.0, 12.0]))


def test_every_function_is_tested():
    tested = {name for name, _ in ELEMENTWISE} | set(REDUCTIONS) | set(CASES) | set(OTHERS)
    tested |= {"add_along_axis", "hessian"} | set(wa.ops._ALIASES)
    # In test_complex.py.
    tested |= {"angle", "complex", "conj", "from_polar", "imag", "real", "view_as_complex", "view_as_real"}
    # In test_groups.py.
    tested |= {"all_gather", "all_reduce", "broadcast_from", "collective_permute", "group_rank", "group_size"}
    tested |= {"own_part", "reduce_scatter"}
    assert set(wa.ops.__all__) - tested == set()


def test_every_row_of_the_documentation_has_a_name_here():
    # By another name, or an option of a function.
    elsewhere = {
        "philox": "RandomStreams", "draw_poisson": "RandomStreams", "draw_binomial": "RandomStreams",
        "norm": "linalg", "topk_both": "argtopk", "index": "Variable", "set_index": "Variable", "take_mode": "take",
        "searchsorted_by": "searchsorted", "sliding_windows": "sliding_window_view", "assert": "assert_",
        "cholesky_upper": "linalg", "cholesky_or_nan": "linalg",
    }  # fmt: skip
    modules = (wa, wa.Variable, wa.linalg, wa.fft, wa.losses, wa.schedules, wa.optimizers, wa.loops)

    def known(call, others):
        own = call.split("(")[0].split(".")[-1].split("::")[-1]
        names = {own, elsewhere.get(own, own), others.split("(")[0].split(".")[-1].split(",")[0].strip()}
        return any(hasattr(module, name) for module in modules for name in names)

    path = Path(__file__).parents[2] / "docs" / "ops.md"
    rows = [row.split("|")[1:3] for row in path.read_text().splitlines() if row.startswith("| `")]
    assert len(rows) > 280
    assert [call for call, others in rows if not known(call.strip(" `"), others)] == []


def test_every_method_of_rust_has_a_name_here():
    # By another name, an operator or a property.
    elsewhere = {
        "abs": "absolute", "and": "logical_and", "or": "logical_or", "xor": "logical_xor", "not": "logical_not",
        "round_half_away": "round_half_away_from_zero", "digamma": "digamma", "assert": "assert_", "pow": "power",
        "plus": "add", "minus": "subtract", "times": "multiply", "over": "true_divide", "t": "transpose",
        "index": "take", "set_index": "take", "inc_index": "take", "mul_index": "take", "max_index": "take",
        "min_index": "take", "take_mode": "take", "searchsorted_by": None, "elementwise": None, "norm": None,
        "sliding_windows": "sliding_window_view", "sort_both": None, "topk_both": None,
    }  # fmt: skip
    missing = [name for name, _, _ in METHODS if not hasattr(wa, elsewhere.get(name, name) or "abs")]
    assert missing == []


def test_linear_algebra_and_transforms():
    a = np.cov(RANDOM.normal(size=(4, 20)))
    x, b = wa.matrix("a", "float64"), RANDOM.normal(size=(4, 2))

    def of(build, *given):
        return wa.function([x], build(x))(*given)

    np.testing.assert_allclose(of(wa.linalg.cholesky, a), np.linalg.cholesky(a))
    stack = wa.tensor3("stack", "float64")
    nan = wa.function([stack], wa.linalg.cholesky(stack, on_error="nan"))(np.stack([a, -a]))
    np.testing.assert_allclose(nan[0], np.linalg.cholesky(a))
    assert np.isnan(nan[1]).all()
    upper = of(lambda x: wa.linalg.cholesky(x, upper=True, on_error="nan"), a)
    np.testing.assert_allclose(upper, np.linalg.cholesky(a).T)
    with pytest.raises(ValueError, match="on_error is 'raise' or 'nan', got \"zero\""):
        wa.linalg.cholesky(wa.matrix("a"), on_error="zero")
    np.testing.assert_allclose(of(wa.linalg.inv, a), np.linalg.inv(a))
    np.testing.assert_allclose(of(wa.linalg.det, a), np.linalg.det(a))
    np.testing.assert_allclose(of(lambda a: wa.linalg.solve(a, b), a), np.linalg.solve(a, b))
    np.testing.assert_allclose(of(lambda a: wa.linalg.norm(a, axis=1), a), np.linalg.norm(a, axis=1))
    np.testing.assert_allclose(of(lambda a: wa.linalg.slogdet(a)[1], a), np.linalg.slogdet(a)[1])
    lower = np.linalg.cholesky(a)
    got = of(lambda a: wa.linalg.solve_triangular(a, b, lower=True), lower)
    np.testing.assert_allclose(got, np.linalg.solve(lower, b))
    np.testing.assert_allclose(of(np.linalg.inv, a), np.linalg.inv(a))
    spectrum = of(wa.fft.rfft, a)
    np.testing.assert_allclose(spectrum, np.fft.rfft(a), atol=1e-12)
    np.testing.assert_allclose(of(lambda a: np.fft.fft(1j * a), a), np.fft.fft(1j * a), atol=1e-12)
    np.testing.assert_allclose(of(lambda a: wa.fft.irfft(wa.fft.rfft(a)), a), a)


def test_indices():
    x = wa.matrix("x", "float64")
    i = wa.scalar("i", "int64")
    mask = MATRIX > 0
    for key in [1, -1, slice(1, 3), (slice(None, None, -2), 2), (..., None, 0), (None, 1), np.array([2, 0]), mask]:
        got = wa.function([x], x[key])(MATRIX)
        np.testing.assert_array_equal(got, MATRIX[key])
    got = wa.function([x, i], x[i, i:])(MATRIX, 2)
    np.testing.assert_array_equal(got, MATRIX[2, 2:])
    got = wa.function([x], x.at[1:3].set(0.0).at[0, 0].add(5.0).at[:, 1].multiply(2.0))(MATRIX)
    want = MATRIX.copy()
    want[1:3], want[0, 0] = 0, want[0, 0] + 5
    want[:, 1] *= 2
    np.testing.assert_array_equal(got, want)
    with pytest.raises(TypeError, match="index"):
        x[1.5]
    with pytest.raises(TypeError):
        x["a"]


def test_operators_and_promotion():
    x, n = wa.vector("x"), wa.vector("n", "int32")
    for build in [
        lambda a: a + 1.5, lambda a: 2 - a, lambda a: a * np.float32(3), lambda a: 1 / a, lambda a: a // 2,
        lambda a: a % 2, lambda a: a**2, lambda a: 2**a, lambda a: -a, lambda a: abs(a), lambda a: +a,
        lambda a: a @ a, lambda a: (a < 2) | (a > 3), lambda a: ~(a <= 2), lambda a: (a != 2) ^ (a >= 1),
        lambda a: np.array([1, 2, 3], "float32") * a, lambda a: np.arange(3.0, dtype="float32") @ a,
    ]:  # fmt: skip
        given = np.array([1, 2, 4], "float32")
        got, want = wa.function([x], build(x))(given), build(given)
        np.testing.assert_allclose(got, want)
        assert got.dtype == want.dtype
    assert (x * 2.5).dtype == "float32" and (x * np.float64(2.5)).dtype == "float64"
    assert (n * 2).dtype == "int32" and (n / 2).dtype == "float64" and (n << 1).dtype == "int32"
    assert {x: 1, n: 2}[x] == 1 and x.T.ndim == 1 and x.shape == (None,)


def test_losses_optimizers_and_schedules():
    x = wa.matrix("x", "float64")
    y = np.array([0, 3, 1, 4])
    got = wa.function([x], wa.losses.categorical_crossentropy_with_logits(x, y))(MATRIX)
    np.testing.assert_allclose(got, -np.log(softmax(MATRIX)[np.arange(4), y]))
    rate = wa.schedules.cosine(0.1, wa.constant(5), 10)
    assert np.allclose(wa.function([], rate)(), 0.05)
    for optimizer in (
        wa.optimizers.sgd,
        wa.optimizers.momentum,
        wa.optimizers.nesterov,
        wa.optimizers.rmsprop,
        wa.optimizers.adam,
    ):
        w = wa.shared(np.array([1.0, -2.0]), "w")
        cost = (w**2).sum()
        f = wa.function([], cost, updates=optimizer([w], [wa.grad(cost, w)], 0.01))
        before = f()
        for _ in range(20):
            f()
        assert f() < before, optimizer


def test_random_streams():
    streams = wa.RandomStreams(42)
    n = 20_000
    draws = {
        "uniform": (streams.uniform(2.0, 4.0, size=n), 3, 1 / 3),
        "normal": (streams.normal(1.0, 2.0, size=n, dtype="float64"), 1, 4),
        "exponential": (streams.exponential(2.0, size=n), 2, 4),
        "gamma": (streams.gamma(3.0, 2.0, size=n), 6, 12),
        "beta": (streams.beta(2.0, 2.0, size=n), 0.5, 0.05),
        "standard_t": (streams.standard_t(9.0, size=n), 0, 9 / 7),
        "integers": (streams.integers(0, 10, size=n), 4.5, 8.25),
        "bernoulli": (streams.bernoulli(0.25, size=n).astype("float32"), 0.25, 0.1875),
        "poisson": (streams.poisson(4.0, size=n), 4, 4),
        "binomial": (streams.binomial(10, 0.5, size=n), 5, 2.5),
        "choice": (streams.choice(4, size=n, p=np.array([0.5, 0.0, 0.0, 0.5])), 1.5, 2.25),
        "categorical": (streams.categorical(np.tile([0.5, 0.5], (n, 1))), 0.5, 0.25),
    }
    for name, (draw, mean, variance) in draws.items():
        f = wa.function([], draw)
        values = f().astype("float64")
        assert abs(values.mean() - mean) < 5 * (variance / n) ** 0.5, name
        assert abs(values.var() / variance - 1) < 0.15, name
        assert not np.array_equal(values, f()), name
    assert sorted(wa.function([], streams.permutation(9))()) == list(range(9))
    assert wa.function([], streams.dirichlet(np.ones(4)))().sum() == pytest.approx(1)
    assert wa.function([], streams.multinomial(20, np.ones(4)))().sum() == 20
    assert len(set(wa.function([], streams.choice_without_replacement(9, 5))().tolist())) == 5
    x = wa.vector("x")
    kept = wa.function([x], streams.dropout(x, 0.5))(np.ones(1000, "float32"))
    assert set(kept.tolist()) == {0.0, 2.0}
    one, other = (wa.function([], wa.RandomStreams(5).normal(size=3))() for _ in range(2))
    assert np.array_equal(one, other)
    with pytest.raises(wa.ExpressionError, match=r"test_ops\.py"):
        streams.bernoulli(1.5, size=3)
    with pytest.raises(TypeError, match="low"):
        streams.integers()
