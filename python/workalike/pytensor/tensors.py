"""Shapes, joins, creation, checks, and ops that give their argument back."""

import math

import numpy as np

import workalike as wa

from .convert import cast, extents, number_or_variable, refused, registered, static_int
from .elementwise import truth


@registered(
    "tensor.basic:TensorFromScalar",
    "tensor.basic:ScalarFromTensor",
    "compile.ops:ViewOp",
    "compile.ops:DeepCopyOp",
    "compile.ops:OutputGuard",
    "tensor.shape:Unbroadcast",
    "tensor.extra_ops:CpuContiguous",
    "gradient:ConsiderConstant",
    "gradient:ZeroGrad",
    "gradient:DisconnectedGrad",
    "gradient:GradClip",
    "gradient:GradScale",
)
def same(op, node, inputs, context):
    """The argument. Memory and gradients, which these are about, do not matter to a graph of values."""
    return [inputs[0]]


@registered("tensor.elemwise:DimShuffle")
def dimshuffle(op, node, inputs, context):
    """Axes in another order, new ones, and without some of extent 1."""
    (x,) = inputs
    order = [None if axis == "x" else int(axis) for axis in op.new_order]
    kept = [axis for axis in range(x.ndim) if axis in order]
    dropped = [axis for axis in range(x.ndim) if axis not in order]
    if dropped:
        x = wa.squeeze(x, axis=dropped)
    order = [None if axis is None else kept.index(axis) for axis in order]
    return [x if order == list(range(x.ndim)) else wa.dimshuffle(x, order)]


@registered("tensor.shape:Reshape")
def reshape(op, node, inputs, context):
    """The elements under another shape."""
    x, shape = inputs
    rank = node.outputs[0].type.ndim
    return [wa.reshape(x, context.elements(shape, rank) if rank else [])]


@registered("tensor.shape:Shape_i")
def shape_i(op, node, inputs, context):
    """One extent."""
    known = inputs[0].shape[op.i]
    return [wa.extent(inputs[0], op.i) if known is None else wa.constant(np.int64(known))]


@registered("tensor.shape:Shape")
def shape(op, node, inputs, context):
    """All extents, as a vector."""
    (x,) = inputs
    if x.ndim == 0:
        return [wa.constant(np.zeros(0, "int64"))]
    return [context.remember(wa.shape(x), extents(x))]


@registered("tensor.shape:SpecifyShape")
def specify_shape(op, node, inputs, context):
    """The argument, with extents that are checked when it is computed."""
    x, given = inputs[0], [None if extent is None else number_or_variable(extent) for extent in inputs[1:]]
    static = [extent if isinstance(extent, int) else None for extent in given]
    if any(extent is not None for extent in static):
        x = wa.specify_shape(x, static)
    for axis, extent in enumerate(given):
        if isinstance(extent, wa.Variable):
            agrees = wa.equal(wa.extent(x, axis), extent)
            x = wa.assert_(x, agrees, f"SpecifyShape: axis {axis} has another extent")
    return [x]


@registered("raise_op:CheckAndRaise")
def check(op, node, inputs, context):
    """The argument, where conditions hold; a `RunError` where they do not."""
    x = inputs[0]
    for condition in inputs[1:]:
        x = wa.assert_(x, truth(condition), op.msg or "Assert")
    return [x]


@registered("printing:Print")
def print_(op, node, inputs, context):
    """The argument, printed."""
    return [wa.print(inputs[0], op.message)]


@registered("tensor.basic:MakeVector")
def make_vector(op, node, inputs, context):
    """Numbers as a vector."""
    dtype = node.outputs[0].type.dtype
    if not inputs:
        return [wa.constant(np.zeros(0, dtype))]
    numbers = [cast(number, dtype) for number in inputs]
    known = [number.constant_value for number in numbers]
    if all(number is not None for number in known):
        return [wa.constant(np.array(known, dtype))]
    return [context.remember(wa.stack(numbers), numbers)]


@registered("tensor.basic:Alloc")
def alloc(op, node, inputs, context):
    """A value, repeated to a shape."""
    value, *shape = inputs
    if not shape:
        return [value]
    return [wa.broadcast_to(value, [number_or_variable(extent) for extent in shape])]


@registered("tensor.basic:AllocEmpty")
def alloc_empty(op, node, inputs, context):
    """Zeros, where PyTensor leaves open what there is."""
    return [wa.zeros([number_or_variable(extent) for extent in inputs], dtype=op.dtype)]


