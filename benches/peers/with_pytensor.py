"""PyTensor, the living descendant of Theano, through its C and its Numba linker."""
import numpy as np
import pytensor
import pytensor.tensor as pt

pytensor.config.floatX = "float32"


def version(b):
    return pytensor.__version__


def run(b):
    s = b.sizes
    shared = lambda value: pytensor.shared(np.asarray(value))
    f32 = np.float32

    def all_modes(work, variant, build):
        for mode in ("CVM", "NUMBA"):
            b.time(work, variant, mode, lambda: build(mode))

    if b.wants("trivial"):

        def trivial(mode):
            x = pt.fscalar("x")
            f = pytensor.function([x], x + f32(1), mode=mode)
            return lambda: f(f32(1))

        all_modes("trivial", "call", trivial)
    if b.wants("exp_ladder"):
        for n in s.exp:
            x = b.normal(n)
            build = lambda mode: pytensor.function([], pt.exp(shared(x)), mode=mode)
            all_modes("exp_ladder", s.exp_name("host_result", n), build)
    if b.wants("fused_elemwise"):
        for n in s.fused:
            xs = [b.normal(n) for _ in range(3)]

            def fused(mode):
                u, v, w = map(shared, xs)
                y = pt.tanh(u * v + f32(1.5)) * pt.exp(-w) + u / (f32(1) + v * v)
                return pytensor.function([], y, mode=mode)

            all_modes("fused_elemwise", f"n={n}", fused)
    if b.wants("softmax"):
        for rows, columns in s.rows:
            x = b.normal(rows, columns)
            build = lambda mode: pytensor.function([], pt.special.softmax(shared(x), axis=-1), mode=mode)
            all_modes("softmax", f"{rows}x{columns}", build)
    if b.wants("reduce"):
        for rows, columns in s.rows:
            x = b.normal(rows, columns)
            for axis in (None, 0, 1):
                variant = f"sum axis={'none' if axis is None else axis} {rows}x{columns}"
                all_modes("reduce", variant, lambda mode: pytensor.function([], shared(x).sum(axis), mode=mode))
    if b.wants("gemm"):
        for n in s.gemm:
            x, y = b.normal(n, n), b.normal(n, n)
            all_modes("gemm", f"n={n} float32", lambda mode: pytensor.function([], shared(x) @ shared(y), mode=mode))
    if b.wants("logreg"):
        for n, d in s.logreg:
            data = b.normal(n, d), b.labels(n, 2).astype("f4"), b.normal(d, scale=0.05)

            def logreg(mode):
                X, Y, w = map(shared, data)
                bias = shared(f32(0))
                p = pt.sigmoid(X @ w + bias)
                xent = -Y * pt.log(p) - (1 - Y) * pt.log(1 - p)
                cost = xent.mean() + f32(0.01) * (w**2).sum()
                gw, gb = pt.grad(cost, [w, bias])
                updates = [(w, w - f32(0.1) * gw), (bias, bias - f32(0.1) * gb)]
                return pytensor.function([], [p > 0.5, xent], updates=updates, mode=mode)

            all_modes("logreg", f"{n}x{d}", logreg)
    if b.wants("mlp"):
        for batch in s.mlp:
            data = b.normal(batch, 784), b.labels(batch, 10), b.normal(784, 500, scale=0.05), b.normal(500, 10, scale=0.05)

            def mlp(mode):
                X, Y, W1, W2 = map(shared, data)
                parameters = [W1, shared(np.zeros(500, "f4")), W2, shared(np.zeros(10, "f4"))]
                h = pt.tanh(X @ parameters[0] + parameters[1])
                lp = pt.special.log_softmax(h @ parameters[2] + parameters[3], axis=-1)
                cost = -lp[pt.arange(batch), Y].mean() + f32(1e-4) * ((W1**2).sum() + (W2**2).sum())
                updates = [(p, p - f32(0.01) * g) for p, g in zip(parameters, pt.grad(cost, parameters))]
                return pytensor.function([], cost, updates=updates, mode=mode)

            all_modes("mlp", f"B={batch}", mlp)
    if b.wants("lif"):
        for n in s.lif:
            data = b.normal(n, 2), b.normal(2, n, scale=1 / n), b.normal(n), b.normal(2)

            def lif(mode):
                enc, dec, bias, inp = map(shared, data)
                v, ref, x = shared(np.zeros(n, "f4")), shared(np.zeros(n, "f4")), shared(np.zeros(2, "f4"))
                dt, tau_rc, tau_ref, tau_syn = map(f32, (1e-3, 0.02, 0.002, 0.1))
                J = enc @ (x + inp) + bias
                delta = pt.clip(dt - ref, f32(0), dt)
                vn = v - (J - v) * pt.expm1(-delta / tau_rc)
                spikes = (vn > 1).astype("float32") / dt
                t = dt + tau_rc * pt.log1p(-(vn - 1) / (J - 1))
                updates = [
                    (v, pt.switch(spikes > 0, f32(0), pt.maximum(vn, f32(0)))),
                    (ref, pt.switch(spikes > 0, tau_ref + t, ref - dt)),
                    (x, x + (dt / tau_syn) * (dec @ spikes - x)),
                ]
                return pytensor.function([], [], updates=updates, mode=mode)

            all_modes("lif", f"n={n}", lif)
    if b.wants("rnn"):
        for T, B, H in s.rnn:
            data = b.normal(H, H, scale=0.05), b.normal(H, H, scale=0.05), b.normal(T, B, H)

            def rnn(mode):
                Wx, Wh, X = map(shared, data)
                hs = pytensor.scan(
                    lambda x, h, W: pt.tanh(x + h @ W),
                    sequences=[X @ Wx],
                    outputs_info=[pt.zeros((B, H), dtype="float32")],
                    non_sequences=[Wh],
                    return_updates=False,
                )
                return pytensor.function([], hs, mode=mode)

            all_modes("rnn", f"T={T} B={B} H={H}", rnn)
