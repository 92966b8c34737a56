"""Arrays in and out: dtypes, strides, what is refused."""

import gc

import numpy as np
import pytest

import workalike as wa

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype):
    x = wa.tensor("x", dtype, (None, None))
    f = wa.function([x], x.T)
    given = np.arange(12).reshape(3, 4).astype(dtype)
    out = f(given)
    assert out.dtype == np.dtype(dtype) and np.array_equal(out, given.T)


def test_bfloat16_is_that_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = wa.vector("x", "bfloat16")
    out = wa.function([x], x + 1)(np.array([1.5, 2.5], ml_dtypes.bfloat16))
    assert out.dtype == ml_dtypes.bfloat16 and out.tolist() == [2.5, 3.5]


def test_strides_of_all_kinds():
    x = wa.matrix("x")
    f = wa.function([x], x * 1)
    base = np.arange(60, dtype="float32").reshape(6, 10)
    unaligned = np.frombuffer(b"x" + base.tobytes(), dtype="uint8")[1:].view("float32").reshape(6, 10)
    views = [base.T, base[::2, ::-3], base[::-1], np.broadcast_to(base[:1], (4, 10)), base[2:2], unaligned]
    views.append(np.asfortranarray(base))
    for view in views:
        assert np.array_equal(f(view), view)


def test_results_are_writeable_and_their_own():
    x = wa.vector("x", "float64")
    f = wa.function([x], [x + 1, x.sum()])
    for n in (2, 100, 100_000):
        first, total = f(np.zeros(n))
        first += 5
        assert total == 0 and first[0] == 6
        second, _ = f(np.zeros(n))
        assert second[0] == 1 and first[0] == 6
    kept = [f(np.full(50_000, k))[0] for k in range(8)]
    del f
    gc.collect()
    assert [k[0] for k in kept] == list(range(1, 9))


def test_an_output_that_is_an_input_or_a_shared_variable():
    x, w = wa.vector("x"), wa.shared(np.ones(3, "float32"), "w")
    f = wa.function([x], [x, w], updates=[(w, w + x)])
    given = np.arange(3, dtype="float32")
    out, old = f(given)
    out += 100
    old += 100
    assert given.tolist() == [0, 1, 2] and w.get_value().tolist() == [1, 2, 3]


def test_lists_and_numbers_take_the_dtype_of_the_input():
    x, n = wa.vector("x"), wa.scalar("n", "int32")
    f = wa.function([x, n], x * n)
    assert f([1, 2.5], 2).tolist() == [2, 5]
    assert f(x=(1, 2), n=np.int64(3)).tolist() == [3, 6]
    with pytest.raises(wa.ArgumentError, match="float64"):
        f(np.array([1.0, 2.0]), 2)
    with pytest.raises(wa.ArgumentError, match="input n"):
        f([1.0], 2.5)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (np.array([object()]), "object"),
        ("text", "expected"),
        (None, "expected"),
        (np.array(["a"]), "expected an array"),
        (np.array([1 + 2j], "clongdouble"), "complex"),
        (np.array([1.0], ">f4"), "byte order"),
        (np.array(["2020-01-01"], "datetime64[D]"), "expected an array"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(wrong, says):
    x = wa.vector("x")
    f = wa.function([x], x + 1)
    with pytest.raises(TypeError, match=says):
        f(wrong)
    assert f([1.0]).tolist() == [2.0]


def test_calls_grow_nothing():
    x = wa.vector("x")
    f = wa.function([x], x * 2)
    sim = f.optimize("host")
    given = np.ones(65_536, "float32")

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    for call in (f, sim):
        for _ in range(200):
            call(given)
        before = resident()
        for _ in range(10_000):
            call(given)
        assert resident() - before < 8 << 20


def test_dlpack_says_what_may_be_written():
    x = wa.DeviceArray(np.arange(3.0), "host")
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 1)))
    assert "dltensor_versioned" not in repr(x.__dlpack__()) + repr(x.__dlpack__(max_version=(0, 8)))
    shown = np.from_dlpack(x)
    with pytest.raises(ValueError, match="read-only"):
        shown[0] = 7
    copied = np.from_dlpack(x, copy=True)
    copied[0] = 7
    assert x.numpy().tolist() == [0, 1, 2]
    del shown
    x.set([3.0, 4.0, 5.0])
    assert copied.tolist() == [7, 1, 2] and x.numpy().tolist() == [3, 4, 5]

    class Old:
        """An array from before DLPack 1.0."""

        def __dlpack_device__(self):
            return x.__dlpack_device__()

        def __dlpack__(self, stream=None):
            return x.__dlpack__()

    class Newer(Old):
        def __dlpack__(self, stream=None, max_version=None, **_):
            self.asked = max_version
            return x.__dlpack__(max_version=max_version)

    new = Newer()
    assert np.asarray(wa.DeviceArray.from_dlpack(Old(), "host")).tolist() == [3, 4, 5]
    assert np.asarray(wa.DeviceArray.from_dlpack(new, "host")).tolist() == [3, 4, 5]


def test_dlpack_of_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = wa.DeviceArray(np.arange(4).astype(ml_dtypes.bfloat16), "host")
    y = wa.DeviceArray.from_dlpack(x, "host")
    assert y.dtype == ml_dtypes.bfloat16 and y.numpy().astype("float32").tolist() == [0, 1, 2, 3]


def test_dlpack_both_ways():
    x = wa.DeviceArray(np.arange(6, dtype="float32").reshape(2, 3), "host")
    assert x.__dlpack_device__() == (1, 0)
    shown = np.from_dlpack(x)
    assert shown.tolist() == [[0, 1, 2], [3, 4, 5]]
    del x
    gc.collect()
    assert shown.sum() == 15
    y = wa.DeviceArray.from_dlpack(np.array([1.0, 2.0]), "host")
    assert y.dtype == "float64" and y.numpy().tolist() == [1, 2]
    z = wa.DeviceArray.from_dlpack(y, y.device)
    assert z.numpy().tolist() == [1, 2]
    for _ in range(100):
        y.__dlpack__()  # nobody takes it
    with pytest.raises(TypeError, match="__dlpack__"):
        wa.DeviceArray.from_dlpack([1.0])
    with pytest.raises(BufferError, match="another device"):
        y.__dlpack__(dl_device=(2, 0))
    assert np.from_dlpack(y).tolist() == [1, 2]
