"""Functions of Python in a graph."""

import pickle
import threading

import numpy as np
import pytest
import scipy.special

import workalike as wa

DEVICES = ["host", "opencl"] if any(name.startswith("opencl") for name in wa.devices()) else ["host"]
X = np.linspace(-2, 2, 12).reshape(3, 4)


def expit(x):
    return scipy.special.expit(x)


def expit_gradient(arguments, results, gradients):
    (y,), (g,) = results, gradients
    return [g * y * (1 - y)]


def test_it_is_called_on_each_device():
    x = wa.matrix("x", "float64")
    f = wa.function([x], wa.pure_callback(expit, x, x * 2) + 1)
    for g in (f, *map(f.optimize, DEVICES)):
        np.testing.assert_array_equal(g(X), scipy.special.expit(2 * X) + 1)
        np.testing.assert_array_equal(g(X[:, :0]), np.zeros((3, 0)))
    np.testing.assert_array_equal(f.call_reference(X), scipy.special.expit(2 * X) + 1)
    sim = f.optimize("host")
    sim(X)
    assert "pure_callback[expit]" in sim.explain() and "expit" in sim.plan(X)
    for device in DEVICES:
        with pytest.raises(wa.HostNodeError, match="expit"):
            f.optimize(device, strict=True)(X)


def test_a_function_may_keep_its_arguments():
    x, w, kept = wa.vector("x", "float64"), wa.shared(np.zeros(4), "w"), []

    def keep(x):
        kept.append(x)
        return x * 2

    f = wa.function([x], wa.pure_callback(keep, x, x * 3 + w), updates=[(w, w + 1)])
    for g in (f.fork(), *map(f.optimize, DEVICES)):
        kept.clear()
        given = np.ones(4)
        for _ in range(3):
            g(given)
            given += 1
        assert [k.tolist() for k in kept] == [[3.0] * 4, [7.0] * 4, [11.0] * 4]
        assert not kept[0].flags.writeable


def test_results_have_shapes_that_are_computed():
    x, n = wa.vector("x", "float64"), wa.scalar("n", "int64")
    top = wa.pure_callback(
        lambda x, n: (np.sort(x)[len(x) - n :], np.argsort(x)[len(x) - n :]), [((n,), x.dtype), ((n,), "int64")], x, n
    )
    f = wa.function([x, n], top)
    for count in (2, 3, 0):
        values, positions = f([3.0, 1.0, 2.0, 0.5], count)
        assert values.shape == positions.shape == (count,)
    assert f([3.0, 1.0, 2.0, 0.5], 2)[0].tolist() == [2.0, 3.0]
    with pytest.raises(wa.RunError, match="extent of a result is -1"):
        f([3.0], -1)


def test_gradients_are_what_the_user_says():
    x = wa.matrix("x", "float64")
    y = wa.pure_callback(expit, x, x, gradient=expit_gradient)
    slope = wa.function([x], wa.grad(y.sum(), x))(X)
    y = scipy.special.expit(X)
    np.testing.assert_allclose(slope, y * (1 - y))
    with pytest.raises(wa.CompileError, match=r"pure_callback\[expit\]: it has no gradient"):
        wa.grad(wa.pure_callback(expit, x, x).sum(), x)
    with pytest.raises(wa.CompileError, match="expected a list of 1 gradients"):
        wa.grad(wa.pure_callback(expit, x, x, gradient=lambda *_: []).sum(), x)


def test_state_and_loops():
    w = wa.shared(np.ones(3), "w")
    f = wa.function([], [], updates=[(w, wa.pure_callback(np.cos, w, w))])
    sim = f.optimize("host")
    sim.run_n(3)
    np.testing.assert_array_equal(sim.get_value("w"), np.cos(np.cos(np.cos(np.ones(3)))))
    steps = wa.fori_loop(0, 4, lambda i, x: wa.pure_callback(np.cos, x, x), wa.constant(np.ones(2)))
    g = wa.function([], steps)
    expected = np.cos(np.cos(np.cos(np.cos(np.ones(2)))))
    np.testing.assert_array_equal(g(), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(g))(), expected)


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: 1 / 0, ["ZeroDivisionError", "test_callback.py"]),
        (lambda x: x[0], [r"expected a result float64\(3, 4\), got float64\(4,\)"]),
        (lambda x: x.astype("float32"), [r"got float32\(3, 4\)"]),
        (lambda x: (x, x), ["expected 1 results, got 2"]),
        (lambda x: "text", ["TypeError"]),
        (lambda x: x.__setitem__(0, 1), ["read-only"]),
    ],
)
def test_a_function_that_fails_is_an_error_of_the_call(function, words):
    x = wa.matrix("x", "float64")
    state = wa.shared(0, "state")
    f = wa.function([x], wa.pure_callback(function, x, x, name="bad"), updates=[(state, state + 1)])
    for g in (f, f.optimize("host")):
        for word in [r"pure_callback\[bad\]", *words]:
            with pytest.raises(wa.RunError, match=word):
                g(X)
    assert state.get_value() == 0
    # The device still works.
    np.testing.assert_array_equal(wa.function([x], wa.pure_callback(expit, x, x))(X), scipy.special.expit(X))


