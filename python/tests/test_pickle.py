"""Pickles and copies: common state stays common, values may travel out of band."""

import copy
import pickle

import numpy as np
import pytest

import workalike as wa


def pair():
    w, x = wa.shared(np.arange(4, dtype="float32"), "w"), wa.vector("x")
    train = wa.function([x], (w * x).sum(), updates=[(w, w + x)], name="train")
    test = wa.function([x], w - x, name="test")
    return train, test, w


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_functions_in_one_pickle_keep_their_state_together(protocol):
    train, test, w = pair()
    other_train, other_test, other_w = pickle.loads(pickle.dumps((train, test, w), protocol))
    zero, one = np.zeros(4, "float32"), np.ones(4, "float32")
    other_train(one)
    assert other_test(zero).tolist() == [1, 2, 3, 4] == other_w.get_value().tolist()
    assert w.get_value().tolist() == [0, 1, 2, 3]
    assert repr(other_train) == repr(train)


def test_values_travel_out_of_band():
    w = wa.shared(np.arange(100_000, dtype="float32"), "w")
    f = wa.function([], w.sum(), updates=[(w, w * 2)])
    buffers = []
    data = pickle.dumps(f, 5, buffer_callback=buffers.append)
    assert len(data) < 10_000 and [b.raw().nbytes for b in buffers] == [400_000]
    there = pickle.loads(data, buffers=[bytes(b.raw()) for b in buffers])
    assert there() == f()


def test_copies():
    train, test, w = pair()
    assert copy.copy(train) is train
    deep_train, deep_test = copy.deepcopy((train, test))
    deep_train(np.ones(4, "float32"))
    assert deep_test(np.zeros(4, "float32")).tolist() == [1, 2, 3, 4]
    assert w.get_value().tolist() == [0, 1, 2, 3]
    forked = train.fork()
    forked(np.ones(4, "float32"))
    assert w.get_value().tolist() == [0, 1, 2, 3]


def test_states_of_streams_and_inputs_that_keep_values():
    streams = wa.RandomStreams(7)
    f = wa.function([], streams.normal(size=3))
    first = f()
    there = pickle.loads(pickle.dumps(f))
    assert np.array_equal(there(), f()) and not np.array_equal(first, there())
    total = wa.scalar("total", "float64")
    g = wa.function([wa.In(total, value=1.0, update=total * 2)], total)
    g()
    assert pickle.loads(pickle.dumps(g))() == 2


def test_a_simulator_loads_where_its_device_is():
    train, _, w = pair()
    sim = train.optimize("host")
    sim.run_n(3, np.ones(4, "float32"))
    there = pickle.loads(pickle.dumps(sim))
    assert np.array_equal(there.get_value("w"), sim.get_value("w")) and there.device == "host"
    bundle = pickle.loads(pickle.dumps(wa.Bundle(train=train)))
    assert bundle.keys() == ["train"]


def test_options_of_shared_variables_and_simulators_are_kept():
    data = wa.shared(np.ones(1000), "data", transient=True)
    f = wa.function([], data.sum())
    there = pickle.loads(pickle.dumps(f))
    assert there() == 1000 and len(there.to_bytes()) < 2000
    assert len(copy.deepcopy(f).to_bytes()) < 2000
    a = wa.matrix("a", "float64")
    fast = wa.function([a], a.sum()).optimize("host", strict=True, fast_math=True)
    assert pickle.loads(pickle.dumps(fast)).explain() == fast.explain()


def test_damaged_and_newer_pickles_are_errors():
    train, _, _ = pair()
    data = pickle.dumps(train)
    with pytest.raises(Exception):
        pickle.loads(data[: len(data) // 2])
    graph, shared, _ = train.__reduce__()[1]
    from workalike._workalike import rebuilt_function, rebuilt_shared

    with pytest.raises(wa.FormatError):
        rebuilt_function(graph[:-20], shared, [])
    with pytest.raises(wa.ArgumentError, match="shared variables"):
        rebuilt_function(graph, [], [])
    with pytest.raises(wa.ArgumentError, match="shared variable w"):
        rebuilt_function(graph, [wa.shared(1.0, "other")], [])
    with pytest.raises(wa.FormatError, match="newer"):
        rebuilt_shared(1, "w", ("float8", [], b""), [], (False, None))
    with pytest.raises(wa.ArgumentError):
        rebuilt_shared(1, "w", ("float32", [3], b"1234"), [], (False, None))
    with pytest.raises(TypeError, match="compile a function"):
        pickle.dumps(wa.vector("x") + 1)
    assert pickle.loads(data)(np.ones(4, "float32")) == 6
