"""CuPy, where it has the operation."""
import cupy as cp
import cupyx


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
