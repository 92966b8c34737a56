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

from importlib.util import find_spec as _find_spec

if _find_spec("pytensor") is None:
    raise ModuleNotFoundError(
        "workalike.pytensor needs PyTensor, which is not installed: pip install 'workalike[pytensor]', or "
        "pip install 'pytensor>=2.38'",
        name="pytensor",
    )

from . import elementwise, indexing, inner_graphs, linear_algebra, random, reductions, scans, tensors  # noqa: E402, F401
from .convert import Context, UnsupportedOp, convert, supported_ops  # noqa: E402
from .functions import export, function_of  # noqa: E402
from .linker import WorkalikeLinker, mode  # noqa: E402
from .simulator import Simulator  # noqa: E402

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
