"""Elements by position, and arrays with some of their elements replaced."""

import workalike as wa

from .convert import cast, number_or_variable, refused, registered


def _index(op, node, inputs):
    """The index expression of a node: `idx_list` says where its inputs stand."""
    pattern = getattr(op, "idx_list", None)
    if pattern is None:
        # Before PyTensor 3 the advanced ops have their entries as inputs, slices and None among them.
        return tuple(_slice(op, node, entry) if isinstance(entry, slice) else entry for entry in inputs)
    given = iter(inputs)

    def entry(wanted):
        if isinstance(wanted, slice):
            parts = (wanted.start, wanted.stop, wanted.step)
            return _slice(op, node, slice(*(None if part is None else next(given) for part in parts)))
        return number_or_variable(next(given))

    return tuple(entry(wanted) for wanted in pattern)


def _slice(op, node, given):
    start, stop, step = (
        None if part is None else number_or_variable(part) for part in (given.start, given.stop, given.step)
    )
    if isinstance(step, wa.Variable):
        raise refused(op, node, "a slice whose step is not a number")
    return slice(start, stop, step)


@registered("tensor.type_other:MakeSlice")
def make_slice(op, node, inputs, context):
    """A slice as an input of an advanced op."""
    return [slice(*inputs)]


@registered("tensor.subtensor:Subtensor", "tensor.subtensor:AdvancedSubtensor")
def subtensor(op, node, inputs, context):
    """Elements by numbers, slices and arrays of positions."""
    x, *entries = inputs
    key = _index(op, node, entries)
    return [x[key] if key else x]


@registered("tensor.subtensor:AdvancedSubtensor1")
def rows(op, node, inputs, context):
    """Rows by their positions."""
    return [inputs[0][inputs[1]]]


def _written(op, x, y, key):
    y = cast(y, x.dtype)
    if op.set_instead_of_inc:
        return [x.at[key].set(y) if key else wa.broadcast_to(y, _shape(x))]
    return [x.at[key].add(y) if key else x + y]


def _shape(x):
    return [wa.extent(x, axis) if known is None else known for axis, known in enumerate(x.shape)]


@registered("tensor.subtensor:IncSubtensor", "tensor.subtensor:AdvancedIncSubtensor")
def inc_subtensor(op, node, inputs, context):
    """Elements set, or added to; where positions repeat, everything is added."""
    x, y, *entries = inputs
    key = _index(op, node, entries)
    if getattr(op, "ignore_duplicates", False) and not op.set_instead_of_inc:
        return [x.at[key].set(x[key] + cast(y, x.dtype))]
    return _written(op, x, y, key)


@registered("tensor.subtensor:AdvancedIncSubtensor1")
def inc_rows(op, node, inputs, context):
    """Rows set, or added to."""
    x, y, positions = inputs
    return _written(op, x, y, (positions,))
