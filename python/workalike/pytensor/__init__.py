"""PyTensor's compiled functions on the devices of workalike.

    import workalike.pytensor

    f = pytensor.function([x], cost, updates=[(w, w - rate * g)])
    sim = workalike.pytensor.Simulator(f, device="auto")
    sim(data)
    sim.run_n(1_000, data)
    sim.sync_to_pytensor()

`pytensor.function(.., mode="workalike")` compiles for the host, `mode=workalike.pytensor.mode("opencl")` for a device.
`convert.register(MyOp)` adds an op of yours.
"""

try:
    import pytensor as _pytensor  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pytensor":
        raise
    raise ModuleNotFoundError(
        "workalike.pytensor needs PyTensor, which is not installed: pip install 'workalike[pytensor]', or "
        "pip install 'pytensor>=2.38'",
        name="pytensor",
    ) from None

from . import elementwise, indexing, inner_graphs, linear_algebra, random, reductions, scans, tensors  # noqa: F401
from .convert import Context, UnsupportedOp, convert, supported_ops
from .functions import export, function_of
from .linker import WorkalikeLinker, mode
from .simulator import Simulator

__all__ = [
    "Context",
    "Simulator",
    "UnsupportedOp",
    "WorkalikeLinker",
    "convert",
    "export",
    "function_of",
    "mode",
    "supported_ops",
]
