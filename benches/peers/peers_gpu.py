"""Peers on the GPU: what a user would pick instead, on the workloads of the performance table.

Run on a CUDA machine: python3 benches/peers/peers_gpu.py [--only NAME,...] > peers.json
Every figure is microseconds per call/step, median of several repeats. Inputs are random.
"""
import argparse, json, sys, time, os, statistics as st
import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--only", default="")
ap.add_argument("--lib", default="jax,torch,cupy")
a = ap.parse_args()
only = set(filter(None, a.only.split(",")))
libs = a.lib.split(",")
R = []


def rec(work, lib, variant, us, **extra):
    row = dict(work=work, lib=lib, variant=variant, us=us, **extra)
    R.append(row)
    print(json.dumps(row), file=sys.stderr, flush=True)


def bench(fn, sync, inner=100, reps=7, warm=3):
    for _ in range(warm):
        fn()
    sync()
    ts = []
    for _ in range(reps):
        t = time.perf_counter()
        for _ in range(inner):
            fn()
        sync()
        ts.append((time.perf_counter() - t) / inner * 1e6)
    return st.median(ts)


def want(n):
    return not only or n in only


VLEN = 10 * 30 * 768
rng = np.random.RandomState(22)
BIG = 1 << 26

# ---------------------------------------------------------------- torch
if "torch" in libs:
    import torch
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    dev = "cuda"
    sync = torch.cuda.synchronize

    def graphed(f, *args):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                f(*args)
        torch.cuda.current_stream().wait_stream(s)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            out = f(*args)
        return g, out

    if want("exp_ladder"):
        x = torch.tensor(rng.rand(VLEN).astype("f4"), device=dev)
        rec("exp_ladder", "torch", "eager,host_result", bench(lambda: torch.exp(x).cpu(), sync, 200))
        rec("exp_ladder", "torch", "eager,device_result", bench(lambda: torch.exp(x), sync, 1000))
        o = torch.empty_like(x)
        rec("exp_ladder", "torch", "eager,out=", bench(lambda: torch.exp(x, out=o), sync, 1000))
        g, _ = graphed(torch.exp, x)
        rec("exp_ladder", "torch", "cudagraph", bench(g.replay, sync, 1000))
    if want("fused_elemwise"):
        xs = [torch.rand(BIG, device=dev) for _ in range(3)]
        f = lambda a, b, c: torch.tanh(a * b + 1.5) * torch.exp(-c) + a / (1 + b * b)
        fc = torch.compile(f)
        fc(*xs)
        us = bench(lambda: fc(*xs), sync, 10)
        rec("fused_elemwise", "torch", "compile", us, gbs=4 * BIG * 4 / us / 1e3)
    if want("copy"):
        x = torch.rand(1 << 30, device=dev); y = torch.empty_like(x)
        us = bench(lambda: y.copy_(x), sync, 5)
        rec("copy", "torch", "d2d 4GiB", us, gbs=2 * 4 * (1 << 30) / us / 1e3)
        del x, y
        h = torch.empty(1 << 28, pin_memory=True); d = torch.empty(1 << 28, device=dev)
        us = bench(lambda: d.copy_(h, non_blocking=True), sync, 3)
        rec("copy", "torch", "h2d pinned 1GiB", us, gbs=4 * (1 << 28) / us / 1e3)
        us = bench(lambda: h.copy_(d, non_blocking=True), sync, 3)
        rec("copy", "torch", "d2h pinned 1GiB", us, gbs=4 * (1 << 28) / us / 1e3)
    if want("softmax"):
        x = torch.randn(8192, 8192, device=dev)
        us = bench(lambda: torch.softmax(x, -1), sync, 20)
        rec("softmax", "torch", "eager 8192x8192", us, gbs=2 * 4 * 8192 * 8192 / us / 1e3)
        fc = torch.compile(lambda x: torch.softmax(x, -1)); fc(x)
        us = bench(lambda: fc(x), sync, 20)
        rec("softmax", "torch", "compile 8192x8192", us, gbs=2 * 4 * 8192 * 8192 / us / 1e3)
    if want("reduce"):
        x = torch.randn(8192, 8192, device=dev)
        for ax in (None, 0, 1):
            f = (lambda: x.sum()) if ax is None else (lambda: x.sum(ax))
            us = bench(f, sync, 50)
            rec("reduce", "torch", f"sum axis={ax}", us, gbs=4 * 8192 * 8192 / us / 1e3)
    if want("gemm"):
        for n in (1024, 4096, 8192):
            for dt in (torch.float32, torch.float16, torch.bfloat16):
                A = torch.randn(n, n, device=dev, dtype=dt); B = torch.randn(n, n, device=dev, dtype=dt)
                us = bench(lambda: A @ B, sync, 10 if n > 4000 else 100)
                rec("gemm", "torch", f"{n} {str(dt)[6:]}", us, tflops=2 * n ** 3 / us / 1e6)
    if want("logreg"):
        N, D = 400, 784
        X = torch.randn(N, D, device=dev); Y = torch.randint(0, 2, (N,), device=dev).float()
        w = torch.randn(D, device=dev); b = torch.zeros((), device=dev)

        def step(X, Y):
            with torch.enable_grad():
                w_ = w.detach().requires_grad_(); b_ = b.detach().requires_grad_()
                p = torch.sigmoid(X @ w_ + b_)
                xent = -Y * torch.log(p) - (1 - Y) * torch.log(1 - p)
                cost = xent.mean() + 0.01 * (w_ ** 2).sum()
                gw, gb = torch.autograd.grad(cost, (w_, b_))
            w.sub_(0.1 * gw); b.sub_(0.1 * gb)
            return p > 0.5, xent
        rec("logreg", "torch", "eager", bench(lambda: step(X, Y), sync, 200))
        g, _ = graphed(step, X, Y)
        rec("logreg", "torch", "cudagraph", bench(g.replay, sync, 1000))
        sc = torch.compile(step); sc(X, Y)
        rec("logreg", "torch", "compile", bench(lambda: sc(X, Y), sync, 500))
        sc2 = torch.compile(step, mode="max-autotune-no-cudagraphs"); sc2(X, Y)
        g, _ = graphed(sc2, X, Y)
        rec("logreg", "torch", "compile+cudagraph", bench(g.replay, sync, 1000))
    for B in (20, 512):
        if want("mlp"):
            W1 = torch.randn(784, 500, device=dev) * .05; b1 = torch.zeros(500, device=dev)
            W2 = torch.randn(500, 10, device=dev) * .05; b2 = torch.zeros(10, device=dev)
            X = torch.randn(B, 784, device=dev); Y = torch.randint(0, 10, (B,), device=dev)

            def step(X, Y):
                with torch.enable_grad():
                    ps = [p.detach().requires_grad_() for p in (W1, b1, W2, b2)]
                    h = torch.tanh(X @ ps[0] + ps[1])
                    lp = torch.log_softmax(h @ ps[2] + ps[3], -1)
                    cost = -lp[torch.arange(B, device=dev), Y].mean() + 1e-4 * ((ps[0] ** 2).sum() + (ps[2] ** 2).sum())
                    gs = torch.autograd.grad(cost, ps)
                for p, g_ in zip((W1, b1, W2, b2), gs):
                    p.sub_(0.01 * g_)
                return cost
            rec("mlp", "torch", f"eager B={B}", bench(lambda: step(X, Y), sync, 200))
            g, _ = graphed(step, X, Y)
            rec("mlp", "torch", f"cudagraph B={B}", bench(g.replay, sync, 1000))
            sc = torch.compile(step, mode="max-autotune-no-cudagraphs"); sc(X, Y)
            rec("mlp", "torch", f"compile B={B}", bench(lambda: sc(X, Y), sync, 500))
            g, _ = graphed(sc, X, Y)
            rec("mlp", "torch", f"compile+cudagraph B={B}", bench(g.replay, sync, 1000))
    if want("lif"):
        for n in (1000, 1000000):
            d = 2
            enc = torch.randn(n, d, device=dev); dec = torch.randn(d, n, device=dev) / n
            bias = torch.randn(n, device=dev)
            v = torch.zeros(n, device=dev); ref = torch.zeros(n, device=dev); xx = torch.zeros(d, device=dev)
            inp = torch.randn(d, device=dev)
            dt, tau_rc, tau_ref, tau_syn = 1e-3, 0.02, 0.002, 0.1

            def step():
                J = torch.mv(enc, xx + inp) + bias
                delta = torch.clamp(dt - ref, 0, dt)
                vn = v - (J - v) * torch.expm1(-delta / tau_rc)
                spiked = (vn > 1).float() / dt
                t_spike = dt + tau_rc * torch.log1p(-(vn - 1) / (J - 1))
                ref.copy_(torch.where(spiked > 0, tau_ref + t_spike, ref - dt))
                v.copy_(torch.where(spiked > 0, 0., torch.clamp(vn, min=0)))
                xx.add_((dt / tau_syn) * (torch.mv(dec, spiked) - xx))
            rec("lif", "torch", f"eager n={n}", bench(step, sync, 200))
            g, _ = graphed(step)
            rec("lif", "torch", f"cudagraph n={n}", bench(g.replay, sync, 1000))
            sc = torch.compile(step, mode="max-autotune-no-cudagraphs"); sc()
            g, _ = graphed(sc)
            rec("lif", "torch", f"compile+cudagraph n={n}", bench(g.replay, sync, 1000))
    if want("rnn"):
        T, B, H = 100, 32, 256
        Wx = torch.randn(H, H, device=dev) * .05; Wh = torch.randn(H, H, device=dev) * .05
        X = torch.randn(T, B, H, device=dev)

        def rnn(X):
            h = torch.zeros(B, H, device=dev)
            hs = []
            xw = X @ Wx
            for t in range(T):
                h = torch.tanh(xw[t] + h @ Wh); hs.append(h)
            return torch.stack(hs)
        rec("rnn", "torch", "eager", bench(lambda: rnn(X), sync, 10))
        g, _ = graphed(rnn, X)
        rec("rnn", "torch", "cudagraph", bench(g.replay, sync, 50))

