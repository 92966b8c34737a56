"""Models of PyMC: their densities and gradients, and draws, through the linker."""

import numpy as np
import pytest

pytest.importorskip("pymc")

import pymc as pm  # noqa: E402
from pymc_models import MODELS  # noqa: E402

import workalike as wa  # noqa: E402
import workalike.pytensor as wp  # noqa: E402

DEVICES = ["host", "opencl"] if any(name.startswith("opencl") for name in wa.devices()) else ["host"]


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def densities(model, mode):
    """The density and its gradient, as NUTS compiles them, and points to compute them at."""
    function = model.logp_dlogp_function(mode=mode, ravel_inputs=True)
    function.set_extra_values({})
    return function


@pytest.mark.parametrize("device", DEVICES)
def test_densities_and_gradients(model, device):
    own, theirs = densities(model, wp.mode(device)), densities(model, "FAST_COMPILE")
    start = pm.blocking.DictToArrayBijection.map(model.initial_point())
    random = np.random.default_rng(4)
    for spread in (0.0, 0.1, 0.5):
        point = start._replace(data=start.data + spread * random.normal(size=start.data.shape))
        density, gradient = own(point)
        expected, slope = theirs(point)
        np.testing.assert_allclose(density, expected, rtol=1e-8)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_a_step_to_an_impossible_covariance_is_rejected():
    model = MODELS["gaussian_process"](40)
    own, theirs = densities(model, wp.mode("host")), densities(model, "FAST_COMPILE")
    start = pm.blocking.DictToArrayBijection.map(model.initial_point())
    # High and smooth without noise: the covariance is not positive definite, after rounding.
    impossible = start._replace(data=np.array([5.0, 20.0, -40.0]))
    for density, gradient in (own(impossible), theirs(impossible)):
        assert not np.isfinite(density) and not np.isfinite(gradient).all()
    assert np.isfinite(own(start)[0])


@pytest.mark.parametrize("name", MODELS)
def test_nuts_draws(name):
    # Of 500 points it passes too, in two minutes.
    model = MODELS[name](150) if name == "gaussian_process" else MODELS[name]()
    options = {"draws": 100, "tune": 100, "chains": 1, "cores": 1, "random_seed": 3, "progressbar": False}
    kwargs = {"compute_convergence_checks": False, "compile_kwargs": {"mode": wp.mode("host")}}
    with model:
        trace = pm.sample(**options, **kwargs)
    for name, values in trace.posterior.items():
        assert values.shape[:2] == (1, 100) and np.isfinite(values).all(), name
    if "length" in trace.posterior:
        # The data are a sine with noise of 0.2.
        assert abs(float(trace.posterior["noise"].mean()) - 0.2) < 0.05
    if "sigma" in trace.posterior:
        assert abs(float(trace.posterior["sigma"].mean()) - 0.7) < 0.06
