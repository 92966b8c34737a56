"""Peers on the CPU: PyTensor, JAX and NumPy on the workloads of the performance table.

python3 benches/peers/peers_cpu.py > peers_cpu.json ; every figure is microseconds per call/step (median). Same inputs as peers_gpu.py.
"""
import argparse, json, sys, time, statistics as st
import numpy as np
ap = argparse.ArgumentParser(); ap.add_argument("--lib", default="numpy,jax,pytensor"); ap.add_argument("--only", default="")
a = ap.parse_args(); libs = a.lib.split(","); only = set(filter(None, a.only.split(",")))
R = []
want = lambda n: not only or n in only


def rec(work, lib, variant, us, **k):
    row = dict(work=work, lib=lib, variant=variant, us=us, **k); R.append(row); print(json.dumps(row), file=sys.stderr, flush=True)


def bench(fn, budget=1.0, reps=5):
    fn(); fn()
    t = time.perf_counter(); fn(); one = max(time.perf_counter() - t, 1e-7)
    inner = max(1, int(budget / reps / one)); ts = []
    for _ in range(reps):
        t = time.perf_counter()
        for _ in range(inner): fn()
        ts.append((time.perf_counter() - t) / inner * 1e6)
    return st.median(ts)


VLEN = 10 * 30 * 768; rng = np.random.RandomState(22); xe = rng.rand(VLEN).astype("f4")
BIG = 1 << 22; A3 = [np.random.rand(BIG).astype("f4") for _ in range(3)]
SM = np.random.randn(2048, 2048).astype("f4")
GA = {n: (np.random.randn(n, n).astype("f4"), np.random.randn(n, n).astype("f4")) for n in (256, 1024)}
LX = np.random.randn(400, 784).astype("f4"); LY = np.random.randint(0, 2, 400).astype("f4")
W1 = (np.random.randn(784, 500) * .05).astype("f4"); W2 = (np.random.randn(500, 10) * .05).astype("f4")
MX = {B: (np.random.randn(B, 784).astype("f4"), np.random.randint(0, 10, B)) for B in (20, 512)}
LIF = {n: dict(enc=np.random.randn(n, 2).astype("f4"), dec=(np.random.randn(2, n) / n).astype("f4"), bias=np.random.randn(n).astype("f4"), inp=np.random.randn(2).astype("f4")) for n in (1000, 100000)}
T, Bb, H = 100, 32, 256
RW = [(np.random.randn(H, H) * .05).astype("f4") for _ in range(2)]; RX = np.random.randn(T, Bb, H).astype("f4")

if "numpy" in libs:
    if want("exp_ladder"): rec("exp_ladder", "numpy", "exp", bench(lambda: np.exp(xe)))
    if want("fused_elemwise"): p, q, c = A3; rec("fused_elemwise", "numpy", "4M", bench(lambda: np.tanh(p * q + np.float32(1.5)) * np.exp(-c) + p / (1 + q * q)))
    if want("gemm"):
        for n, (x, y) in GA.items(): us = bench(lambda: x @ y); rec("gemm", "numpy", f"{n} f32", us, gflops=2 * n ** 3 / us / 1e3)
