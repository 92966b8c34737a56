"""Kernels of your own, in C, on arrays of a device: PyCUDA's `SourceModule`.

    import workalike as wa
    from workalike import custom

    gpu = wa.device("cuda:0")  # one stream of work, for kernels and arrays
    x, y = wa.DeviceArray(a, gpu), wa.DeviceArray(b, gpu)
    module = custom.SourceModule('''
        KERNEL void axpy(GLOBAL_MEM f32 *y, GLOBAL_MEM const f32 *x, f32 a, u32 n) {
            u32 i = GID_0 * LDIM_0 + LID_0;
            if (i < n) y[i] += a * x[i];
        }''', gpu)
    axpy = module.get_function("axpy")
    axpy(y, x, 2.0, len(x), items=(len(x),))

The text is in the dialect of docs/custom-kernels.md, which OpenCL and CUDA compile and the host interprets, or in CUDA
C++ or OpenCL C. `items` are work items, at least so many; `grid` and `block` are CUDA's: groups, and the items of each.
"""

from . import _workalike
from ._workalike import DeviceArray

__all__ = ["In", "InOut", "Kernel", "Out", "SourceModule"]


class In:
    """An array of NumPy that a kernel reads: it is copied to the device before the launch."""

    read, written = True, False

    def __init__(self, array):
        if self.written and not hasattr(array, "__setitem__") or isinstance(array, (list, DeviceArray)):
            kind = type(self).__name__
            raise TypeError(
                f"{kind}: expected an array of NumPy, got {type(array).__name__}; DeviceArrays go as they are"
            )
        self.array = array


class Out(In):
    """An array of NumPy that a kernel writes: it is zero before the launch, and copied back after it."""

    read, written = False, True


class InOut(In):
    """An array of NumPy that a kernel reads and writes."""

    read, written = True, True


class SourceModule:
    """A text with kernels, compiled for a device.

    `language` is "dialect", "cuda" or "opencl". `types` gives type parameters of a text in the dialect their dtypes:
    with `{"x": "float16"}` it may use `type_x`, `work_x`, `load_x` and `store_x`.
    """

    def __init__(self, source, device=None, *, language="dialect", types=None):
        self.device = _workalike.device(device)
        self._module = _workalike.Module(source, self.device, language, types)

    @property
    def kernels(self):
        """The names of the kernels."""
        return self._module.kernels

    def get_function(self, name):
        """The kernel of this name."""
        return Kernel(self._module.kernel(name), self.device)

    def get_global(self, name, dtype, shape):
        """A `__device__` or `__constant__` variable of a text in CUDA C++, as a `DeviceArray`."""
        return self._module.global_array(name, dtype, shape)

    def __repr__(self):
        return f"SourceModule({', '.join(self.kernels)} on {self.device.id})"


class Kernel:
    """A kernel. A call enqueues a launch; with `Out` or `InOut` it waits for the results."""

    def __init__(self, kernel, device):
        self._kernel, self._device = kernel, device

    @property
    def name(self):
        """Its name."""
        return self._kernel.name

    @property
    def parameters(self):
        """Its parameters, as pairs of name and type."""
        return self._kernel.parameters

    def __call__(self, *args, items=None, grid=None, block=None):
        """Launches it. Arrays are `DeviceArray`s of its device, or NumPy's in `In`, `Out` or `InOut`; numbers are
        converted to the type of their parameter; memory of a group is a number of bytes."""
        import numpy as np

        given, back = [], []
        for arg in args:
            if isinstance(arg, In):
                own = DeviceArray(arg.array if arg.read else np.zeros_like(arg.array), self._device)
                back += [(arg.array, own)] if arg.written else []
                arg = own
            given.append(arg)
        self._kernel.launch(tuple(given), items, grid, block)
        for array, own in back:
            array[...] = own.numpy()

    def __repr__(self):
        return f"Kernel({self.name}({', '.join(f'{name}: {kind}' for name, kind in self.parameters)}))"
