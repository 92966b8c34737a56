"""Nodes without a conversion, computed by PyTensor itself on the host."""

from threading import Lock

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.rewriting.shape import ShapeFeature
from pytensor.tensor.type import TensorType

import workalike as wa


def performed(node, inputs, context):
    """The outputs of a node that its op computes when the graph runs, or None if that cannot be: arguments or results
    are no arrays, or shapes of results are not known before it runs."""
    given = [value for value in inputs if isinstance(value, wa.Variable)]
    variables = [variable for variable, value in zip(node.inputs, inputs) if isinstance(value, wa.Variable)]
    others = [v for v, value in zip(node.inputs, inputs) if not isinstance(value, wa.Variable)]
    arrays = all(
        isinstance(variable.type, TensorType) and not variable.type.dtype.startswith("complex")
        for variable in [*variables, *node.outputs]
    )
    if not arrays or not all(isinstance(variable, Constant) for variable in others):
        return None
    shapes = _shapes(node, inputs, context)
    if shapes is None:
        return None
    results = [(shape, output.type.dtype) for shape, output in zip(shapes, node.outputs)]
    # The node alone, without the graph that computes its inputs.
    fresh = [variable if isinstance(variable, Constant) else variable.type() for variable in node.inputs]
    places = [at for at, value in enumerate(inputs) if isinstance(value, wa.Variable)]
    run = Performed(node.clone_with_new_inputs(fresh), places)
    return wa.pure_callback(run, results, *given, name=type(node.op).__name__)


class Performed:
    """Calls the op of a node. `places` are the positions of the inputs that calls give."""

    def __init__(self, node, places):
        self.node, self.places = node, places
        self._open()

    def _open(self):
        node, self._lock = self.node, Lock()
        self._cells = {variable: [getattr(variable, "data", None)] for variable in [*node.inputs, *node.outputs]}
        computed = {variable: [True] for variable in node.inputs} | {variable: [False] for variable in node.outputs}
        self._thunk = node.op.make_thunk(node, self._cells, computed, [], impl="py")
        self._destroyed = {at for places in (node.op.destroy_map or {}).values() for at in places}

    def __call__(self, *arrays):
        with self._lock:
            for at, array in zip(self.places, arrays):
                # Arrays of a callback cannot be written.
                self._cells[self.node.inputs[at]][0] = array.copy() if at in self._destroyed else array
            self._thunk()
            made = [np.asarray(self._cells[output][0], output.type.dtype) for output in self.node.outputs]
            for variable in [*self.node.outputs, *(self.node.inputs[at] for at in self.places)]:
                if not isinstance(variable, Constant):
                    self._cells[variable][0] = None
            return made

    def __getstate__(self):
        return self.node, self.places

    def __setstate__(self, state):
        self.node, self.places = state
        self._open()


def _shapes(node, inputs, context):
    """The extents of each result: integers, and Variables that the inputs' shapes and values give. None if they are
    not known before the node runs."""
    if all(None not in output.type.shape for output in node.outputs):
        return [list(output.type.shape) for output in node.outputs]
    copies = {variable: variable.clone() for variable in node.inputs if not isinstance(variable, Constant)}
    copy = node.clone_with_new_inputs([copies.get(variable, variable) for variable in node.inputs])
    roots = [variable for variable in copy.inputs if not isinstance(variable, Constant)]
    graph = FunctionGraph(roots, list(copy.outputs), clone=False, features=[ShapeFeature()])
    extents = [extent for output in copy.outputs for extent in graph.shape_feature.shape_of[output]]
    if not set(copy.outputs).isdisjoint(ancestors(extents)):
        return None
    values = dict(zip(copy.inputs, inputs))
    known = context.walk(FunctionGraph(roots, extents, clone=True), [values[root] for root in roots])
    made = iter(known)
    return [[next(made) for _ in range(output.type.ndim)] for output in copy.outputs]
