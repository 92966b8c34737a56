"""`pure_callback`: a function of Python in a graph."""

import operator

from ._workalike import Variable
from ._workalike import callback as _callback
from .ops import extent as _extent


def pure_callback(function, results, *arguments, gradient=None, name=None):
    """Calls a function of Python on arrays whenever the expression is computed, as JAX's `pure_callback`.

    `results` says what the function returns: a Variable (an array of its dtype and shape), `(shape, dtype)`, anything
    with these two attributes, or a list of those. Extents are integers, or 0-d Variables of integers. The function
    gets arrays that cannot be written, must return arrays of exactly these dtypes and shapes, and must be pure: equal
    arguments give equal results, and calls may be left out or repeated.

    It runs on the host, where a Simulator brings its arguments to: `explain` names it, and `strict` refuses it. Files
    cannot hold it; a pickle can, if the function can be pickled. `gradient(arguments, results, gradients)` returns one
    expression (or None) for each argument; `gradients` has None for results that the cost does not depend on.
    """
    listed = isinstance(results, list) or isinstance(results, tuple) and all(map(_is_type, results))
    types, extents = [], []
    for result in results if listed else [results]:
        dtype, shape = _type_of(result)
        types.append((dtype, [_known(extent) for extent in shape]))
        extents += [extent.astype("int64") for extent in shape if _known(extent) is None]
    name = name or getattr(function, "__name__", type(function).__name__)
    made = _callback(name, function, gradient, types, list(arguments), extents)
    return made if listed else made[0]


def _type_of(result):
    """dtype and extents: integers where they are known, Variables elsewhere."""
    if isinstance(result, Variable):
        shape = [_extent(result, axis) if known is None else known for axis, known in enumerate(result.shape)]
        return result.dtype, shape
    if hasattr(result, "shape") and hasattr(result, "dtype"):
        return result.dtype, list(result.shape)
    shape, dtype = result
    return dtype, list(shape) if isinstance(shape, (list, tuple)) else [shape]


def _is_type(result):
    return isinstance(result, (Variable, tuple)) or hasattr(result, "shape") and hasattr(result, "dtype")


def _known(extent):
    """The extent as an integer, or None."""
    if not isinstance(extent, Variable):
        return operator.index(extent)
    if extent.ndim or extent.dtype.kind not in "iu":
        raise TypeError(f"pure_callback: an extent is an integer or a 0-d Variable of integers, got {extent!r}")
    value = extent.constant_value
    return None if value is None else int(value)
