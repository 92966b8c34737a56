"""Loops and branches in expressions."""

import numpy as np
import pytest

import workalike as wa
from workalike import loops


def test_scan_as_in_theanos_tutorial():
    a, k = wa.vector("a"), wa.scalar("k", "int64")
    powers = wa.scan(lambda before, a: before * a, outputs_info=wa.ones_like(a), non_sequences=a, n_steps=k)
    f = wa.function([a, k], powers[-1])
    assert f([2.0, 3.0], 4).tolist() == [16, 81]
    coefficients, x = wa.vector("c"), wa.scalar("x")
    terms = wa.scan(
        lambda c, i, x: c * x**i, sequences=[coefficients, wa.arange(1000)[: coefficients.extent(0)]], non_sequences=x
    )
    assert wa.function([coefficients, x], terms.sum())([1.0, 0.0, 2.0], 3) == 19


def test_taps_several_results_and_gradients():
    fibonacci = wa.scan(
        lambda a, b: a + b, outputs_info={"initial": wa.constant([1.0, 1.0]), "taps": [-2, -1]}, n_steps=5
    )
    assert wa.function([], fibonacci)().tolist() == [2, 3, 5, 8, 13]
    xs, w = wa.vector("xs", "float64"), wa.scalar("w", "float64")
    h, seen = wa.scan(lambda x, h, w: [wa.tanh(w * h + x), 2 * h], xs, [wa.constant(0.0), None], w)
    cost = h[-1]
    f = wa.function([xs, w], [cost, wa.grad(cost, w), seen])
    given = np.array([0.1, -0.3, 0.7])

    def by_hand(w):
        h = 0.0
        for x in given:
            h = np.tanh(w * h + x)
        return h

    value, slope, seen = f(given, 0.5)
    assert np.isclose(value, by_hand(0.5)) and seen[0] == 0 and seen.shape == (3,)
    assert np.isclose(slope, (by_hand(0.5 + 1e-6) - by_hand(0.5 - 1e-6)) / 2e-6)
    backward = wa.scan(lambda x, h: x - h, xs, wa.constant(0.0), go_backwards=True)
    assert np.allclose(wa.function([xs], backward)(given), [0.7, -1.0, 1.1])


def test_other_loops_and_branches():
    n = wa.scalar("n", "int64")
    f = wa.function([n], wa.fori_loop(0, n, lambda i, total: total + i, wa.constant(0)))
    assert f(5) == 10
    collatz = wa.while_loop(
        lambda s: s[0] > 1, lambda s: [wa.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1], [n, wa.constant(0)]
    )
    assert wa.function([n], collatz[1])(27) == 111
    x = wa.vector("x")
    branch = wa.if_else(x.sum() > 0, lambda: x * 2, lambda: -x)
    f = wa.function([x], branch)
    assert f([1.0, 2.0]).tolist() == [2, 4] and f([-1.0, 0.0]).tolist() == [1, 0]
    chosen = wa.function([x, n], wa.switch(n, [lambda: x, lambda: x + 1, lambda: x + 2]))
    assert [chosen([0.0], k).item() for k in range(3)] == [0, 1, 2]
    assert wa.function([x], loops.map(lambda x: x**2, x))([1.0, 3.0]).tolist() == [1, 9]
    assert wa.function([x], loops.reduce(lambda x, t: t + x, x, wa.constant(np.float32(0))))([1.0, 3.0]) == 4


def test_what_bodies_raise_and_wrong_bodies():
    x = wa.vector("x")

    class Mine(Exception):
        pass

    def fails(*_):
        raise Mine("from the body")

    for wrong in (
        lambda: wa.scan(fails, x),
        lambda: wa.while_loop(fails, lambda h: h, x),
        lambda: wa.while_loop(lambda h: h.sum() < 1, fails, x),
        lambda: wa.if_else(x.sum() > 0, fails, lambda: x),
    ):
        with pytest.raises(Mine, match="from the body"):
            wrong()
    with pytest.raises(ValueError, match="2 entries"):
        wa.scan(lambda x, a, b: [a], x, [x[0], x[0]])
    with pytest.raises(wa.Error, match=r"test_loops\.py"):
        wa.scan(lambda x, h: wa.stack([h, h]), x, wa.constant(np.float32(0)))
    with pytest.raises(TypeError, match="0-d bool"):
        wa.if_else(x, lambda: x, lambda: x)
    assert wa.function([x], wa.scan(lambda x: x + 1, x))([1.0]).tolist() == [2]


def test_loops_without_iterations_give_the_initial_value():
    x = wa.scalar("x", "float64")
    f = wa.function([x], wa.fori_loop(0, 0, lambda i, value: value * 2, x))
    assert f(3.0) == 3.0
    n = wa.scalar("n", "int64")
    g = wa.function([n, x], wa.fori_loop(0, n, lambda i, value: [value[0] * 2, value[1] + 1], [x, x]))
    assert [float(v) for v in g(0, 3.0)] == [3.0, 3.0]
    assert [float(v) for v in g(2, 3.0)] == [12.0, 5.0]


def test_vmap_computes_all_slices_at_once():
    x, y = wa.matrix("x", "float64"), wa.vector("y", "float64")
    a, b = np.arange(6.0).reshape(3, 2), np.arange(2.0)
    rows = wa.vmap(lambda row, v: row @ v, in_axes=(0, None))(x, y)
    columns = wa.vmap(lambda column: (column.sum(), column * 2), in_axes=1)(x)
    f = wa.function([x, y], [rows, *columns])
    products, sums, doubled = f(a, b)
    np.testing.assert_array_equal(products, a @ b)
    np.testing.assert_array_equal(sums, a.sum(0))
    np.testing.assert_array_equal(doubled, a.T * 2)
    with pytest.raises(ValueError, match="in_axes has 1 entries for 2"):
        wa.vmap(lambda a, b: a, in_axes=[0])(x, y)
    with pytest.raises(ZeroDivisionError):
        wa.vmap(lambda row: 1 / 0)(x)
    with pytest.raises(wa.ExpressionError):
        wa.vmap(lambda a, b: a)(x, wa.constant(3.0))
