"""Products of matrices, PyTensor's BLAS ops among them, and decompositions."""

import workalike as wa

from .convert import cast, convert, extents, found_class, refused, registered, static_int

_CORE = "tensor.linalg"


def _as_declared(node, inputs):
    dtype = node.outputs[0].type.dtype
    return [cast(variable, dtype) for variable in inputs]


def _is(number, value):
    """Whether a 0-d Variable is always this number."""
    known = number.constant_value
    return known is not None and known.item() == value


def _scaled(factor, product):
    return product if _is(factor, 1) else factor * product


def _sum(factor, first, second):
    """`factor * first + second`, without `first` where the factor is 0: it may be memory that was not written."""
    return second if _is(factor, 0) else _scaled(factor, first) + second


@registered("tensor.math:Dot", "tensor.blas:Dot22")
def dot(op, node, inputs, context):
    """The product of vectors and matrices."""
    return [wa.dot(*_as_declared(node, inputs))]


@registered("tensor.blas:Dot22Scalar")
def dot_scalar(op, node, inputs, context):
    """`a * dot(x, y)`."""
    x, y, a = _as_declared(node, inputs)
    return [_scaled(a, wa.dot(x, y))]


@registered("tensor.blas:Gemm")
def gemm(op, node, inputs, context):
    """`b * z + a * dot(x, y)`."""
    z, a, x, y, b = _as_declared(node, inputs)
    return [_sum(b, z, _scaled(a, wa.dot(x, y)))]


@registered("tensor.blas:Gemv")
def gemv(op, node, inputs, context):
    """`beta * y + alpha * dot(A, x)`."""
    y, alpha, a, x, beta = _as_declared(node, inputs)
    return [_sum(beta, y, _scaled(alpha, wa.dot(a, x)))]


@registered("tensor.blas:Ger")
def ger(op, node, inputs, context):
    """`A + alpha * outer(x, y)`."""
    a, alpha, x, y = _as_declared(node, inputs)
    return [a + _scaled(alpha, wa.outer(x, y))]


@registered("tensor.blas:BatchedDot")
def batched_dot(op, node, inputs, context):
    """A product for each entry of the first axis."""
    return [wa.matmul(*_as_declared(node, inputs))]


@registered(f"{_CORE}.decomposition.cholesky:Cholesky", "tensor.slinalg:Cholesky")
def cholesky(op, node, inputs, context):
    """Cholesky's factors."""
    # PyTensor 3 has no such option: an `Assert` looks for NaN.
    on_error = getattr(op, "on_error", "nan")
    return [wa.linalg.cholesky(*_as_declared(node, inputs), upper=not op.lower, on_error=on_error)]


def _solved(op, node, inputs, solve):
    """Solutions for vectors or matrices, whose batches broadcast."""
    a, b = _as_declared(node, inputs)
    vectors = op.b_ndim == 1
    if vectors:
        b = wa.expand_dims(b, -1)
    a, b = _common_batch(a, b)
    solution = solve(a, b)
    return [wa.squeeze(solution, axis=-1) if vectors else solution]


def _common_batch(a, b):
    """Both with the same axes before the last two."""
    if a.ndim == 2 and b.ndim == 2:
        return a, b
    pairs = list(zip(extents(a)[:-2], extents(b)[:-2]))
    batch = [second if isinstance(first, int) and first == 1 else first for first, second in pairs]

    def known(extent):
        return extent if isinstance(extent, int) else None

    def wide(x):
        own = extents(x)
        same = all(mine is wanted or known(mine) == known(wanted) is not None for mine, wanted in zip(own, batch))
        return x if same else wa.broadcast_to(x, [*batch, *own[-2:]])

    return wide(a), wide(b)


@registered(f"{_CORE}.solvers.triangular:SolveTriangular", "tensor.slinalg:SolveTriangular")
def solve_triangular(op, node, inputs, context):
    """The solutions of triangular systems."""
    trans = getattr(op, "trans", 0)
    trans = {"N": 0, "T": 1, "C": 1}.get(trans, trans)
    return _solved(
        op,
        node,
        inputs,
        lambda a, b: wa.linalg.solve_triangular(a, b, lower=op.lower, unit_diagonal=op.unit_diagonal, trans=trans),
    )


