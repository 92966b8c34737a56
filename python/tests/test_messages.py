"""What errors say to do is written as Python writes it."""

import numpy as np
import pytest

import workalike as wa

X = wa.vector("x")


def counting():
    count = wa.shared(np.int64(0), "count")
    return wa.function([], count, updates=[(count, count + 1)], name="f"), count


def downcast():
    n = wa.vector("n", "int32")
    wa.function([n], n)(np.arange(3))


def unused():
    wa.function([X], wa.constant(1.0))


def twice():
    wa.function([X], [wa.Out(X, name="y"), wa.Out(X + 1, name="y")])


def inputs():
    wa.function([wa.vector("x"), wa.vector("x")], wa.constant(1.0), on_unused_input="ignore")


def conflict():
    f, count = counting()
    sim = f.optimize("host")
    sim()
    count.set_value(9)
    return sim


def to_parent():
    conflict().sync_to_parent()


def from_parent():
    conflict().sync_from_parent()


def method():
    f, count = counting()
    sim = f.optimize("host")
    sim()
    count.set_value(9)
    sim.add_method("g", wa.function([], count + 1))


def disconnected():
    wa.grad((X * X).sum(), wa.vector("other"))


def condition():
    f, _ = counting()
    f.optimize("host").run_while("go_on", 3)


@pytest.mark.parametrize(
    "mistake, words",
    [
        (downcast, r"In\(x, allow_downcast=True\)"),
        (unused, 'on_unused_input="ignore"'),
        (twice, r'Out\(y, name="\.\."\)'),
        (inputs, r'In\(x, name="\.\."\)'),
        (method, r'add_method\(\.\., keep="simulator"\) or "parent"'),
        (to_parent, r'sync_to_parent\(keep="simulator"\) or "parent"'),
        (from_parent, r'sync_from_parent\(keep="simulator"\) or "parent"'),
        (disconnected, r'grad\(\.\., disconnected_inputs="ignore"\)'),
        (condition, r'Out\(y, name="\.\."\)'),
    ],
)
def test_a_message_is_spelled_as_python(mistake, words):
    with pytest.raises(wa.Error, match=words) as caught:
        mistake()
    assert "::" not in str(caught.value) and "Keep" not in str(caught.value)


def test_what_the_messages_say_helps():
    x = wa.vector("x", "float32")
    assert wa.function([wa.In(x, allow_downcast=True)], x)(np.arange(3.0)).dtype == "float32"
    assert wa.function([x], wa.constant(1.0), on_unused_input="ignore")([1.0]) == 1
    assert conflict().sync_to_parent(keep="simulator") == ["count"]
    assert conflict().sync_from_parent(keep="parent") == ["count"]
    assert wa.grad((x * x).sum(), wa.vector("o"), disconnected_inputs="ignore") is not None


def test_theanos_axes():
    given = np.arange(6.0, dtype="float32").reshape(2, 3)
    m = wa.matrix("m")
    for axes in [(1, "x", 0), ((1, "x", 0),), (1, None, 0)]:
        np.testing.assert_array_equal(wa.function([m], m.dimshuffle(*axes))(given), given.T[:, None])
    with pytest.raises(TypeError):
        m.dimshuffle("y", 0)
