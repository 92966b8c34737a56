"""Symbolic tensor functions, portable when saved, re-hosted on OpenCL or CUDA when run.

An expression is compiled to a `Function`, which holds no device and runs on any machine. `f.optimize("auto")` makes a
`Simulator` of it: the same function on a device, with its shared variables there.

    import workalike as wa

    x = wa.vector("x")
    w = wa.shared([0.5, 2.0], "w")
    cost = (w * x).sum()
    f = wa.function([x], cost, updates=[(w, w - 0.1 * wa.grad(cost, w))])
    f([1.0, 2.0])                  # here and now
    f.save("model.walk")           # for any machine
    sim = f.optimize("auto")       # on the fastest device of this one
    sim.run_n(100, [1.0, 2.0])
    sim.sync_to_parent()
"""

from . import custom, fft, linalg, losses, ops, optimizers, schedules
from ._callback import pure_callback
from ._function import In, Out, function
from ._inputs import matrix, scalar, tensor, tensor3, vector
from ._methods import install as _install
from ._workalike import (
    ArgumentError,
    Bundle,
    CompileError,
    Device,
    DeviceArray,
    DeviceError,
    DeviceNotFound,
    Error,
    ExpressionError,
    FileError,
    FormatError,
    Function,
    GroupError,
    GroupSimulator,
    HostNodeError,
    InternalError,
    OutOfMemory,
    Probe,
    RandomStreams,
    RunError,
    SharedVariable,
    Simulator,
    StateConflict,
    Variable,
    __version__,
    constant,
    device,
    devices,
    each,
    shared,
)
from .loops import fori_loop, if_else, scan, switch, vmap, while_loop
from .ops import *  # noqa: F403  (the functions that ops.__all__ lists)

_install()

__all__ = [
    "ArgumentError",
    "Bundle",
    "CompileError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "DeviceNotFound",
    "Error",
    "ExpressionError",
    "FileError",
    "FormatError",
    "Function",
    "GroupError",
    "GroupSimulator",
    "HostNodeError",
    "In",
    "InternalError",
    "Out",
    "OutOfMemory",
    "Probe",
    "RandomStreams",
    "RunError",
    "SharedVariable",
    "Simulator",
    "StateConflict",
    "Variable",
    "__version__",
    "constant",
    "custom",
    "device",
    "devices",
    "each",
    "fft",
    "fori_loop",
    "function",
    "if_else",
    "linalg",
    "losses",
    "matrix",
    "optimizers",
    "pure_callback",
    "scalar",
    "scan",
    "schedules",
    "shared",
    "switch",
    "tensor",
    "tensor3",
    "vector",
    "vmap",
    "while_loop",
]
__all__ += ops.__all__
