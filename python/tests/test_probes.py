"""Probes, and functions on several devices."""

import numpy as np
import pytest

import workalike as wa


def resident():
    """The process's memory in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def leaky():
    x, v = wa.scalar("x"), wa.shared(np.float32(0), "v")
    doubled = 2 * v
    return wa.function([x], {"out": v + 1}, updates=[(v, doubled + x)]), v, doubled


@pytest.mark.parametrize("device", ["host", "opencl"])
def test_a_probe_records_on_the_device(device):
    if device == "opencl" and not any(name.startswith("opencl") for name in wa.devices()):
        pytest.skip("no OpenCL")
    f, v, doubled = leaky()
    sim = f.optimize(device)
    state, inner, named = sim.probe(v, every=2, capacity=3), sim.probe(doubled), sim.probe("out")
    sim.run_n(4, 1.0)
    assert state.read().tolist() == [3, 15] and inner.read().tolist() == [0, 2, 6, 14]
    assert named.take().tolist() == [1, 2, 4, 8] and named.read().shape == (0,)
    sim(1.0)
    sim.run_n(7, 1.0)
    assert state.read().tolist() == [3, 15, 63, 255, 1023, 4095] and len(named.take()) == 8
    state.remove()
    with pytest.raises(wa.Error):
        state.read()
    sim.run_n(2, 1.0)
    assert len(inner.read()) == 14


def test_probes_that_nobody_has_end():
    w = wa.shared(np.zeros(10_000, "float32"), "w")
    sim = wa.function([], updates=[(w, w + 1)]).optimize("host")
    sim.run_n(100)
    kept = sim.probe(w, every=50, capacity=4)
    before = resident()
    for _ in range(20):
        sim.probe(w, capacity=4)
        sim.run_n(100)
    assert resident() - before < 60 << 20 and kept.read()[:, 0].tolist() == [100 + 50 * n for n in range(1, 41)]
    removed = sim.probe(w, capacity=4)
    removed.remove()
    other = sim.probe(w, capacity=4)
    del removed
    sim.run_n(2)
    assert len(other.read()) == 2


def test_probes_of_methods_and_what_there_is_not():
    f, v, _ = leaky()
    sim = f.optimize("host")
    sim.add_method("reset", wa.function([], updates=[(v, v * 0)]))
    probe = sim["reset"].probe(v)
    sim(3.0)
    sim["reset"]()
    assert probe.read().tolist() == [0]
    for wrong in ("nothing", wa.vector("other")):
        with pytest.raises(wa.Error, match="nothing|other"):
            sim.probe(wrong)
    with pytest.raises((wa.Error, OverflowError)):
        sim.probe(v, every=0)
    with pytest.raises((TypeError, wa.Error)):
        sim.probe(3)


def test_one_function_on_several_devices():
    x = wa.matrix("x")
    v = wa.shared(np.array([[1, 2]], "float32"), "v")
    w = wa.shared(np.array([[3], [4]], "float32"), "w", context="dev1")
    y = wa.transfer(x @ v, "dev1") @ w
    f = wa.function([x], y, updates=[(w, w + 1)])
    sim = f.optimize({"dev0": "host", "dev1": wa.device("host")})
    assert sim([[10.0]]).tolist() == [[110]] and sim.run_n(2, [[10.0]]).tolist() == [[170]]
    assert sim.context_of("w") == "dev1" and sim.context_of("v") == "dev0"
    assert sim.sync_to_parent() == ["w"] and w.get_value().tolist() == [[6], [7]]
    with pytest.raises(wa.Error, match="dev1"):
        f.optimize({"dev0": "host"})
    with pytest.raises(wa.Error, match="at least one device"):
        f.optimize({})
    with pytest.raises(wa.Error, match="without contexts"):
        f.optimize("host").context_of("w")
    assert f.optimize("host")([[10.0]]).tolist() == [[200]]