def test_files_refuse_it_and_pickles_keep_it(tmp_path):
    x = wa.matrix("x", "float64")
    f = wa.function([x], wa.pure_callback(expit, x, x))
    refusals = [
        lambda: f.save(tmp_path / "f.walk"),
        f.to_bytes,
        lambda: wa.Bundle(f=f).save(tmp_path / "f.walk"),
        lambda: f.optimize("host").save(tmp_path / "s.walk"),
        lambda: pickle.dumps(f.optimize("host")),
    ]
    for refusal in refusals:
        with pytest.raises(ValueError, match="calls Python"):
            refusal()
    assert not list(tmp_path.iterdir())
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(X), f(X))
    with pytest.raises(Exception, match="pickle"):
        pickle.dumps(wa.function([x], wa.pure_callback(lambda x: x, x, x)))


def test_threads_call_it_at_once():
    x = wa.vector("x", "float64")
    f = wa.function([x], wa.pure_callback(expit, x, x))
    sims, right = [f.optimize("host") for _ in range(4)], []

    def work(sim):
        for at in range(200):
            given = np.full(3, at / 100)
            right.append(np.array_equal(sim(given), expit(given)) and np.array_equal(f(given), expit(given)))

    threads = [threading.Thread(target=work, args=(sim,), daemon=True) for sim in sims]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(right) == 800 and all(right)


def test_it_must_not_call_its_own_simulator():
    x = wa.vector("x", "float64")
    own = []
    f = wa.function([x], wa.pure_callback(lambda x: own[0](x), x, x))
    own.append(f.optimize("host"))
    with pytest.raises(wa.RunError, match="StateConflict"):
        own[0]([1.0])


def test_ctrl_c_in_a_function_ends_the_program():
    x = wa.vector("x", "float64")

    def interrupted(x):
        raise KeyboardInterrupt

    f = wa.function([x], wa.pure_callback(interrupted, x, x))
    for g in (f, f.optimize("host")):
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                try:
                    g([1.0])
                except ValueError:
                    pass
    assert f.optimize("host") is not None


def test_gradients_have_the_types_of_the_arguments():
    x = wa.vector("x", "float64")
    for wrong in (lambda a, r, g: [g[0].sum()], lambda a, r, g: [g[0].astype("float32")]):
        with pytest.raises(wa.CompileError, match="gradient of argument 0 is expected to be"):
            wa.grad(wa.pure_callback(np.sort, x, x, gradient=wrong).sum(), x)


def test_results_by_other_spellings():
    x, n = wa.vector("x", "float64"), wa.scalar("n", "int64")
    two = wa.function([x], list(wa.pure_callback(lambda x: (x, -x), (x, x), x)))
    assert [r.tolist() for r in two([1.0, 2.0])] == [[1, 2], [-1, -2]]
    for shape in (np.int64(2), 2, (2,), [2]):
        assert wa.function([x], wa.pure_callback(lambda x: x[:2], (shape, "float64"), x))([1.0, 2, 3]).tolist() == [
            1,
            2,
        ]
    f = wa.function([x, n], wa.pure_callback(lambda x, n: x[:n], (n, "float64"), x, n))
    assert f([1.0, 2, 3], 2).tolist() == [1, 2]
    for wrong in (2.9, "3", x, wa.scalar("f", "float64")):
        with pytest.raises(TypeError):
            wa.pure_callback(lambda x: x, ((wrong,), "float64"), x)
