"""CuPy, where it has the operation."""
import cupy as cp
import cupyx
import numpy as np


def version(b):
    return f"{cp.__version__}, CUDA {cp.cuda.runtime.runtimeGetVersion()}"


def run(b):
    s = b.sizes
    sync = cp.cuda.Device().synchronize
    if b.wants("exp_ladder"):
        for n in s.exp:
            x = cp.asarray(b.normal(n))
            name = lambda rung: s.exp_name(rung, n)
            b.time("exp_ladder", name("host_result"), "get", lambda: lambda: cp.exp(x).get(), sync)

            def pinned():
                host, out = cupyx.empty_pinned(n, "f4"), cp.empty_like(x)

                def call():
                    cp.exp(x, out)
                    out.get(out=host)

                return call

            b.time("exp_ladder", name("host_result"), "pinned, reused", pinned, sync)
            b.time("exp_ladder", name("device_result"), "eager", lambda: lambda: cp.exp(x), sync)
            if n == s.exp[0]:
                out = cp.empty_like(x)
                b.time("exp_ladder", "copied", "out=", lambda: lambda: cp.exp(x, out), sync)
    if b.wants("fused_elemwise"):
        kernel = cp.ElementwiseKernel(
            "float32 a, float32 b, float32 c", "float32 y", "y = tanhf(a*b+1.5f)*expf(-c)+a/(1+b*b)", "fused"
        )
        for n in s.fused:
            xs = [cp.asarray(b.normal(n)) for _ in range(3)]
            b.time("fused_elemwise", f"n={n}", "ElementwiseKernel", lambda: lambda: kernel(*xs), sync)
            del xs
            cp.get_default_memory_pool().free_all_blocks()

    if b.wants("heat"):
        for n in s.heat:
            decay, u = cp.asarray(b.heat_decay(n)), [cp.asarray(b.normal(n, n))]

            def heat():
                u[0] = cp.fft.irfft2(cp.fft.rfft2(u[0]) * decay, s=(n, n))

            b.time("heat", f"n={n}", "eager", lambda: heat, sync)
    if b.wants("kernels"):
        kernels(b, sync)

    def dense(name, variant, arrays, at):
        x, *more = map(cp.asarray, arrays)
        at = cp.asarray(at) if isinstance(at, np.ndarray) else at
        f = {
            "middle_sum": lambda: x.sum(1),
            "transpose_add": lambda: x.T + more[0],
            "take": lambda: cp.take(x, at, 0),
            "scatter_add": lambda: cupyx.scatter_add(x, at, more[0]),
            "cumsum": lambda: cp.cumsum(x, at),
            "sort": lambda: cp.sort(x, -1),
            "argmax": lambda: x.argmax(1),
        }[name]
        b.time(name, variant, "eager", lambda: f, sync)
        del x, more
        cp.get_default_memory_pool().free_all_blocks()

    b.dense(dense)


def kernels(b, sync):
    """Kernels from expressions, and the launch of one."""
    n = 1 << 26
    x, y = cp.ones(n, "f4"), cp.empty(n, "f4")
    fused = cp.ElementwiseKernel("float32 a, float32 x", "float32 y", "y = a * x * x + 1", "fused_kernel")
    b.time("kernels", f"elementwise n={n}", "ElementwiseKernel", lambda: lambda: fused(0.5, x, y), sync)
    dot = cp.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = a", "0", "dot_kernel")
    out = cp.empty((), "f4")
    b.time("kernels", f"reduction n={n}", "ReductionKernel", lambda: lambda: dot(x, out), sync)
    b.time("kernels", f"scan n={n}", "cumsum", lambda: lambda: cp.cumsum(x, out=y), sync)
    text = 'extern "C" __global__ void nothing(float *y, float by) { if (by != 0) y[blockIdx.x] = by; }'
    nothing = cp.RawKernel(text, "nothing")
    args = (out, cp.float32(0))
    b.time("kernels", "launch", "RawKernel", lambda: lambda: nothing((1,), (32,), args), sync)
    b.time("kernels", "zeros n=1024", "zeros", lambda: lambda: cp.zeros(1024, "f4"), sync)
