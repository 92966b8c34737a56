"""Ops with graphs of their own, and branches."""

import workalike as wa

from .convert import refused, registered
from .elementwise import truth


@registered("compile.builders:OpFromGraph")
def op_from_graph(op, node, inputs, context):
    """The graph of the op, in its place."""
    return context.walk(op.fgraph, inputs)


@registered("ifelse:IfElse")
def if_else(op, node, inputs, context):
    """One of two lists of values."""
    condition, *values = inputs
    if not all(isinstance(value, wa.Variable) for value in values):
        raise refused(op, node, "a branch that is no array")
    then, otherwise = values[: op.n_outs], values[op.n_outs :]
    chosen = wa.if_else(truth(condition), lambda: list(then), lambda: list(otherwise))
    return chosen if isinstance(chosen, (list, tuple)) else [chosen]
