"""PyTensor's own tests of its linkers for Numba and JAX, run through workalike: a plugin of pytest.

A checkout of PyTensor at the version that is installed has the tests; its wheels do not:

    git clone --depth 1 --branch rel-3.0.7 https://github.com/pymc-devs/pytensor
    cd pytensor
    PYTHONPATH=/path/to/workalike/python/tests python -m pytest -p pytensor_suite tests/link/numba tests/link/jax

Numba's and JAX's linkers become workalike's, on the device that the variable `WORKALIKE_SUITE_DEVICE` names ("host").
With `WORKALIKE_SUITE_UNSUPPORTED=perform` PyTensor computes the ops that workalike does not have.
A test that reaches an op which workalike refuses by name is reported as skipped, one that compiles nothing by these
linkers is left out. What fails is an error, or a number that differs from PyTensor's.
"""

import os
from collections import Counter

import numpy as np
import pytest
from pytensor.link.jax.linker import JAXLinker
from pytensor.link.numba.linker import NumbaLinker

import workalike as wa
from workalike.pytensor.linker import WorkalikeLinker

DEVICE = os.environ.get("WORKALIKE_SUITE_DEVICE", "host")
UNSUPPORTED = os.environ.get("WORKALIKE_SUITE_UNSUPPORTED", "refuse")
# Tests that say nothing of numbers, by a part of their names, and what they are about.
LEFT_OUT = {
    "overwrite": "which input an op of the graph overwrites: workalike plans memory itself",
    "inplace": "the same",
    "AdvancedIncSubtensor[True": "the same",
    "IndexedReadFusion": "rewrites for Numba",
    "IndexedWriteFusion": "the same",
    "RepeatedAccumulationIndices": "the same",
    "TestShapeValidation": "the same",
    "UserWarning": "warnings where Numba runs an op as Python",
    "test_performance": "times of Numba's code",
    "benchmark": "the same",
    "cache": "Numba's files",
    "test_cython_support": "Numba's calls of Cython's functions",
    "test_typed_list": "lists of Numba",
    "test_wrap_jax": "functions of JAX in a graph",
    "test_aligned_RandomVariable": "the numbers that a seed draws: workalike's streams are others",
    "jax/test_random.py": "the same, and warnings of JAX's generators",
    "test_random.py::test_random_size": "the same",
    "test_random.py::test_rng": "the same",
    "test_random.py::test_multivariate_normal": "the same",
    "test_random.py::test_mvnormal": "the same",
    "test_random.py::test_rv_inside_ofg": "the same",
    "test_random.py::test_repeated_args": "the same",
}

compiled = refused = False
counts = Counter()
reasons = Counter()


def of_jax(made):
    """The callable, with results that are arrays of JAX: its tests ask for their type."""
    import jax

    return lambda *given: [jax.numpy.asarray(one) if isinstance(one, np.ndarray) else one for one in made(*given)]


def pytest_configure(config):
    """Gives both linkers the behaviour of workalike's."""
    convert = WorkalikeLinker.fgraph_convert

    def counted(self, *args, **kwargs):
        global compiled, refused
        compiled = True
        self.device, self.unsupported = DEVICE, UNSUPPORTED
        try:
            made = convert(self, *args, **kwargs)
            return of_jax(made) if isinstance(self, JAXLinker) else made
        except wa.pytensor.UnsupportedOp as error:
            refused = str(error)
            raise

    for linker in (NumbaLinker, JAXLinker):
        linker.fgraph_convert = counted
        for name in ("jit_compile", "create_thunk_inputs", "required_rewrites"):
            setattr(linker, name, getattr(WorkalikeLinker, name))
        linker.incompatible_rewrites = (*WorkalikeLinker.incompatible_rewrites, "numba", "jax")


def pytest_collection_modifyitems(config, items):
    """Leaves out what is said above."""
    left_out = [item for item in items if any(name in item.nodeid for name in LEFT_OUT)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not any(name in item.nodeid for name in LEFT_OUT)]


def pytest_runtest_setup(item):
    global compiled, refused
    compiled = refused = False


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when != "call":
        return
    if not compiled:
        counts["without these linkers"] += 1
    elif report.failed and refused:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"refused: {refused}")
        counts["refused"] += 1
        reasons[refused.split("\n")[0][:150]] += 1
    else:
        if report.failed and str(report.longrepr).startswith("[XPASS"):
            # What Numba or JAX cannot do.
            report.outcome, report.longrepr = "passed", None
        counts[report.outcome] += 1


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("workalike")
    terminalreporter.line(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:4} {reason}")
