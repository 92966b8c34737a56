"""Functions that the members of a group compute together."""

import numpy as np
import pytest

import workalike as wa

RANDOM = np.random.default_rng(3)


def classifier():
    x, y = wa.matrix("x"), wa.vector("y", dtype="int64")
    w = wa.shared(RANDOM.normal(size=(5, 3)).astype("float32"), "w")
    logits = wa.dot(x, w)
    cost = -wa.log_softmax(logits)[wa.arange(wa.shape(y)[0]), y].mean()
    return wa.function([x, y], [cost, logits], updates=[(w, w - 0.5 * wa.grad(cost, w))])


@pytest.mark.parametrize("members", [1, 2, 3])
def test_members_train_like_one_device(members):
    one = classifier()
    parallel = wa.Function.from_bytes(one.data_parallel("workers", ["x", "y"]).to_bytes())
    sim = parallel.optimize_group("workers", ["host"] * members)
    assert sim.size == members and "members" in repr(sim)
    x, y = RANDOM.normal(size=(12, 5)).astype("float32"), np.arange(12) % 3
    for _ in range(4):
        for got, want in zip(sim(x, y), one(x, y), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert sim.sync_to_parent() == ["w"]
    np.testing.assert_allclose(parallel.shared("w").get_value(), one.shared("w").get_value(), rtol=1e-4, atol=1e-5)
    sim.set_value("w", np.zeros((5, 3), "float32"))
    sim.run_n(2, x=x, y=y)
    assert np.abs(sim.get_value("w")).max() > 0
    assert sim.sync_from_parent() == []


def test_collectives():
    x = wa.vector("x")
    outputs = [
        wa.all_reduce(x, "sum", "g"),
        wa.all_reduce(x, reduction="mean", group="g"),
        wa.all_gather(x, 0, "g"),
        wa.reduce_scatter(x, "max", 0, "g"),
        wa.broadcast_from(x, 0, "g"),
        wa.collective_permute(x, 1, "g"),
        wa.collective_permute(x, [(0, 0)], "g"),
        wa.own_part(x, 0, "g") * wa.group_size("g") + wa.group_rank("g"),
    ]
    f = wa.function([x], outputs)
    values = np.array([1.0, 2.0], "float32")
    for got in [f(values), f.optimize_group("g", ["host"])(values)]:
        for output in got:
            np.testing.assert_array_equal(output, values)
    two = f.optimize_group("g", ["host", "host"])(values)
    np.testing.assert_array_equal(two[0], 2 * values)
    np.testing.assert_array_equal(two[2], [1, 2, 1, 2])
    np.testing.assert_array_equal(two[3], values[:1])


def test_misuse():
    f = classifier()
    with pytest.raises(wa.Error, match="no input z"):
        f.data_parallel("g", ["z"])
    parallel = f.data_parallel("g", ["x", "y"])
    with pytest.raises(wa.Error, match="at least one device"):
        parallel.optimize_group("g", [])
    with pytest.raises(wa.Error, match="found g"):
        parallel.optimize_group("h", ["host"])
    sim = parallel.optimize_group("g", ["host", "host"])
    with pytest.raises(wa.Error, match="multiple of 2"):
        sim(np.zeros((3, 5), "float32"), [0, 1, 2])
    with pytest.raises(wa.Error, match="out of range"):
        sim(np.zeros((4, 5), "float32"), [0, 1, 2, 7])
    assert len(sim(np.zeros((4, 5), "float32"), [0, 1, 2, 0])) == 2
    with pytest.raises(wa.Error, match="sum, mean, max or min"):
        wa.all_reduce(wa.vector("x"), "prod", "g")
