"""Compiled functions of PyTensor: the protocol of Simulators, files, modes, refusals."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from pytensor_cases import PY, Apply, Op, compare, devices, pt, pytensor, wp

import workalike as wa


def accumulator(mode=PY):
    state, inc = pytensor.shared(np.int64(0), "state"), pt.lscalar("inc")
    add = pytensor.function([inc], state, updates=[(state, state + inc)], mode=mode)
    sub = pytensor.function([inc], state, updates=[(state, state - inc)], mode=mode)
    return state, add, sub


def test_the_protocol():
    state, add, sub = accumulator()
    sim = wp.Simulator(add, device="host")
    assert sim(1) == 0 and sim(inc=2) == 1 and sim.run_n(10, 1) == 12
    assert state.get_value() == 0 and sim.get_value(state) == 13
    assert sim.sync_to_pytensor() == ["state"] and state.get_value() == 13 and sim.sync_to_pytensor() == []
    sim.add_method("sub", sub)
    assert sim["sub"](3) == 13 and sim["sub"].run_n(2, 3) == 7 and sim.methods == ["main", "sub"]
    sim.sync_to_pytensor()
    assert add(0) == 4
    state.set_value(100)
    assert sim.sync_from_pytensor() == ["state"] and sim(0) == 100
    add(5)
    assert sim.sync_from_pytensor(keep="pytensor") == ["state"] and sim(0) == 105
    with pytest.raises(KeyError, match="sub"):
        sim["mul"]
    sim(1)
    state.set_value(7)
    with pytest.raises(wa.StateConflict):
        sim.sync_to_pytensor()
    sim.sync_to_pytensor(keep="simulator")
    assert state.get_value() == 106
    assert sim.run_n(3, wa.each(np.arange(3))) == 107


def test_results_have_pytensors_form():
    x = pt.vector("x")
    one, several, nothing, empty = (
        pytensor.function([x], outputs, mode=PY, on_unused_input="ignore")
        for outputs in (x * 2, [x * 2, x.sum()], None, [])
    )
    assert isinstance(wp.Simulator(one, "host")([1.0]), np.ndarray)
    assert isinstance(wp.Simulator(several, "host")([1.0]), list)
    assert isinstance(wp.Simulator(pytensor.function([x], [x + 1], mode=PY), "host")([1.0]), list)
    assert wp.Simulator(nothing, "host")([1.0]) == nothing([1.0])
    assert wp.Simulator(empty, "host")([1.0]) == empty([1.0])
    same = wp.Simulator(pytensor.function([x], [x, x * 2, x], mode=PY), "host")([1.0, 2.0])
    assert [part.tolist() for part in same] == [[1, 2], [2, 4], [1, 2]]


def regression(mode):
    rng = np.random.default_rng(3)
    x, y = pt.matrix("x"), pt.vector("y")
    w, b = pytensor.shared(rng.normal(size=4), "w"), pytensor.shared(0.0, "b")
    p = pt.sigmoid(x @ w + b)
    cost = pt.mean(-y * pt.log(p) - (1 - y) * pt.log(1 - p)) + 0.01 * (w**2).sum()
    updates = [(w, w - 0.1 * pt.grad(cost, w)), (b, b - 0.1 * pt.grad(cost, b))]
    return pytensor.function([x, y], [p > 0.5, cost], updates=updates, mode=mode), w, b


@pytest.mark.parametrize("device", devices())
def test_logistic_regression(device):
    rng = np.random.default_rng(5)
    xs = rng.normal(size=(40, 4))
    ys = (xs[:, 0] > 0).astype("float64")
    f, w, b = regression(PY)
    sim = wp.Simulator(f, device)
    sim.run_n(30, xs, ys)
    for _ in range(30):
        f(xs, ys)
    want = w.get_value(), b.get_value()
    np.testing.assert_allclose(sim.get_value(w), want[0], rtol=1e-9)
    np.testing.assert_allclose(sim.get_value(b), want[1], rtol=1e-9)
    assert sim(xs, ys)[1] < 0.6
    linked, w, b = regression(wp.mode(device))
    for _ in range(30):
        linked(xs, ys)
    np.testing.assert_allclose(w.get_value(), want[0], rtol=1e-9)


def test_a_network():
    rng = np.random.default_rng(5)
    shapes = ((5, 8), (8,), (8, 3), (3,))
    x, y = pt.fmatrix("x"), pt.lvector("y")
    parameters = [
        pytensor.shared((rng.normal(size=shape) * 0.3).astype("float32"), f"p{at}") for at, shape in enumerate(shapes)
    ]
    w1, b1, w2, b2 = parameters
    p = pt.special.softmax(pt.tanh(x @ w1 + b1) @ w2 + b2, axis=-1)
    cost = -pt.log(p[pt.arange(y.shape[0]), y]).mean()
    updates = [(q, q - np.float32(0.2) * g) for q, g in zip(parameters, pt.grad(cost, parameters))]
    f = pytensor.function([x, y], cost, updates=updates, mode=PY)
    xs, ys = rng.normal(size=(30, 5)).astype("float32"), rng.integers(0, 3, 30)
    sim = wp.Simulator(f, "auto")
    last = sim.run_n(50, xs, ys)
    want = [f(xs, ys) for _ in range(50)][-1]
    np.testing.assert_allclose(last, want, rtol=1e-3)
    assert sim(xs, ys) < 0.9 * np.log(3)


def test_spiking_neurons():
    v, r = pytensor.shared(np.zeros(20, "float32"), "v"), pytensor.shared(np.zeros(20, "float32"), "r")
    current = pt.fvector("current")
    waits = r > 0
    moved = pt.switch(waits, np.float32(0), v + np.float32(0.05) * (current - v))
    spikes = moved > 1
    updates = [
        (v, pt.switch(spikes, np.float32(0), moved)),
        (r, pt.switch(spikes, np.float32(2), pt.maximum(r - np.float32(1), 0).astype("float32"))),
    ]
    f = pytensor.function([current], spikes, updates=updates, mode=PY)
    sim = wp.Simulator(f, "host")
    voltage = sim.probe(v, every=10)
    given = np.linspace(0, 4, 20).astype("float32")
    mine = sim.run_n_collect(100, given)
    its = np.stack([f(given) for _ in range(100)])
    assert np.array_equal(mine, its) and its.sum() > 10
    assert voltage.read().shape == (10, 20) and np.array_equal(voltage.read()[-1], v.get_value())
    assert sim.explain() == sim.simulator.explain()


def test_export(tmp_path):
    state, add, sub = accumulator()
    wp.export(add, tmp_path / "add.walk")
    add.trust_input = False
    loaded = wa.Function.load(tmp_path / "add.walk")
    assert [loaded(5).item(), loaded(5).item()] == [0, 5] and state.get_value() == 0
    wp.export({"add": add, "sub": sub}, tmp_path / "both.walk")
    bundle = wa.Bundle.load(tmp_path / "both.walk")
    bundle["add"](5)
    assert bundle["sub"](1) == 5
    function, pairs = wp.function_of(add)
    assert isinstance(function, wa.Function) and len(pairs) == 1 and pairs[0][0].storage is state.container.storage


class Unknown(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2


class Doubled(Unknown):
    pass


def test_unknown_ops_are_refused_and_registered():
    x = pt.vector("x")
    f = pytensor.function([x], Unknown()(x) + 1, mode=PY)
    with pytest.raises(wp.UnsupportedOp, match=r"Unknown[\s\S]*node[\s\S]*convert.register") as caught:
        wp.Simulator(f, "host")
    assert isinstance(caught.value, wa.Error) and isinstance(caught.value, NotImplementedError)
    with pytest.raises(wp.UnsupportedOp, match="Unknown"):
        pytensor.function([x], Unknown()(x) + 1, mode="workalike")

    @wp.convert.register(Doubled)
    def doubled(op, node, inputs, context):
        return [inputs[0] * 2]

    compare([x], Doubled()(x) + 1, np.arange(3.0))


def test_complex_numbers():
    z, x, y = pt.zvector("z"), pt.dvector("x"), pt.dvector("y")
    outputs = [z * x + 2, abs(z), pt.real(z), pt.imag(z), pt.angle(z), pt.conj(z), pt.complex(x, y), pt.exp(z) / z]
    f = pytensor.function([z, x, y], outputs, mode=PY)
    given = np.array([1 + 2j, -0.5 + 1j, 3 - 1j]), np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 0.0])
    for got, want in zip(wp.Simulator(f, "host")(*given), f(*given)):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-13)


def test_refusals_say_what_to_do():
    a = pt.matrix("a")
    with pytest.raises(wp.UnsupportedOp, match="SVD"):
        wp.Simulator(pytensor.function([a], pt.linalg.svd(a), mode=PY), "host")
    state, add, _ = accumulator()
    sim = wp.Simulator(add, "host")
    for call in (lambda: sim(), lambda: sim(1, 2), lambda: sim(1, wrong=2)):
        with pytest.raises(wa.ArgumentError):
            call()
    with pytest.raises(wa.ArgumentError, match="expected a compiled function"):
        wp.Simulator(a)
    state.container.storage[0] = np.zeros(3)
    with pytest.raises(wa.ArgumentError, match="holds float64 with 1 axes"):
        sim.sync_from_pytensor()
    with pytest.raises(wa.ArgumentError):
        wp.Simulator(pytensor.function([a], a + 1, mode=PY), "host")(np.zeros(3))


def test_modes_and_pickles():
    x = pt.vector("x")
    w = pytensor.shared(np.ones(3), "w")
    f = pytensor.function([x], (w * x).sum(), updates=[(w, w * 2)], mode="workalike")
    assert type(f.maker.linker) is wp.WorkalikeLinker
    assert f(np.arange(3.0)) == 3 and f(np.arange(3.0)) == 6 and w.get_value().tolist() == [4, 4, 4]
    assert isinstance(f(np.arange(3.0)), np.ndarray)
    g = pickle.loads(pickle.dumps(f))
    assert g(np.arange(3.0)) == f(np.arange(3.0))
    linker = pickle.loads(pickle.dumps(wp.WorkalikeLinker(device="opencl")))
    assert linker.device == "opencl" and repr(linker) == "WorkalikeLinker(device='opencl')"
    one_mode = wp.mode("auto")
    functions = [pytensor.function([x], x * 2, mode=one_mode) for _ in range(3)]
    assert {f.maker.linker.device for f in functions} == {"auto"}
    assert all(f([1.0]).tolist() == [2.0] for f in functions)
    assert pickle.loads(pickle.dumps(wp.mode("auto"))).linker.device == "auto"


def test_draws():
    rng = pytensor.shared(np.random.default_rng(1), "rng")
    x = pt.vector("x")
    draws = [
        ("normal", (x, 2.0)),
        ("uniform", (x, x + 2)),
        ("bernoulli", (0.3,)),
        ("integers", (2, 6)),
        ("exponential", (2.0,)),
        ("beta", (2.0, 3.0)),
        ("gamma", (x + 2, 2.0)),
        ("poisson", (x + 2,)),
        ("binomial", (10, 0.3)),
        ("laplace", (x, 1.0)),
        ("logistic", (x, 0.5)),
        ("gumbel", (x, 1.0)),
        ("geometric", (0.4,)),
        ("weibull", (2.0,)),
        ("halfnormal", (0.0, 1.0)),
        ("t", (9.0, x, 1.0)),
    ]
    nexts, outputs, state = [], [], rng
    for name, parameters in draws:
        node = getattr(pt.random, name)(*parameters, size=(4000, 2), rng=state).owner
        state = node.outputs[0]
        outputs.append(node.outputs[1])
    node = pt.random.categorical(pt.as_tensor([0.2, 0.5, 0.3]), size=(4000, 2), rng=state).owner
    f = pytensor.function([x], [*outputs, node.outputs[1]], updates=[(rng, node.outputs[0])], mode=PY)
    with pytest.warns(UserWarning, match="draws random numbers of its own"):
        sim = wp.Simulator(f, "host")
    with pytest.warns(UserWarning, match="draws random numbers of its own"):
        linked = pytensor.function([x], [*outputs, node.outputs[1]], updates=[(rng, node.outputs[0])], mode="workalike")
    for mine in (sim, linked):
        first, second = mine(np.array([0.0, 1.0])), mine(np.array([0.0, 1.0]))
        assert not np.array_equal(first[0], second[0])
        for got, want in zip(first, f(np.array([0.0, 1.0]))):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got.mean(0), want.mean(0), atol=0.15)
            np.testing.assert_allclose(got.std(0), want.std(0), atol=0.15)
    assert nexts == []


def test_pytensor_is_not_imported():
    code = "import sys, workalike; sys.exit('pytensor' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
