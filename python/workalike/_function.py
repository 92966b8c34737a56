"""`function`: from expressions to a Function, with Theano's arguments."""

from ._workalike import SharedVariable, Variable
from ._workalike import compile as _compile


# Plain classes: `dataclasses` takes longer to import than all of this package.
class In:
    """An input with options: a name, a default `value`, an `update` that makes it keep its value between calls.

    `mutable`: a call may use the memory of a `DeviceArray` that is its argument. `strict`: no other dtype is taken;
    `allow_downcast`: wider ones are.
    """

    __slots__ = ("variable", "name", "value", "update", "mutable", "strict", "allow_downcast")

    def __init__(self, variable, name=None, value=None, update=None, mutable=False, strict=False, allow_downcast=None):
        self.variable, self.name, self.value, self.update = variable, name, value, update
        self.mutable, self.strict, self.allow_downcast = mutable, strict, allow_downcast

    def _as_tuple(self, downcast):
        downcast = downcast if self.allow_downcast is None else self.allow_downcast
        return self.variable, self.name, self.value, self.update, self.strict, bool(downcast), self.mutable

    def __repr__(self):
        return f"In({self.variable!r}, name={self.name!r}, value={self.value!r})"


class Out:
    """An output with a name."""

    __slots__ = ("variable", "name")

    def __init__(self, variable, name=None):
        self.variable, self.name = variable, name

    def __repr__(self):
        return f"Out({self.variable!r}, name={self.name!r})"


def _named(outputs):
    """Pairs of name and expression."""
    if outputs is None:
        return []
    if isinstance(outputs, dict):
        return [(str(name), output) for name, output in outputs.items()]
    if isinstance(outputs, (Variable, Out)) or not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    return [(out.name, out.variable) if isinstance(out, Out) else (None, out) for out in outputs]


def _pairs(given, what):
    """Pairs of a dict, or of a list of pairs."""
    if given is None:
        return []
    pairs = list(given.items()) if isinstance(given, dict) else [tuple(pair) for pair in given]
    for pair in pairs:
        if len(pair) != 2:
            raise TypeError(f"function: {what} are pairs, or a dict, got {pair!r}")
    return pairs


def function(
    inputs,
    outputs=None,
    updates=None,
    givens=None,
    *,
    name=None,
    on_unused_input="raise",
    allow_input_downcast=None,
):
    """Compiles a Function.

    `inputs`: Variables, or `In`s. `outputs`: an expression, a list of them, or a dict by name. A call returns an
    array, a tuple of several (also by name), or None. `updates`: pairs of a shared variable and its new value, or a
    dict. `givens`: pairs of a Variable and the expression that replaces it. `on_unused_input`: "raise" or "ignore".
    """
    if not isinstance(inputs, (Variable, In, list, tuple)):
        raise TypeError(f"function: expected a list of inputs, got {type(inputs).__name__}")
    inputs = [inputs] if isinstance(inputs, (Variable, In)) else list(inputs)
    inputs = [entry if isinstance(entry, In) else In(entry) for entry in inputs]
    for entry in inputs:
        if not isinstance(entry.variable, Variable):
            raise TypeError(f"function: expected Variables as inputs, got {type(entry.variable).__name__}")
    updates = _pairs(updates, "updates")
    for shared, _ in updates:
        if not isinstance(shared, SharedVariable):
            raise TypeError(f"function: expected a SharedVariable to update, got {shared!r}")
    if on_unused_input not in ("raise", "ignore", "warn"):
        raise ValueError(f"function: on_unused_input is raise or ignore, not {on_unused_input}")
    return _compile(
        name,
        [entry._as_tuple(allow_input_downcast) for entry in inputs],
        _named(outputs),
        updates,
        _pairs(givens, "givens"),
        on_unused_input != "raise",
    )
