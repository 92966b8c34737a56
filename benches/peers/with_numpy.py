"""NumPy, where it has the operation."""
import numpy as np


def version(b):
    return np.__version__


def run(b):
    s = b.sizes
    if b.wants("trivial"):
        x = np.float32(1)
        b.time("trivial", "call", "scalar", lambda: lambda: x + np.float32(1))
    if b.wants("exp_ladder"):
        for n in s.exp:
            x = b.normal(n)
            out = np.empty_like(x)
            b.time("exp_ladder", s.exp_name("host_result", n), "exp", lambda: lambda: np.exp(x))
            if n == s.exp[0]:
                for rung in ("copied", "borrowed"):
                    b.time("exp_ladder", rung, "exp, out=", lambda: lambda: np.exp(x, out=out))
    if b.wants("fused_elemwise"):
        for n in s.fused:
            p, q, r = (b.normal(n) for _ in range(3))
            one, half = np.float32(1), np.float32(1.5)
            f = lambda: np.tanh(p * q + half) * np.exp(-r) + p / (one + q * q)
            b.time("fused_elemwise", f"n={n}", "ufuncs", lambda: f)
    if b.wants("reduce"):
        for rows, columns in s.rows:
            x = b.normal(rows, columns)
            for axis in (None, 0, 1):
                variant = f"sum axis={'none' if axis is None else axis} {rows}x{columns}"
                b.time("reduce", variant, "sum", lambda: lambda: x.sum(axis))
    if b.wants("gemm"):
        for n in s.gemm:
            x, y = b.normal(n, n), b.normal(n, n)
            b.time("gemm", f"n={n} float32", "matmul", lambda: lambda: x @ y)
    if b.wants("heat"):
        for n in s.heat:
            decay, u = b.heat_decay(n), [b.normal(n, n)]

            def heat():
                u[0] = np.fft.irfft2(np.fft.rfft2(u[0]) * decay, s=(n, n))

            b.time("heat", f"n={n}", "rfft2", lambda: heat)

    def dense(name, variant, arrays, at):
        x, *more = arrays
        forms = {
            "middle_sum": lambda out: x.sum(1, out=out),
            "transpose_add": lambda out: np.add(x.T, more[0], out=out),
            "take": lambda out: np.take(x, at, 0, out=out, mode="clip" if out is not None else "raise"),
            "cumsum": lambda out: np.cumsum(x, at, out=out),
            "sort": lambda out: np.sort(x, -1),
            "argmax": lambda out: np.argmax(x, 1, out=out),
        }
        if name == "scatter_add":
            b.time(name, variant, "add.at", lambda: lambda: np.add.at(x, at, more[0]))
            return
        f = forms[name]
        b.time(name, variant, name, lambda: lambda: f(None))
        if name != "sort":
            out = f(None)
            b.time(name, variant, f"{name}, out=", lambda: lambda: f(out))

    b.dense(dense)
    if b.wants("limits"):
        limits(b)


def limits(b):
    """The limits of the CPU: memory bandwidth with one thread per core, and a matrix product."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    cores = len(os.sched_getaffinity(0))
    x = np.ones((cores, 1 << 25), "f4")
    y = np.empty_like(x)
    pool = ThreadPoolExecutor(cores)
    copy = lambda: list(pool.map(lambda core: np.copyto(y[core], x[core]), range(cores)))
    b.time("limits", f"copy bytes={2 * x.nbytes}", "a thread a core", lambda: copy)
    n = 2048
    p, q = b.normal(n, n), b.normal(n, n)
    b.time("limits", f"float32 flops={2 * n**3}", "matmul", lambda: lambda: p @ q)
