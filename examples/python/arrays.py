"""Arrays of NumPy, PyTorch and CuPy in a Function and a kernel of workalike, without a copy on a GPU.

cargo build -p workalike-python-example
python3 examples/python/arrays.py numpy|torch|cupy [target/debug/libworkalike_python.so]
"""
import ctypes
import pathlib
import sys

STEPS, EXTENT = 20, 1 << 16
ROOT = pathlib.Path(__file__).resolve().parents[2]

capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.restype, capsule_rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
STREAMS = []  # results are freed in the order of a stream, which must live as long as they do
TENSOR, USED = b"dltensor", b"used_dltensor"  # capsules keep the pointers


class Result:
    """A tensor of ours, as `from_dlpack` of other libraries wants it."""

    def __init__(self, tensor, device):
        self.capsule, self.device = capsule_new(tensor, TENSOR, None), device

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


def tensor_of(array, stream):
    """The DLManagedTensor of an array, for work on a stream. Whoever gets it releases it."""
    capsule = array.__dlpack__() if stream is None else array.__dlpack__(stream=stream)
    pointer = capsule_pointer(capsule, TENSOR)
    capsule_rename(capsule, USED)
    return pointer


class Model:
    """The layer and the kernel of `src/lib.rs`, on a stream of another library."""

    def __init__(self, path, context, stream, device):
        self.library, self.device, self.stream = ctypes.CDLL(str(path)), device, stream
        pointer = ctypes.c_void_p
        for name, result, arguments in [
            ("model_open", pointer, [pointer, pointer, ctypes.c_size_t]),
            ("model_close", None, [pointer]),
            ("model_step", pointer, [pointer, pointer]),
            ("model_double", ctypes.c_bool, [pointer, pointer]),
            ("last_error", ctypes.c_char_p, []),
        ]:
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        self.model = self.checked(self.library.model_open(context, stream, EXTENT))

    def checked(self, result):
        if not result:
            raise RuntimeError(self.library.last_error().decode())
        return result

    def step(self, x):
        return Result(self.checked(self.library.model_step(self.model, tensor_of(x, self.stream))), self.device)

    def double(self, x):
        self.checked(self.library.model_double(self.model, tensor_of(x, self.stream)))

    def close(self):
        self.library.model_close(self.model)


def current_context():
    context = ctypes.c_void_p()
    if ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(context)) != 0:
        raise RuntimeError("no CUDA context")
    return context


def with_numpy(path):
    import numpy as np

    model = Model(path, None, None, (1, 0))
    x = np.linspace(-1, 1, EXTENT, dtype="f4")
    state = np.zeros_like(x)
    for step in range(STEPS):
        state = np.tanh(state / 2 + x * step)
        result = np.from_dlpack(model.step(x * np.float32(step)))
        assert np.allclose(result, state, atol=1e-6), f"step {step}"
    for wrong, word in [(x.astype("c8"), "got complex64"), (np.ones((EXTENT, 2), "f4")[:, 0], "row-major"), (x[:5], "broadcast")]:
        try:
            model.step(wrong)
        except RuntimeError as error:
            assert word in str(error), error
        else:
            raise AssertionError(f"{wrong.dtype} {wrong.shape} was taken")
    # Results live longer than the model.
    model.close()
    assert np.allclose(result, state, atol=1e-6)


def with_torch(path):
    import torch

    x = torch.linspace(-1, 1, EXTENT, device="cuda")
    slow = torch.rand(2048, 2048, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        model = Model(path, current_context(), stream.cuda_stream, (2, torch.cuda.current_device()))
        state, results, inputs = torch.zeros_like(x), [], []
        for step in range(STEPS):
            for _ in range(10):
                slow = slow @ slow / 2048  # what comes next on the stream is late
            scaled = x * step
            inputs.append(scaled.clone())
            results.append(torch.from_dlpack(model.step(scaled)) * 1)
            model.double(scaled)
            results.append(scaled.clone())
            del scaled  # its memory is used again by the next step
        # Nothing above has waited for the GPU.
        for step, given in enumerate(inputs):
            state = torch.tanh(state / 2 + given)
            torch.testing.assert_close(results[2 * step], state, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(results[2 * step + 1], 2 * given)
        kept = torch.from_dlpack(model.step(inputs[0]))
        model.close()
        torch.testing.assert_close(kept, torch.tanh(state / 2 + inputs[0]), atol=1e-5, rtol=1e-5)
        before = torch.cuda.memory_allocated()
        del inputs, results, given
        torch.cuda.synchronize()
        released, expected = before - torch.cuda.memory_allocated(), 3 * STEPS * 4 * EXTENT
        assert released >= expected, f"{released} bytes were released, not {expected}"


def with_cupy(path):
    import cupy as cp

    stream = cp.cuda.Stream(non_blocking=True)
    STREAMS.append(stream)
    with stream:
        x = cp.linspace(-1, 1, EXTENT, dtype="f4")
        model = Model(path, current_context(), stream.ptr, (2, cp.cuda.runtime.getDevice()))
        state = cp.zeros_like(x)
        for step in range(STEPS):
            scaled = x * cp.float32(step)
            state = cp.tanh(state / 2 + scaled)
            result = cp.from_dlpack(model.step(scaled))
            model.double(scaled)
            assert cp.allclose(result, state, atol=1e-5), f"step {step}"
            assert cp.allclose(scaled, 2 * x * step), f"step {step}"
        model.close()
        assert cp.allclose(result, state, atol=1e-5)


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "numpy"
    run = {"numpy": with_numpy, "torch": with_torch, "cupy": with_cupy}[name]
    run(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/debug/libworkalike_python.so")
    print(f"{name}: equal results of {STEPS} steps")
