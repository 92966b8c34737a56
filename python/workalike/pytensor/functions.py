"""A compiled function of PyTensor as a `workalike.Function`."""

import numpy as np
from pytensor.tensor.random.type import RandomType

import workalike as wa

from .convert import Context, UnsupportedOp
from .random import Stream


class State:
    """A shared variable of PyTensor, known by the cell that holds its value, and its counterpart here."""

    def __init__(self, container, declared, name):
        self.container, self.type, self.name = container, declared, name
        value = self.current()
        dynamic = [axis for axis, extent in enumerate(_static_shape(declared)) if extent is None]
        self.shared = wa.shared(value, name, dynamic_axes=dynamic)

    def current(self):
        """The value in PyTensor, of the dtype and rank that it had."""
        value = np.asarray(self.container.storage[0])
        if value.dtype != np.dtype(self.type.dtype) or value.ndim != getattr(self.type, "ndim", 0):
            raise wa.ArgumentError(
                f"PyTensor's shared variable {self.name} holds {value.dtype} with {value.ndim} axes, and its type is "
                f"{self.type}: set a value of that type, or compile the functions anew and make a new Simulator of them"
            )
        return value

    def pull(self):
        """Takes PyTensor's value, if it is another."""
        value = self.current()
        if not _equal(value, self.shared.get_value()):
            self.shared.set_value(value)

    def push(self):
        """Gives PyTensor the value, if it is another; whether it was."""
        value = self.shared.get_value()
        if _equal(value, self.current()):
            return False
        self.container.value = value
        return True


def _equal(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


class States:
    """The shared variables of several functions. Those with one cell are one. `unsupported`: see `Context`."""

    def __init__(self, unsupported="refuse"):
        self.unsupported = unsupported
        self.by_cell, self.streams, self._names = {}, {}, set()

    def state(self, container, variable):
        """The state of a shared variable."""
        key = id(container.storage)
        if key not in self.by_cell:
            self.by_cell[key] = State(container, variable.type, unique(variable.name, "shared", self._names))
        return self.by_cell[key]

    def stream(self, container):
        """The stream of a shared random generator."""
        key = id(container.storage)
        if key not in self.streams:
            # The container is kept, so that its identity is no other's.
            self.streams[key] = (container, Stream(container.storage[0]))
        return self.streams[key][1]

    def pairs(self):
        return list(self.by_cell.values())


def unique(name, kind, taken):
    """The name, or another one if there is none or it is taken."""
    made, number = name or f"{kind}{len(taken)}", 1
    while made in taken:
        number += 1
        made = f"{name or kind}_{number}"
    taken.add(made)
    return made


def _static_shape(declared):
    return tuple(getattr(declared, "shape", ()))


def input_of(variable, name):
    """An input of workalike for one of PyTensor."""
    dtype = getattr(variable.type, "dtype", None)
    if dtype is None or not hasattr(variable.type, "ndim" if hasattr(variable.type, "shape") else "dtype"):
        raise UnsupportedOp(
            f"workalike has no counterpart of an input of PyTensor's type {variable.type} ({name}): give arrays"
        )
    if "Sparse" in type(variable.type).__name__:
        raise UnsupportedOp(
            f"workalike has no {variable.type} (input {name}): give the three vectors of a sparse matrix"
        )
    return wa.tensor(name, dtype, _static_shape(variable.type))


def rebuilt(f, states):
    """The `workalike.Function` of a compiled function of PyTensor; `states` gets its shared variables."""
    fgraph, inputs, values, of_input = f.maker.fgraph, [], [], {}
    names = {entry.name for entry in f.maker.inputs if entry.name and not entry.shared}
    taken = set()
    for at, (variable, entry, container) in enumerate(zip(fgraph.inputs, f.maker.inputs, f.input_storage)):
        kept = entry.shared or entry.implicit or entry.update is not None
        if isinstance(variable.type, RandomType):
            if not kept:
                raise UnsupportedOp(
                    f"workalike takes no random generator as an argument ({variable}): make it a shared variable"
                )
            values.append(states.stream(container))
        elif kept:
            of_input[at] = states.state(container, variable).shared
            values.append(of_input[at])
        else:
            name = unique(entry.name, "input", taken if entry.name else taken | names)
            taken.add(name)
            value = container.storage[0] if entry.value is not None else None
            made = input_of(variable, name)
            inputs.append(wa.In(made, value=value, strict=entry.strict, allow_downcast=bool(entry.allow_downcast)))
            values.append(made)
    outputs = Context(states.unsupported).walk(fgraph, values)
    updated = dict(fgraph.update_mapping or {})
    updates = [(of_input[to], fitted(outputs[at], of_input[to])) for at, to in updated.items() if to in of_input]
    returned = [output for at, output in enumerate(outputs) if at not in updated]
    if not all(isinstance(output, wa.Variable) for output in returned):
        raise UnsupportedOp("workalike returns arrays only: leave random generators out of the outputs")
    return wa.function(inputs, returned, updates, on_unused_input="ignore")


def fitted(value, shared):
    """A new value for a shared variable, with the extents that the variable has for good."""
    wanted = [None if mine is not None else extent for mine, extent in zip(value.shape, shared.shape)]
    return wa.specify_shape(value, wanted) if any(extent is not None for extent in wanted) else value


def function_of(f):
    """The `workalike.Function` of a compiled function of PyTensor, and pairs of shared variables: PyTensor's (the
    container of its value) and workalike's."""
    states = States()
    function = rebuilt(f, states)
    return function, [(state.container, state.shared) for state in states.pairs()]


def export(functions, path):
    """Saves a compiled function of PyTensor, or a dict of several by name, to a file that needs no Python."""
    if not isinstance(functions, dict):
        function_of(functions)[0].save(path)
        return
    states = States()
    wa.Bundle(**{name: rebuilt(f, states) for name, f in functions.items()}).save(path)
