"""Reductions, running folds, sorts and searches."""

import numpy as np
from pytensor.tensor.elemwise import CAReduce

import workalike as wa

from .convert import cast, convert, refused, registered, static_int
from .elementwise import truth

_REDUCTIONS = {
    "Add": wa.sum,
    "Mul": wa.prod,
    "Maximum": wa.max,
    "Minimum": wa.min,
    "ScalarMaximum": wa.max,
    "ScalarMinimum": wa.min,
    "MulWithoutZeros": wa.prod_without_zeros,
    "AND": wa.all,
    "OR": wa.any,
}


@convert.register(CAReduce)
def reduction(op, node, inputs, context):
    """A reduction by its scalar op, over `op.axis`. Floats are added up in their own dtype."""
    name, (x,) = type(op.scalar_op).__name__, inputs
    declared = node.outputs[0].type.dtype
    if name not in _REDUCTIONS:
        raise refused(op, node, f"a reduction by {name}")
    if name in ("AND", "OR"):
        if x.dtype != bool and declared != "bool":
            raise refused(op, node, "bits of integers")
        x = truth(x)
    elif name not in ("Maximum", "Minimum", "ScalarMaximum", "ScalarMinimum"):
        x = cast(x, declared)
    if x.ndim == 0 or op.axis == ():
        return [x]
    axes = None if op.axis is None else [int(axis) for axis in op.axis]
    return [_REDUCTIONS[name](x, axis=axes)]


@registered("tensor.math:Argmax")
def argmax(op, node, inputs, context):
    """The position of the maximum over some axes, as if these were one."""
    (x,) = inputs
    axes = tuple(range(x.ndim)) if op.axis is None else tuple(op.axis)
    if len(axes) == 1:
        return [wa.argmax(x, axis=axes[0])]
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = wa.transpose(x, [*kept, *axes])
    rest = [wa.extent(x, axis) if x.shape[axis] is None else x.shape[axis] for axis in kept]
    return [wa.argmax(wa.reshape(order, [*rest, -1]), axis=len(kept))]


@registered("tensor.extra_ops:CumOp")
def cumulative(op, node, inputs, context):
    """Running sums and products."""
    (x,) = inputs
    function = wa.cumsum if op.mode == "add" else wa.cumprod
    return [function(cast(x, node.outputs[0].type.dtype), axis=op.axis)]


def _sorted(function):
    def convert_sort(op, node, inputs, context):
        x, axis = inputs[0], getattr(op, "axis", None) if len(inputs) < 2 else inputs[1]
        if axis is None:
            return [function(wa.flatten(x), axis=0)]
        known = static_int(axis)
        if known is None:
            raise refused(op, node, "an axis that is not a number")
        return [function(x, axis=known)]

    return convert_sort


registered("tensor.sort:SortOp")(_sorted(wa.sort))
registered("tensor.sort:ArgSortOp")(_sorted(wa.argsort))


@registered("tensor.extra_ops:SearchsortedOp")
def searchsorted(op, node, inputs, context):
    """Positions in a sorted vector."""
    x = inputs[0] if len(inputs) < 3 else inputs[0][inputs[2]]
    common = np.result_type(x.dtype, inputs[1].dtype)
    return [wa.searchsorted(cast(x, common), cast(inputs[1], common), side=op.side)]


@registered("tensor.extra_ops:Unique")
def unique(op, node, inputs, context):
    """The different elements, in order."""
    further = [name for name in ("return_index", "return_inverse", "return_counts") if getattr(op, name, False)]
    if further or getattr(op, "axis", None) is not None:
        raise refused(op, node, f"options of unique: {', '.join(further) or 'axis'}")
    return [wa.unique(inputs[0])]


@registered("tensor.basic:Nonzero")
def nonzero(op, node, inputs, context):
    """The positions of elements that are not 0, one vector for each axis."""
    rows = wa.argwhere(inputs[0])
    return [rows[:, axis] for axis in range(inputs[0].ndim)]


def _softmax(function):
    def convert_softmax(op, node, inputs, context):
        x = cast(inputs[0], node.outputs[0].type.dtype)
        axes = tuple(range(x.ndim)) if op.axis is None else op.axis
        axes = axes if isinstance(axes, tuple) else (axes,)
        if len(axes) == 1:
            return [function(x, axis=axes[0])]
        logarithm = x - wa.logsumexp(x, axis=list(axes), keepdims=True)
        return [wa.exp(logarithm) if function is wa.softmax else logarithm]

    return convert_softmax


registered("tensor.special:Softmax")(_softmax(wa.softmax))
registered("tensor.special:LogSoftmax")(_softmax(wa.log_softmax))


@registered("tensor.special:SoftmaxGrad")
def softmax_gradient(op, node, inputs, context):
    """The gradient of a softmax, from that of its result and the result."""
    slope, softmax = inputs
    product = slope * softmax
    return [product - wa.sum(product, axis=op.axis, keepdims=True) * softmax]