@registered(f"{_CORE}.solvers.general:Solve", "tensor.slinalg:Solve")
def solve(op, node, inputs, context):
    """The solutions of systems of linear equations."""
    if op.assume_a not in ("gen", "sym", "her", "pos"):
        raise refused(op, node, f"matrices that are {op.assume_a}")
    symmetric = op.assume_a != "gen"

    def solved(a, b):
        if symmetric:
            # One triangle says it all, as in SciPy.
            half, other = (wa.tril(a), wa.tril(a, -1)) if op.lower else (wa.triu(a), wa.triu(a, 1))
            a = half + wa.swapaxes(other, -1, -2)
        return wa.linalg.solve(a, b)

    return _solved(op, node, inputs, solved)


@registered(f"{_CORE}.solvers.psd:CholeskySolve", "tensor.slinalg:CholeskySolve")
def cholesky_solve(op, node, inputs, context):
    """The solutions of systems whose matrix is given by its Cholesky factor."""

    def solved(factor, b):
        first = wa.linalg.solve_triangular(factor, b, lower=op.lower, trans=0 if op.lower else 1)
        return wa.linalg.solve_triangular(factor, first, lower=op.lower, trans=1 if op.lower else 0)

    return _solved(op, node, inputs, solved)


@registered(f"{_CORE}.inverse:MatrixInverse", "tensor.nlinalg:MatrixInverse")
def inverse(op, node, inputs, context):
    """Inverse matrices."""
    return [wa.linalg.inv(*_as_declared(node, inputs))]


@registered(f"{_CORE}.summary:Det", "tensor.nlinalg:Det")
def determinant(op, node, inputs, context):
    """Determinants."""
    return [wa.linalg.det(*_as_declared(node, inputs))]


@registered(f"{_CORE}.summary:SLogDet", "tensor.nlinalg:SLogDet")
def log_determinant(op, node, inputs, context):
    """The signs of determinants, and the logarithms of their magnitudes."""
    return list(wa.linalg.slogdet(*_as_declared(node, inputs)))


@registered(f"{_CORE}.decomposition.lu:LUFactor", "tensor.slinalg:LUFactor")
def lu_factor(op, node, inputs, context):
    """A rewrite of PyTensor makes these of several `solve`s with one matrix."""
    rewrites = '"reuse_lu_decomposition_multiple_solves", "scan_split_non_sequence_lu_decomposition_solve"'
    raise refused(op, node, f"compile the function by mode.excluding({rewrites}), or by mode='workalike'")


# Ops whose conversion takes a batch in the leading axes.
_BATCHES = tuple(
    found
    for name in ("decomposition.cholesky:Cholesky", "solvers.triangular:SolveTriangular", "solvers.general:Solve")
    + ("solvers.psd:CholeskySolve", "inverse:MatrixInverse", "summary:Det", "summary:SLogDet")
    if (found := found_class(f"{_CORE}.{name}")) is not None
) + tuple(
    found
    for name in ("slinalg:Cholesky", "slinalg:SolveTriangular", "slinalg:Solve", "slinalg:CholeskySolve")
    + ("nlinalg:MatrixInverse", "nlinalg:Det", "nlinalg:SLogDet")
    if (found := found_class(f"tensor.{name}")) is not None
)


@registered("tensor.blockwise:Blockwise")
def blockwise(op, node, inputs, context):
    """An op for each entry of a batch."""
    core = op.core_op
    batch = node.outputs[0].type.ndim - len(op.outputs_sig[0])
    if batch == 0 or isinstance(core, _BATCHES):
        return convert(core, node, inputs, context)
    if type(core).__name__ == "Dot":
        ranks = [len(signature) for signature in op.inputs_sig]
        if ranks == [2, 2]:
            return [wa.matmul(*_as_declared(node, inputs))]
    if type(core).__name__ in ("Softmax", "LogSoftmax", "CumOp", "SortOp", "ArgSortOp"):
        return _along_last_axes(core, node, inputs, context, op)
    raise refused(op, node, f"a batch of {type(core).__qualname__}")


def _along_last_axes(core, node, inputs, context, op):
    """A batch of an op that works along one axis of its core: that axis of the whole."""
    rank = len(op.inputs_sig[0])
    axis = static_int(inputs[1]) if len(inputs) > 1 else core.axis
    if axis is None:
        raise refused(op, node, f"a batch of {type(core).__qualname__}")
    axis = axis % rank - rank
    x, function = inputs[0], {"Softmax": wa.softmax, "LogSoftmax": wa.log_softmax, "SortOp": wa.sort}
    if type(core).__name__ == "CumOp":
        return [(wa.cumsum if core.mode == "add" else wa.cumprod)(x, axis=axis)]
    return [function.get(type(core).__name__, wa.argsort)(x, axis=axis)]
