"""From nodes of PyTensor's graphs to Variables: `convert`, which the modules beside this one fill."""

import warnings
from functools import singledispatch
from importlib import import_module

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.tensor.type import TensorType

import workalike as wa


class UnsupportedOp(wa.CompileError, NotImplementedError):
    """There is no conversion of an op of PyTensor."""


def refused(op, node, reason=None, advice="let PyTensor compute the node on the host (unsupported='perform'), "):
    """The exception for a node that cannot be converted."""
    kind = type(op)
    inputs = ", ".join(str(variable.type) for variable in node.inputs)
    why = f": {reason}" if reason else ""
    return UnsupportedOp(
        f"workalike has no conversion of PyTensor's {kind.__module__}.{kind.__qualname__}{why}\n"
        f"  node: {node}\n  inputs: {inputs}\n"
        f"Write the expression without it, leave this function to PyTensor, {advice}or "
        f"register a conversion: "
        f"@workalike.pytensor.convert.register({kind.__name__}) on a function (op, node, inputs, context) that "
        f"returns a list of workalike Variables, one for each output of the node."
    )


@singledispatch
def convert(op, node, inputs, context):
    """The outputs of a node, as a list of Variables.

    `inputs` are the node's inputs: Variables of workalike, None for PyTensor's None, slices, and `Stream`s for random
    generators. `context` is the `Context` of the graph. The results are cast to the dtypes of the node's outputs.
    """
    raise refused(op, node)


def registered(*names):
    """Registers a conversion for classes by "module:name"; those that this PyTensor does not have are left out. Names
    of one class in several versions may stand side by side."""

    def register(function):
        for name in names:
            found = found_class(name)
            if found is not None:
                convert.register(found, function)
        return function

    return register


def found_class(name):
    """A class by "module:name" below `pytensor`, or None."""
    module, _, attribute = name.partition(":")
    try:
        with warnings.catch_warnings():
            # Places that an op left some versions ago.
            warnings.simplefilter("ignore", DeprecationWarning)
            found = getattr(import_module(f"pytensor.{module}"), attribute, None)
    except ImportError:
        return None
    return found if isinstance(found, type) else None


def supported_ops():
    """The classes of ops that have a conversion, and the names of the scalar ops under `Elemwise`."""
    from .elementwise import SCALAR_OPS

    # The conversion of LUFactor is a refusal that says more.
    names = {kind.__name__ for kind in convert.registry} - {"object", "ScalarOp", "LUFactor"}
    return sorted(names | set(SCALAR_OPS))


class Context:
    """What is known while a graph is converted. `unsupported` says what becomes of ops without a conversion: they are
    refused ("refuse"), or PyTensor computes them on the host ("perform")."""

    def __init__(self, unsupported="refuse"):
        if unsupported not in ("refuse", "perform"):
            raise ValueError(f"unsupported is 'refuse' or 'perform', not {unsupported!r}")
        self.unsupported = unsupported
        # Vectors that were made of numbers, by the identity of their Variables: shapes, mostly.
        self._elements = {}
        self.in_loop = 0

    def remember(self, vector, elements):
        """Keeps the elements that a vector was made of."""
        self._elements[id(vector)] = (vector, list(elements))
        return vector

    def elements(self, vector, count):
        """The elements of a vector: numbers where they are known, 0-d Variables elsewhere."""
        known = self._elements.get(id(vector))
        if known is not None:
            return [number_or_variable(element) for element in known[1]]
        value = vector.constant_value
        if value is not None:
            return [int(number) for number in value]
        return [vector[at] for at in range(count)]

    def walk(self, fgraph, inputs):
        """The outputs of a graph of PyTensor whose inputs have these values."""
        values = dict(zip(fgraph.inputs, inputs))

        def value(variable):
            if variable not in values:
                if not isinstance(variable, Constant):
                    raise wa.CompileError(f"PyTensor's {variable} has no value here: it is no input of the graph")
                values[variable] = constant(variable)
            return values[variable]

        for node in fgraph.toposort():
            outputs = self.node(node, [value(variable) for variable in node.inputs])
            values.update(zip(node.outputs, outputs))
        return [value(variable) for variable in fgraph.outputs]

    def node(self, node, inputs):
        """The outputs of a node, with the dtypes and ranks that PyTensor declares."""
        try:
            made = self._converted(node, inputs)
            if len(made) != len(node.outputs):
                raise wa.CompileError(f"the conversion gave {len(made)} outputs of {len(node.outputs)}")
            return [as_declared(one, output.type) for one, output in zip(made, node.outputs)]
        except UnsupportedOp:
            raise
        except Exception as error:
            if hasattr(error, "add_note"):
                error.add_note(f"while PyTensor's node {node} was converted to workalike")
            raise

    def _converted(self, node, inputs):
        try:
            return list(convert(node.op, node, inputs, self))
        except UnsupportedOp:
            if self.unsupported == "refuse":
                raise
            from .performed import performed

            made = performed(node, inputs, self)
            if made is None:
                why = "arguments or results are no arrays that it has, or a result's shape is not known beforehand"
                raise refused(node.op, node, f"PyTensor cannot compute it on the host: {why}", "") from None
            return made


def as_declared(made, declared):
    """A result of a conversion with the dtype of its type; its rank is checked."""
    dtype = getattr(declared, "dtype", None)
    if not isinstance(made, wa.Variable) or dtype is None:
        return made
    # A scalar op has arrays for arguments under `Elemwise`.
    if isinstance(declared, TensorType) and made.ndim != declared.ndim:
        raise wa.CompileError(f"the conversion gave {made.ndim} axes, PyTensor's type is {declared}")
    return cast(made, dtype)


def cast(variable, dtype):
    """The Variable with this dtype."""
    return variable if variable.dtype == np.dtype(dtype) else variable.astype(dtype)


def constant(variable):
    """The value of a constant of PyTensor."""
    dtype = getattr(variable.type, "dtype", None)
    if dtype is not None and getattr(variable.type, "ndim", 0) == 0:
        return wa.constant(np.asarray(variable.data, dtype))
    if isinstance(variable.data, np.ndarray):
        return wa.constant(variable.data)
    if isinstance(variable.data, np.random.Generator):
        from .random import Stream

        return Stream(variable.data)
    return variable.data


def static_int(value):
    """The number that a Variable always is, or None."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    known = value.constant_value if isinstance(value, wa.Variable) else None
    return None if known is None or known.ndim else int(known)


def number_or_variable(value):
    """The number that a Variable always is, or the Variable."""
    known = static_int(value)
    return value if known is None else known


def extents(variable):
    """The extents of a Variable: numbers where they are known, 0-d Variables elsewhere."""
    return [wa.extent(variable, axis) if known is None else known for axis, known in enumerate(variable.shape)]