if "jax" in libs:
    import jax, jax.numpy as jnp
    from jax import lax
    blk = jax.block_until_ready
    if want("exp_ladder"): x = jnp.asarray(xe); f = jax.jit(jnp.exp); rec("exp_ladder", "jax", "jit", bench(lambda: blk(f(x))))
    if want("fused_elemwise"):
        xs = [jnp.asarray(v) for v in A3]; f = jax.jit(lambda a, b, c: jnp.tanh(a * b + 1.5) * jnp.exp(-c) + a / (1 + b * b)); rec("fused_elemwise", "jax", "4M", bench(lambda: blk(f(*xs))))
    if want("softmax"): x = jnp.asarray(SM); f = jax.jit(lambda x: jax.nn.softmax(x, -1)); rec("softmax", "jax", "2048x2048", bench(lambda: blk(f(x))))
    if want("reduce"):
        x = jnp.asarray(SM)
        for ax in (None, 0, 1): f = jax.jit(lambda x: x.sum(ax)); rec("reduce", "jax", f"sum axis={ax}", bench(lambda: blk(f(x))))
    if want("gemm"):
        for n, (x, y) in GA.items(): x, y = jnp.asarray(x), jnp.asarray(y); f = jax.jit(jnp.matmul); us = bench(lambda: blk(f(x, y))); rec("gemm", "jax", f"{n} f32", us, gflops=2 * n ** 3 / us / 1e3)
    if want("logreg"):
        def loss(p, X, Y):
            pr = jax.nn.sigmoid(X @ p[0] + p[1]); x = -Y * jnp.log(pr) - (1 - Y) * jnp.log(1 - pr); return x.mean() + 0.01 * (p[0] ** 2).sum(), (pr > .5, x)

        def step(p, X, Y):
            g, aux = jax.grad(loss, has_aux=True)(p, X, Y); return (p[0] - .1 * g[0], p[1] - .1 * g[1]), aux
        f = jax.jit(step, donate_argnums=0); p = [(jnp.zeros(784), jnp.zeros(()))]; X, Y = jnp.asarray(LX), jnp.asarray(LY)

        def one(): p[0], o = f(p[0], X, Y); blk(o)
        rec("logreg", "jax", "jit", bench(one))
        many = jax.jit(lambda p: lax.fori_loop(0, 1000, lambda i, p: step(p, X, Y)[0], p)); rec("logreg", "jax", "fori_loop x1000 (per step)", bench(lambda: blk(many(p[0]))) / 1000)
    if want("mlp"):
        for B, (X, Y) in MX.items():
            def loss(p, X, Y):
                h = jnp.tanh(X @ p[0] + p[1]); lp = jax.nn.log_softmax(h @ p[2] + p[3]); return -lp[jnp.arange(B), Y].mean() + 1e-4 * ((p[0] ** 2).sum() + (p[2] ** 2).sum())

            def step(p, X, Y): c, g = jax.value_and_grad(loss)(p, X, Y); return tuple(u - .01 * v for u, v in zip(p, g)), c
            f = jax.jit(step, donate_argnums=0); p = [(jnp.array(W1), jnp.zeros(500), jnp.array(W2), jnp.zeros(10))]; X, Y = jnp.asarray(X), jnp.asarray(Y)

            def one(): p[0], c = f(p[0], X, Y); blk(c)
            rec("mlp", "jax", f"B={B}", bench(one))
    if want("lif"):
        for n, d in LIF.items():
            enc, dec, bias, inp = (jnp.asarray(d[k]) for k in ("enc", "dec", "bias", "inp")); dt, trc, trf, ts_ = 1e-3, .02, .002, .1

            def step(s):
                v, ref, xx = s; J = enc @ (xx + inp) + bias; de = jnp.clip(dt - ref, 0, dt); vn = v - (J - v) * jnp.expm1(-de / trc); sp = (vn > 1).astype("f4") / dt
                t = dt + trc * jnp.log1p(-(vn - 1) / (J - 1)); return jnp.where(sp > 0, 0., jnp.maximum(vn, 0)), jnp.where(sp > 0, trf + t, ref - dt), xx + (dt / ts_) * (dec @ sp - xx)
            many = jax.jit(lambda s: lax.fori_loop(0, 1000, lambda i, s: step(s), s)); s0 = (jnp.zeros(n), jnp.zeros(n), jnp.zeros(2)); rec("lif", "jax", f"fori x1000 n={n} (per step)", bench(lambda: blk(many(s0))) / 1000)
    if want("rnn"):
        Wx, Wh, X = jnp.asarray(RW[0]), jnp.asarray(RW[1]), jnp.asarray(RX); f = jax.jit(lambda X: lax.scan(lambda h, x: (lambda n: (n, n))(jnp.tanh(x + h @ Wh)), jnp.zeros((Bb, H)), X @ Wx)[1]); rec("rnn", "jax", "scan", bench(lambda: blk(f(X))))
