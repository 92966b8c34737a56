"""What the tests of PyTensor's graphs have in common; they are skipped where PyTensor is not installed."""

import numpy as np
import pytest

import workalike as wa

pytensor = pytest.importorskip("pytensor")

import pytensor.scalar as ps  # noqa: E402, F401
import pytensor.tensor as pt  # noqa: E402, F401
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.graph.basic import Apply  # noqa: E402, F401
from pytensor.graph.op import Op  # noqa: E402, F401
from pytensor.ifelse import ifelse  # noqa: E402, F401
from pytensor.scan.utils import until  # noqa: E402, F401
from pytensor.tensor.elemwise import Elemwise  # noqa: E402, F401

import workalike.pytensor as wp  # noqa: E402

# Without the factors that several `solve`s share, which are refused.
PY = Mode("py", "fast_run").excluding(*(r for r in wp.WorkalikeLinker.incompatible_rewrites if "decomposition" in r))
OPENCL = any(name.startswith("opencl") for name in wa.devices())


def devices():
    return ("host", "opencl") if OPENCL else ("host",)


def listed(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def compare(inputs, outputs, *args, rtol=None, on=("host",)):
    """Runs a graph in PyTensor and here: by a Simulator of the fused graph and of the lean one, and by the linker."""
    single = not isinstance(outputs, (list, tuple))
    fused, lean = (
        pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore")
        for mode in (PY, PY.excluding(*wp.WorkalikeLinker.incompatible_rewrites))
    )
    # Without a C compiler PyTensor's own fused ops are wrong for some integers and bools.
    want = listed(lean(*args))
    for device in on:
        for way in ("fused", "lean", "linker"):
            if way == "linker":
                got = pytensor.function(inputs, outputs, mode=wp.mode(device), on_unused_input="ignore")(*args)
            else:
                got = wp.Simulator(fused if way == "fused" else lean, device)(*args)
            assert isinstance(got, np.ndarray) if single else isinstance(got, list)
            got = listed(got)
            assert len(got) == len(want)
            for mine, its, output in zip(got, want, listed(outputs)):
                its = np.asarray(its)
                assert mine.dtype == its.dtype == np.dtype(output.type.dtype), (way, device)
                assert mine.shape == its.shape, (way, device)
                narrow = {"float32": 2e-5, "float16": 2e-3}.get(str(its.dtype), 1e-9)
                np.testing.assert_allclose(
                    mine, its, rtol=rtol or narrow, atol=rtol or narrow, err_msg=f"{way} {device}"
                )