@registered("tensor.basic:ARange")
def arange(op, node, inputs, context):
    """Numbers at equal distances."""
    start, stop, step = (cast(number, op.dtype) for number in inputs)
    return [wa.arange(start, stop, step)]


@registered("tensor.basic:Eye")
def eye(op, node, inputs, context):
    """Ones on a diagonal."""
    rows, columns, offset = (number_or_variable(number) for number in inputs)
    return [wa.eye(rows, columns, offset, dtype=op.dtype)]


@registered("tensor.basic:Tri")
def tri(op, node, inputs, context):
    """Ones at and below a diagonal."""
    rows, columns, offset = (number_or_variable(number) for number in inputs)
    return [wa.tri(rows, columns, offset, dtype=op.dtype)]


def _axis_and_rest(op, node, inputs, at):
    """The axis, a number, and the other inputs: it is an attribute of the op, or the input at this position."""
    if isinstance(getattr(op, "axis", None), int):
        return op.axis, inputs
    axis = static_int(inputs[at])
    if axis is None:
        raise refused(op, node, "an axis that is not a number")
    return axis, [*inputs[:at], *inputs[at + 1 :]]


@registered("tensor.basic:Join")
def join(op, node, inputs, context):
    """Arrays one after another along an axis."""
    axis, arrays = _axis_and_rest(op, node, inputs, 0)
    dtype = node.outputs[0].type.dtype
    return [wa.concatenate([cast(array, dtype) for array in arrays], axis=axis)]


@registered("tensor.basic:Split")
def split(op, node, inputs, context):
    """Parts along an axis."""
    axis, (x, lengths) = _axis_and_rest(op, node, inputs, 1)
    lengths = context.elements(lengths, op.len_splits)
    if len(lengths) != op.len_splits:
        raise wa.CompileError(f"Split into {op.len_splits} parts got {len(lengths)} lengths")
    axis, ends = axis % x.ndim, [wa.constant(np.int64(0))]
    for length in lengths:
        ends.append(ends[-1] + length)
    x = wa.assert_(x, wa.equal(ends[-1], wa.extent(x, axis)), "Split: the lengths do not add up to the axis")
    return [x[(slice(None),) * axis + (slice(start, end),)] for start, end in zip(ends, ends[1:])]


@registered("tensor.reshape:JoinDims")
def join_dims(op, node, inputs, context):
    """Neighbouring axes as one; where there are none, a new one."""
    x, first, count = inputs[0], op.start_axis, op.n_axes
    shape = extents(x)
    return [wa.reshape(x, [*shape[:first], math.prod(shape[first : first + count]), *shape[first + count :]])]


@registered("tensor.reshape:SplitDims")
def split_dims(op, node, inputs, context):
    """An axis as several."""
    x, axes = inputs
    shape, count = extents(x), node.outputs[0].type.ndim - inputs[0].ndim + 1
    return [wa.reshape(x, [*shape[: op.axis], *context.elements(axes, count), *shape[op.axis + 1 :]])]


@registered("tensor.extra_ops:RavelMultiIndex")
def ravel_multi_index(op, node, inputs, context):
    """Positions in an array from positions along its axes."""
    *indices, shape = inputs
    shape = context.elements(shape, len(indices))
    if op.order == "F":
        indices, shape = indices[::-1], shape[::-1]
    return [wa.ravel_multi_index(indices, shape, mode=op.mode)]


@registered("tensor.extra_ops:UnravelIndex")
def unravel_index(op, node, inputs, context):
    """Positions along the axes of an array from positions in it."""
    positions, shape = inputs
    shape = context.elements(shape, len(node.outputs))
    if op.order == "F":
        return list(wa.unravel_index(positions, shape[::-1]))[::-1]
    return list(wa.unravel_index(positions, shape))


@registered("tensor.basic:ExtractDiag")
def diagonal(op, node, inputs, context):
    """A diagonal of two axes."""
    return [wa.diagonal(inputs[0], op.offset, op.axis1, op.axis2)]


@registered("tensor.extra_ops:FillDiagonal")
def fill_diagonal(op, node, inputs, context):
    """A matrix with a number on its diagonal."""
    if inputs[0].ndim != 2:
        raise refused(op, node, "more axes than two")
    return [wa.fill_diagonal(inputs[0], cast(inputs[1], inputs[0].dtype))]


@registered("tensor.extra_ops:Repeat")
def repeat(op, node, inputs, context):
    """Elements repeated along an axis."""
    x, counts = inputs
    return [wa.repeat(x, number_or_variable(counts), axis=op.axis)]