if "pytensor" in libs:
    import pytensor, pytensor.tensor as pt
    pytensor.config.floatX = "float32"
    sh = lambda v: pytensor.shared(np.asarray(v))
    for mode in ("CVM", "NUMBA"):
        if want("exp_ladder"): f = pytensor.function([], pt.exp(sh(xe)), mode=mode); rec("exp_ladder", "pytensor", mode, bench(f))
        if want("fused_elemwise"): u, v, w = map(sh, A3); f = pytensor.function([], pt.tanh(u * v + np.float32(1.5)) * pt.exp(-w) + u / (1 + v * v), mode=mode); rec("fused_elemwise", "pytensor", mode + " 4M", bench(f))
        if want("softmax"): f = pytensor.function([], pt.special.softmax(sh(SM), axis=-1), mode=mode); rec("softmax", "pytensor", mode + " 2048x2048", bench(f))
        if want("reduce"):
            for ax in (None, 0, 1): f = pytensor.function([], sh(SM).sum(ax), mode=mode); rec("reduce", "pytensor", f"{mode} sum axis={ax}", bench(f))
        if want("gemm"):
            for n, (x, y) in GA.items(): f = pytensor.function([], sh(x) @ sh(y), mode=mode); us = bench(f); rec("gemm", "pytensor", f"{mode} {n} f32", us, gflops=2 * n ** 3 / us / 1e3)
        if want("logreg"):
            w, b = sh(np.zeros(784, "f4")), sh(np.float32(0)); X, Y = sh(LX), sh(LY); p = pt.sigmoid(X @ w + b); xe_ = -Y * pt.log(p) - (1 - Y) * pt.log(1 - p); cost = xe_.mean() + np.float32(.01) * (w ** 2).sum(); gw, gb = pt.grad(cost, [w, b])
            f = pytensor.function([], [p > .5, xe_], updates=[(w, w - np.float32(.1) * gw), (b, b - np.float32(.1) * gb)], mode=mode); rec("logreg", "pytensor", mode, bench(f))
        if want("mlp"):
            for B, (Xv, Yv) in MX.items():
                P = [sh(W1), sh(np.zeros(500, "f4")), sh(W2), sh(np.zeros(10, "f4"))]; X, Y = sh(Xv), sh(Yv); h = pt.tanh(X @ P[0] + P[1]); lp = pt.special.log_softmax(h @ P[2] + P[3], axis=-1); cost = -lp[pt.arange(B), Y].mean() + np.float32(1e-4) * ((P[0] ** 2).sum() + (P[2] ** 2).sum())
                g = pt.grad(cost, P); f = pytensor.function([], cost, updates=[(q, q - np.float32(.01) * r) for q, r in zip(P, g)], mode=mode); rec("mlp", "pytensor", f"{mode} B={B}", bench(f))
        if want("lif"):
            for n, d in LIF.items():
                enc, dec, bias, inp = (sh(d[k]) for k in ("enc", "dec", "bias", "inp")); v, ref, xx = sh(np.zeros(n, "f4")), sh(np.zeros(n, "f4")), sh(np.zeros(2, "f4")); dt, trc, trf, ts_ = map(np.float32, (1e-3, .02, .002, .1))
                J = enc @ (xx + inp) + bias; de = pt.clip(dt - ref, np.float32(0), dt); vn = v - (J - v) * pt.expm1(-de / trc); sp = (vn > 1).astype("float32") / dt; t = dt + trc * pt.log1p(-(vn - 1) / (J - 1))
                f = pytensor.function([], [], updates=[(v, pt.switch(sp > 0, np.float32(0), pt.maximum(vn, np.float32(0)))), (ref, pt.switch(sp > 0, trf + t, ref - dt)), (xx, xx + (dt / ts_) * (dec @ sp - xx))], mode=mode); rec("lif", "pytensor", f"{mode} n={n}", bench(f))
        if want("rnn"):
            Wx, Wh, X = sh(RW[0]), sh(RW[1]), sh(RX); hs = pytensor.scan(lambda x, h, W: pt.tanh(x + h @ W), sequences=[X @ Wx], outputs_info=[pt.zeros((Bb, H), dtype="float32")], non_sequences=[Wh], return_updates=False); f = pytensor.function([], hs, mode=mode); rec("rnn", "pytensor", mode + " scan", bench(f))
json.dump(R, sys.stdout)