# ---------------------------------------------------------------- cupy
if "cupy" in libs:
    import cupy as cp
    csync = cp.cuda.Device().synchronize
    if want("exp_ladder"):
        x = cp.asarray(rng.rand(VLEN).astype("f4"))
        rec("exp_ladder", "cupy", "host_result", bench(lambda: cp.exp(x).get(), csync, 200))
        rec("exp_ladder", "cupy", "device_result", bench(lambda: cp.exp(x), csync, 1000))
        o = cp.empty_like(x)
        rec("exp_ladder", "cupy", "out=", bench(lambda: cp.exp(x, o), csync, 1000))
    if want("fused_elemwise"):
        xs = [cp.random.rand(BIG, dtype="f4") for _ in range(3)]
        k = cp.ElementwiseKernel("float32 a, float32 b, float32 c", "float32 o", "o = tanhf(a*b+1.5f)*expf(-c)+a/(1+b*b)", "fk")
        us = bench(lambda: k(*xs), csync, 10)
        rec("fused_elemwise", "cupy", "ElementwiseKernel", us, gbs=4 * BIG * 4 / us / 1e3)

# ---------------------------------------------------------------- jax
if "jax" in libs:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax, jax.numpy as jnp
    from jax import lax
    jax.config.update("jax_default_matmul_precision", "highest")
    last = [None]
    jsync = lambda: jax.block_until_ready(last[0])

    def keep(f):
        def g():
            last[0] = f()
        return g
    if want("exp_ladder"):
        x = jnp.asarray(rng.rand(VLEN).astype("f4"))
        f = jax.jit(jnp.exp)
        rec("exp_ladder", "jax", "host_result", bench(keep(lambda: np.asarray(f(x))), lambda: None, 200))
        rec("exp_ladder", "jax", "device_result", bench(keep(lambda: f(x)), jsync, 1000))
    if want("fused_elemwise"):
        xs = [jnp.asarray(np.random.rand(BIG).astype("f4")) for _ in range(3)]
        f = jax.jit(lambda a, b, c: jnp.tanh(a * b + 1.5) * jnp.exp(-c) + a / (1 + b * b))
        us = bench(keep(lambda: f(*xs)), jsync, 10)
        rec("fused_elemwise", "jax", "jit", us, gbs=4 * BIG * 4 / us / 1e3)
    if want("softmax"):
        x = jnp.asarray(np.random.randn(8192, 8192).astype("f4"))
        f = jax.jit(lambda x: jax.nn.softmax(x, -1))
        us = bench(keep(lambda: f(x)), jsync, 20)
        rec("softmax", "jax", "jit 8192x8192", us, gbs=2 * 4 * 8192 * 8192 / us / 1e3)
    if want("reduce"):
        x = jnp.asarray(np.random.randn(8192, 8192).astype("f4"))
        for ax in (None, 0, 1):
            f = jax.jit(lambda x: x.sum(ax))
            us = bench(keep(lambda: f(x)), jsync, 50)
            rec("reduce", "jax", f"sum axis={ax}", us, gbs=4 * 8192 * 8192 / us / 1e3)
    if want("gemm"):
        for n in (1024, 4096, 8192):
            for dt in ("float32", "float16", "bfloat16"):
                A = jnp.asarray(np.random.randn(n, n).astype("f4")).astype(dt)
                B = jnp.asarray(np.random.randn(n, n).astype("f4")).astype(dt)
                f = jax.jit(jnp.matmul)
                us = bench(keep(lambda: f(A, B)), jsync, 10 if n > 4000 else 100)
                rec("gemm", "jax", f"{n} {dt}", us, tflops=2 * n ** 3 / us / 1e6)
    if want("logreg"):
        N, D = 400, 784
        X = jnp.asarray(np.random.randn(N, D).astype("f4")); Y = jnp.asarray(np.random.randint(0, 2, N).astype("f4"))

        def loss(p, X, Y):
            pr = jax.nn.sigmoid(X @ p[0] + p[1])
            x = -Y * jnp.log(pr) - (1 - Y) * jnp.log(1 - pr)
            return x.mean() + 0.01 * (p[0] ** 2).sum(), (pr > .5, x)

        def step(p, X, Y):
            g, aux = jax.grad(loss, has_aux=True)(p, X, Y)
            return (p[0] - .1 * g[0], p[1] - .1 * g[1]), aux
        f = jax.jit(step, donate_argnums=0)
        p = [(jnp.asarray(np.random.randn(D).astype("f4")), jnp.zeros((), "f4"))]

        def one():
            p[0], last[0] = f(p[0], X, Y)
        rec("logreg", "jax", "jit+donate", bench(one, jsync, 500))
        many = jax.jit(lambda p: lax.fori_loop(0, 1000, lambda i, p: step(p, X, Y)[0], p))
        us = bench(keep(lambda: many(p[0])), jsync, 3)
        rec("logreg", "jax", "fori_loop x1000 (per step)", us / 1000)
    if want("mlp"):
        for B in (20, 512):
            X = jnp.asarray(np.random.randn(B, 784).astype("f4")); Y = jnp.asarray(np.random.randint(0, 10, B))
            P = (jnp.asarray(np.random.randn(784, 500).astype("f4") * .05), jnp.zeros(500), jnp.asarray(np.random.randn(500, 10).astype("f4") * .05), jnp.zeros(10))

            def loss(p, X, Y):
                h = jnp.tanh(X @ p[0] + p[1]); lp = jax.nn.log_softmax(h @ p[2] + p[3])
                return -lp[jnp.arange(B), Y].mean() + 1e-4 * ((p[0] ** 2).sum() + (p[2] ** 2).sum())

            def step(p, X, Y):
                c, g = jax.value_and_grad(loss)(p, X, Y)
                return tuple(a_ - .01 * b_ for a_, b_ in zip(p, g)), c
            f = jax.jit(step, donate_argnums=0)
            p = [tuple(jnp.array(q) for q in P)]

            def one():
                p[0], last[0] = f(p[0], X, Y)
            rec("mlp", "jax", f"jit+donate B={B}", bench(one, jsync, 500))
            many = jax.jit(lambda p: lax.fori_loop(0, 1000, lambda i, p: step(p, X, Y)[0], p))
            us = bench(keep(lambda: many(p[0])), jsync, 3)
            rec("mlp", "jax", f"fori_loop x1000 B={B} (per step)", us / 1000)
    if want("lif"):
        for n in (1000, 1000000):
            d = 2
            enc = jnp.asarray(np.random.randn(n, d).astype("f4")); dec = jnp.asarray(np.random.randn(d, n).astype("f4") / n)
            bias = jnp.asarray(np.random.randn(n).astype("f4")); inp = jnp.asarray(np.random.randn(d).astype("f4"))
            dt, tau_rc, tau_ref, tau_syn = 1e-3, 0.02, 0.002, 0.1

            def step(s):
                v, ref, xx = s
                J = enc @ (xx + inp) + bias
                delta = jnp.clip(dt - ref, 0, dt)
                vn = v - (J - v) * jnp.expm1(-delta / tau_rc)
                sp = (vn > 1).astype("f4") / dt
                ts = dt + tau_rc * jnp.log1p(-(vn - 1) / (J - 1))
                ref = jnp.where(sp > 0, tau_ref + ts, ref - dt)
                v = jnp.where(sp > 0, 0., jnp.maximum(vn, 0))
                return v, ref, xx + (dt / tau_syn) * (dec @ sp - xx)
            f = jax.jit(step, donate_argnums=0)
            s = [(jnp.zeros(n), jnp.zeros(n), jnp.zeros(d))]

            def one():
                s[0] = f(s[0]); last[0] = s[0]
            rec("lif", "jax", f"jit+donate n={n}", bench(one, jsync, 500))
            many = jax.jit(lambda s: lax.fori_loop(0, 1000, lambda i, s: step(s), s))
            us = bench(keep(lambda: many(s[0])), jsync, 3)
            rec("lif", "jax", f"fori_loop x1000 n={n} (per step)", us / 1000)
    if want("rnn"):
        T, B, H = 100, 32, 256
        Wx = jnp.asarray(np.random.randn(H, H).astype("f4") * .05); Wh = jnp.asarray(np.random.randn(H, H).astype("f4") * .05)
        X = jnp.asarray(np.random.randn(T, B, H).astype("f4"))
        f = jax.jit(lambda X: lax.scan(lambda h, x: (lambda n: (n, n))(jnp.tanh(x + h @ Wh)), jnp.zeros((B, H)), X @ Wx)[1])
        rec("rnn", "jax", "scan", bench(keep(lambda: f(X)), jsync, 20))
json.dump(R, sys.stdout)
