"""Ops of PyTensor that workalike does not have, computed by PyTensor on the host where that is asked for."""

import pickle

import numpy as np
import pytest
from pytensor_cases import PY, Apply, Op, devices, listed, pt, pytensor, wp

import workalike as wa


class Doubled(Op):
    """Twice its argument, in place."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        inputs[0] *= 2
        outputs[0][0] = inputs[0]

    def infer_shape(self, fgraph, node, shapes):
        return shapes


class Sorted(Op):
    """The elements that are not 0: how many is not known before."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [pt.vector(dtype=x.dtype)])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.sort(inputs[0][inputs[0] != 0])


A = np.random.default_rng(5).normal(size=(4, 3))


@pytest.mark.parametrize("device", devices())
def test_decompositions(device):
    x = pt.matrix("x", dtype="float64")
    q, r = pt.linalg.qr(x)
    values = pt.linalg.svd(x, compute_uv=False)
    f = pytensor.function([x], [q @ r, values, pt.linalg.expm(x.T @ x) + 1], mode=PY)
    with pytest.raises(wp.UnsupportedOp, match="unsupported='perform'"):
        wp.Simulator(f, device)
    sim = wp.Simulator(f, device, unsupported="perform")
    linked = pytensor.function([x], [q @ r, values], mode=wp.mode(device, unsupported="perform"))
    for given in (A, A[:3], A):
        for mine, its in zip(sim(given), f(given)):
            np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(linked(given)[1], f(given)[1])
    with pytest.raises(wa.HostNodeError, match="QR"):
        wp.Simulator(f, device, strict=True, unsupported="perform")(A)


def test_arguments_that_are_overwritten_and_shared_variables():
    w, x = pytensor.shared(A.copy(), "w"), pt.matrix("x", dtype="float64")
    f = pytensor.function([x], Doubled()(w * x), updates=[(w, w + 1)], mode=PY, accept_inplace=True)
    sim = wp.Simulator(f, "host", unsupported="perform")
    given = A.copy()
    for step in range(3):
        np.testing.assert_allclose(sim(given), (A + step) * A * 2)
    np.testing.assert_array_equal(given, A)
    assert "pure_callback[Doubled]" in sim.simulator.explain() + str(sim.plan(given))
    function = pickle.loads(pickle.dumps(sim.function))
    np.testing.assert_allclose(listed(function(given))[0], A * A * 2)
    with pytest.raises(ValueError, match="calls Python"):
        sim.function.save("never.walk")


def test_what_cannot_be_performed_is_refused():
    x = pt.vector("x", dtype="float64")
    f = pytensor.function([x], Sorted()(x), mode=PY)
    with pytest.raises(wp.UnsupportedOp, match="Sorted: PyTensor cannot compute it on the host") as caught:
        wp.Simulator(f, "host", unsupported="perform")
    assert "unsupported=" not in str(caught.value)
    with pytest.raises(ValueError, match="unsupported is 'refuse' or 'perform', not 'ignore'"):
        wp.Simulator(f, "host", unsupported="ignore")


def test_an_error_of_the_op_is_one_of_the_call():
    x = pt.matrix("x", dtype="float64")
    sim = wp.Simulator(pytensor.function([x], pt.linalg.expm(x), mode=PY), "host", unsupported="perform")
    with pytest.raises(wa.RunError, match=r"pure_callback.Expm.*must be square"):
        sim(A)
    np.testing.assert_allclose(sim(np.zeros((2, 2))), np.eye(2))
