"""Loops and branches in expressions: Theano's `scan`, JAX's `fori_loop`, `while_loop` and `cond`.

Bodies are functions of Python that are called once, with Variables, and return expressions.
"""

from ._workalike import Variable
from ._workalike import scan as _scan
from ._workalike import switch as _switch
from ._workalike import vmap as _vmap
from ._workalike import while_loop as _while_loop

__all__ = ["fori_loop", "if_else", "map", "reduce", "scan", "switch", "vmap", "while_loop"]


def _list(given):
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _returned(results, several):
    results = list(results)
    return results if several or len(results) != 1 else results[0]


def scan(
    fn,
    sequences=None,
    outputs_info=None,
    non_sequences=None,
    n_steps=None,
    *,
    go_backwards=False,
    truncate_gradient=None,
    name="scan",
):
    """Theano's `scan`: `fn(*slices, *values_before, *non_sequences)` returns the next values.

    `sequences`: Variables, or dicts `{"input": x, "taps": [-1, 0]}`. `outputs_info`: for each result of `fn` its
    initial value, a dict `{"initial": x, "taps": [-2, -1]}`, or None for one that `fn` does not get back. Returns the
    results of all iterations, stacked: one Variable, or a list of several.
    """
    made = _run(fn, sequences, outputs_info, non_sequences, n_steps, go_backwards, truncate_gradient, name)
    return _returned((history for history, _ in made), False)


def _run(fn, sequences, outputs_info, non_sequences, n_steps, go_backwards, truncate_gradient, name):
    """For each result of a scan its values, stacked, and the last one (None if it is not carried)."""
    if truncate_gradient is not None and truncate_gradient < 0:
        truncate_gradient = None  # Theano's -1
    taps = []
    for sequence in _list(sequences):
        if isinstance(sequence, dict):
            taps.append((sequence["input"], list(sequence.get("taps", [0]))))
        else:
            taps.append((sequence, [0]))
    if outputs_info is not None and not isinstance(outputs_info, (list, tuple)):
        outputs_info = [outputs_info]
    infos = list(outputs_info) if outputs_info is not None else None
    recurrences = []
    for info in infos or []:
        if isinstance(info, dict):
            recurrences.append((info["initial"], list(info.get("taps", [-1]))))
        elif info is not None:
            recurrences.append((info, [-1]))
    further, order = _list(non_sequences), []

    def body(*given):
        results = _list(fn(*given, *further))
        if infos is None:
            order.extend((False, at) for at in range(len(results)))
            return results
        if len(results) != len(infos):
            raise ValueError(f"{name}: outputs_info has {len(infos)} entries, and the body returned {len(results)}")
        carried = [result for result, info in zip(results, infos) if info is not None]
        others = [result for result, info in zip(results, infos) if info is None]
        seen = {True: 0, False: 0}
        for info in infos:
            kind = info is not None
            order.append((kind, seen[kind]))
            seen[kind] += 1
        return carried + others

    histories, stacked, last = _scan(body, name, taps, recurrences, n_steps, go_backwards, truncate_gradient)
    return [(histories[at], last[at]) if carried else (stacked[at], None) for carried, at in order]


def map(fn, sequences, non_sequences=None):
    """The results of `fn` for each slice of the sequences, stacked."""
    return scan(fn, sequences, None, non_sequences, name="map")


def reduce(fn, sequences, outputs_info, non_sequences=None, *, name="reduce"):
    """The carried values after the last slice; those before the first if there is none."""
    made = _run(fn, sequences, outputs_info, non_sequences, None, False, None, name)
    return _returned((last for _, last in made), False)


def fori_loop(lower, upper, body, init):
    """JAX's: `body(i, value)` for each `i` from `lower` to before `upper`; the last value.

    The value keeps its dtype: `i` is an int64, so that `value + i` of a float32 needs `i.astype("float32")`.
    """
    from . import ops

    several = isinstance(init, (list, tuple))
    carried = _list(init)

    def step(i, *values):
        return body(i, list(values) if several else values[0])

    if not carried:
        raise TypeError("fori_loop: expected an initial value, got None")
    results = reduce(step, ops.arange(lower, upper), carried, name="fori_loop")
    return results if several else results


def vmap(fun, in_axes=0):
    """JAX's: a function that computes `fun` for all slices of its arguments at once, and stacks the results.

    `in_axes` says along which axis each argument is sliced: one for all, or a list; None for one that is not. What the
    body uses from outside is the same for all slices, also what it draws: draw for all of them, and slice the draws.
    """

    def mapped(*args):
        axes = list(in_axes) if isinstance(in_axes, (list, tuple)) else [in_axes] * len(args)
        if len(axes) != len(args):
            raise ValueError(f"vmap: in_axes has {len(axes)} entries for {len(args)} arguments")
        from . import ops

        sliced = [ops.moveaxis(arg, axis, 0) for arg, axis in zip(args, axes) if axis is not None]
        several = []

        def body(*slices):
            given = iter(slices)
            made = fun(*(arg if axis is None else next(given) for arg, axis in zip(args, axes)))
            several.append(isinstance(made, (list, tuple)))
            return made

        return _returned(_vmap(body, sliced), any(several))

    return mapped


def while_loop(cond, body, init):
    """JAX's: the values when `cond(value)` is false for the first time."""
    several = isinstance(init, (list, tuple))

    def unpacked(function):
        return lambda *values: function(list(values) if several else values[0])

    return _returned(_while_loop(unpacked(cond), unpacked(body), _list(init)), several)


def if_else(condition, then, otherwise):
    """The results of one of two functions without arguments; only that one runs (JAX's `cond`, Theano's `ifelse`)."""
    if not isinstance(condition, Variable) or condition.dtype != bool:
        raise TypeError(f"if_else: the condition is a 0-d bool, got {condition!r}")
    return switch(condition.astype("int64"), [otherwise, then])


def switch(index, branches):
    """The results of one of several functions without arguments, by a 0-d integer."""
    several = []

    def called(branch):
        def call():
            made = branch()
            several.append(isinstance(made, (list, tuple)))
            return made

        return call

    return _returned(_switch(index, [called(branch) for branch in branches]), any(several))
