"""Times of density and gradient of the models in python/tests/pymc_models.py, as NUTS calls them.

    PYTHONPATH=python:python/tests python benches/peers/with_pymc.py host NUMBA CVM JAX

takes devices of workalike and modes of PyTensor; it prints the least of five rounds, in microseconds.
"""

import sys
import time

import pymc as pm
from pymc_models import MODELS

import workalike.pytensor as wp

DEVICES = ("host", "opencl", "cuda")


def timed(model, name):
    """Microseconds of a call."""
    mode = wp.mode(name) if name.split(":")[0] in DEVICES else name
    function = model.logp_dlogp_function(mode=mode, ravel_inputs=True)
    function.set_extra_values({})
    start = pm.blocking.DictToArrayBijection.map(model.initial_point())
    points = [start._replace(data=start.data + 0.01 * step) for step in range(8)]
    begin = time.perf_counter()
    while time.perf_counter() - begin < 1:
        for point in points:
            function(point)
    rounds, calls = [], 1
    while not rounds or rounds[-1] * calls < 0.2:
        calls *= 2
        rounds = []
        for _ in range(5):
            begin = time.perf_counter()
            for call in range(calls):
                function(points[call % 8])
            rounds.append((time.perf_counter() - begin) / calls)
    return 1e6 * min(rounds)


if __name__ == "__main__":
    for title, build in MODELS.items():
        model = build()
        times = {name: timed(model, name) for name in sys.argv[1:]}
        print(
            title,
            *(f"{name} {microseconds:.1f}" for name, microseconds in times.items()),
            sep="  ",
            flush=True,
        )
