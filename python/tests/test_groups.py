"""Functions that the members of a group compute together."""

import multiprocessing

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


def test_methods_of_a_group():
    """A group has several methods over one state, as a Simulator has."""
    one = classifier()
    x = wa.matrix("x")
    predict = wa.function([x], wa.dot(x, one.shared("w")).argmax(1), name="predict")
    parallel = one.data_parallel("g", ["x", "y"])
    sim = parallel.optimize_group("g", ["host", "host"], compared_every=2, in_main_memory=True)
    sim.add_method("predict", predict.data_parallel("g", ["x"]))
    assert sim.methods == [parallel.name, "predict"] and "predict" in repr(sim["predict"])
    x, y = RANDOM.normal(size=(12, 5)).astype("float32"), np.arange(12) % 3
    one.run_n(3, x, y)
    sim[parallel.name].run_n(2, x, y)
    sim(x, y)
    np.testing.assert_array_equal(sim["predict"](x), predict(x))
    # On the host calls are always divided.
    assert sim.divides(x, y)
    with pytest.raises(KeyError, match="no method other"):
        sim["other"]
    with pytest.raises(wa.Error, match="multiple of 2"):
        sim["predict"](x[:3])
    np.testing.assert_array_equal(sim["predict"](x=x), predict(x))
    always = parallel.optimize_group("g", ["host"], always_divided=True)
    assert always.size == 1 and len(always(x, y)) == 2


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


def gathering(connection, rank):
    """A gathering of two processes' bytes, as a library of the field would have it."""

    def all_gather(own):
        connection.send_bytes(own)
        other = connection.recv_bytes()
        return [other, own] if rank else [own, other]

    return all_gather


def member_of_two(connection, rank, saved, x, y):
    """A process: trains as one of two members, and sends what it has learned."""
    parallel = wa.Function.from_bytes(saved)
    sim = parallel.optimize_member("workers", rank, 2, gathering(connection, rank), "host", own_parts=rank < 2)
    half = slice(len(x) // 2 * rank, len(x) // 2 * (rank + 1))
    costs = [sim(x[half], y[half])[0] for _ in range(3)]
    sim.run_n(2, x[half], y[half])
    sim.sync_to_parent()
    # Indices out of range for one member are an error for both.
    bad = np.where(rank == 1, y[half] + 5, y[half])
    try:
        sim(x[half], bad)
        error = "none"
    except wa.Error as failed:
        error = str(failed)
    connection.send((costs, parallel.shared("w").get_value(), error))


def test_two_processes_train_like_one():
    one = classifier()
    saved = one.data_parallel("workers", ["x", "y"]).to_bytes()
    x, y = RANDOM.normal(size=(12, 5)).astype("float32"), np.arange(12) % 3
    # The members' ends of a pipe, and one to each from here.
    spawn = multiprocessing.get_context("spawn")
    ends = spawn.Pipe()
    members = [spawn.Process(target=member_of_two, args=(ends[rank], rank, saved, x, y)) for rank in range(2)]
    [member.start() for member in members]
    [member.join(120) for member in members]
    assert [member.exitcode for member in members] == [0, 0]
    for costs, w, error in [end.recv() for end in ends]:
        reference = one.fork()
        np.testing.assert_allclose(costs, [reference(x, y)[0] for _ in range(3)], rtol=1e-4)
        reference.run_n(2, x, y)
        np.testing.assert_allclose(w, reference.shared("w").get_value(), rtol=1e-4, atol=1e-6)
        assert "out of range" in error


def test_gatherings_that_fail():
    f = classifier().data_parallel("g", ["x", "y"])
    member = lambda all_gather, rank=0, **more: f.optimize_member("g", rank, 2, all_gather, "host", **more)
    with pytest.raises(wa.Error, match="gather failed: ConnectionError: the network is down"):
        member(failing)
    with pytest.raises(wa.Error, match="1 members' bytes, not 2"):
        member(lambda own: [own])
    with pytest.raises(OverflowError):
        member(lambda own: [own, own], compared_every=-1)
    with pytest.raises(wa.Error, match="gather failed: TypeError"):
        member(lambda own: 3)
    with pytest.raises(wa.GroupError, match="below 2"):
        member(lambda own: [own, own], rank=2)
    with pytest.raises(ValueError, match="patience"):
        member(lambda own: [own, own], patience=-1)
    # A member that is its own echo.
    sim = member(lambda own: [own, own], own_parts=True)
    x, y = np.ones((2, 5), "float32"), np.array([0, 1])
    np.testing.assert_allclose(sim(x, y)[0], classifier_cost(f, x, y), rtol=1e-5)


def failing(own):
    raise ConnectionError("the network is down")


def classifier_cost(f, x, y):
    """The cost of the rows twice."""
    return f.fork()(np.concatenate([x, x]), np.concatenate([y, y]))[0]
