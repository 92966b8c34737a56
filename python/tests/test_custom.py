"""Kernels in C."""

import numpy as np
import pytest

import workalike as wa
from workalike import custom

DEVICES = ["host"] + [name for name in wa.devices() if name.startswith("opencl")]
AXPY = """
KERNEL void axpy(GLOBAL_MEM f32 *y, GLOBAL_MEM const f32 *x, f32 a, u32 n) {
    u32 i = GID_0 * LDIM_0 + LID_0;
    if (i < n) y[i] += a * x[i];
}
"""


@pytest.fixture(params=DEVICES)
def device(request):
    return wa.device(request.param)


def test_a_kernel_on_arrays_of_the_device(device):
    module = custom.SourceModule(AXPY, device)
    assert module.kernels == ["axpy"] and "axpy" in repr(module)
    axpy = module.get_function("axpy")
    assert [name for name, _ in axpy.parameters] == ["y", "x", "a", "n"] and "axpy(y" in repr(axpy)
    y, x = wa.DeviceArray(np.ones(1000, "float32"), device), wa.DeviceArray(np.arange(1000, dtype="float32"), device)
    axpy(y, x, 2, len(x), items=[1000])
    axpy(y, x, np.float32(0.5), len(x), grid=(16,), block=(64,))
    np.testing.assert_array_equal(y.numpy(), 1 + 2.5 * np.arange(1000, dtype="float32"))
    # They are arrays like others.
    v = wa.vector("v")
    np.testing.assert_array_equal(wa.function([v], v * 2).optimize(device)(y), 2 * y.numpy())


def test_a_kernel_on_arrays_of_numpy(device):
    axpy = custom.SourceModule(AXPY, device).get_function("axpy")
    y, x = np.ones(10, "float32"), np.arange(10, dtype="float32")
    axpy(custom.InOut(y), custom.In(x), 3.0, 10, items=(10,))
    np.testing.assert_array_equal(y, 1 + 3 * x)
    axpy(custom.Out(y), custom.In(x), 3.0, 10, items=(10,))
    np.testing.assert_array_equal(y, 3 * x)
    y[:] = np.nan
    axpy(custom.Out(y), custom.In(x), 3.0, 5, items=(10,))
    np.testing.assert_array_equal(y, np.where(x < 5, 3 * x, 0))
    for wrong in ([1.0, 2.0], wa.DeviceArray(x, device), 3.0):
        with pytest.raises(TypeError, match="an array of NumPy"):
            custom.Out(wrong)


def test_types_and_memory_of_a_group(device):
    text = """
    KERNEL void sums(GLOBAL_MEM type_t *out, GLOBAL_MEM const type_t *x, LOCAL_MEM work_t *scratch) {
        u32 i = LID_0;
        scratch[i] = load_t(x, GID_0 * LDIM_0 + i);
        local_barrier();
        if (i == 0) {
            work_t sum = 0;
            for (u32 j = 0; j < LDIM_0; ++j) sum += scratch[j];
            store_t(out, GID_0, sum);
        }
    }
    """
    for dtype in ("float32", "float64"):
        sums = custom.SourceModule(text, device, types={"t": dtype}).get_function("sums")
        x, out = np.arange(64, dtype=dtype), np.zeros(4, dtype)
        sums(custom.Out(out), custom.In(x), 16 * x.itemsize, grid=(4,), block=(16,))
        np.testing.assert_array_equal(out, x.reshape(4, 16).sum(1))


def test_what_does_not_fit_is_said(device):
    with pytest.raises(wa.Error, match="undeclared|no such|unknown|not declared"):
        custom.SourceModule("KERNEL void f(GLOBAL_MEM f32 *x) { x[0] = nothing; }", device)
    with pytest.raises(wa.Error, match="kernel"):
        custom.SourceModule("int x;", device)
    with pytest.raises(ValueError, match="'dialect', 'opencl' or 'cuda'"):
        custom.SourceModule(AXPY, device, language="metal")
    axpy = custom.SourceModule(AXPY, device).get_function("axpy")
    with pytest.raises(wa.Error, match="axpy"):
        custom.SourceModule(AXPY, device).get_function("nothing")
    y, x = wa.DeviceArray(np.ones(10, "float32"), device), np.ones(10, "float32")
    wrong = [
        ((y, x, 2.0, 10), {"items": (10,)}, r"parameter x: expected a DeviceArray.*In\(\.\.\)"),
        ((y, y, 2.0), {"items": (10,)}, "axpy"),
        ((y, y, 2.0, 10, 5), {"items": (10,)}, "axpy"),
        ((y, y, 2.0, 2.5), {"items": (10,)}, "uint32"),
        ((y, y, "a", 10), {"items": (10,)}, "array|number"),
        ((y, wa.DeviceArray(np.ones(10), device), 2.0, 10), {"items": (10,)}, "float64"),
        ((y, y, 2.0, 10), {}, r"items=\(\.\.\), or grid"),
        ((y, y, 2.0, 10), {"items": (1, 1, 1, 1)}, "one to three"),
        ((y, y, 2.0, 10), {"grid": (1,)}, "block"),
    ]
    for args, options, words in wrong:
        with pytest.raises((wa.Error, TypeError, ValueError), match=words):
            axpy(*args, **options)
    axpy(y, custom.In(x), 2.0, 10, items=(10,))
    assert y.numpy().tolist() == [3] * 10


def test_the_host_checks_every_access():
    device = wa.device("host")
    axpy = custom.SourceModule(AXPY, device).get_function("axpy")
    y = wa.DeviceArray(np.ones(10, "float32"), device)
    with pytest.raises(wa.Error, match="kernels:4|line 4"):
        axpy(y, y, 1.0, 1000, items=(1000,))
    with pytest.raises(wa.Error, match="stream"):
        axpy(y, wa.DeviceArray(np.ones(10, "float32"), "host"), 1.0, 10, items=(10,))
