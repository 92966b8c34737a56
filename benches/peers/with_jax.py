"""JAX, on the processor or the GPU; steps as donated calls and as a loop on the device."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import programs_jax

# Products and convolutions: float32 is not computed in TF32.
jax.config.update("jax_default_matmul_precision", "highest")


def version(b):
    found = jax.devices()[0].platform
    if b.large and found == "cpu":
        raise RuntimeError("jax is installed without CUDA")
    return f"{jax.__version__} on {found}"


def run(b):
    s = b.sizes
    last = [None]
    ready = lambda: jax.block_until_ready(last[0])
    # On the CPU each call is waited for: the dispatch alone is no measurement.
    sync = ready if b.large else (lambda: None)

    def kept(f):
        def call():
            last[0] = f()
            if not b.large:
                ready()

        return call

    def stepped(work, variant, step, state, loops):
        """`step` as calls with donated state, and as a loop unless `loops` is 0."""

        def calls():
            f, current = jax.jit(step, donate_argnums=0), [jax.tree.map(jnp.array, state)]

            def call():
                current[0], extra = f(current[0])
                last[0] = (current[0], extra)
                if not b.large:
                    ready()

            return call

        b.time(work, variant, "jit, donated", calls, sync)
        if not loops:
            return
        many = jax.jit(lambda state: lax.fori_loop(0, loops, lambda i, state: step(state)[0], state))
        b.time(work, variant, f"fori_loop of {loops}", lambda: kept(lambda: many(state)), sync, steps=loops)

    if b.wants("trivial"):
        f, x = jax.jit(lambda x: x + 1), np.float32(1)
        b.time("trivial", "call", "jit", lambda: lambda: np.asarray(f(x)))
    if b.wants("exp_ladder"):
        f = jax.jit(jnp.exp)
        for n in s.exp:
            x = jnp.asarray(b.normal(n))
            b.time("exp_ladder", s.exp_name("host_result", n), "jit", lambda: lambda: np.asarray(f(x)))
            b.time("exp_ladder", s.exp_name("device_result", n), "jit", lambda: kept(lambda: f(x)), sync)
    if b.wants("fused_elemwise"):
        f = jax.jit(lambda a, b, c: jnp.tanh(a * b + 1.5) * jnp.exp(-c) + a / (1 + b * b))
        for n in s.fused:
            xs = [jnp.asarray(b.normal(n)) for _ in range(3)]
            b.time("fused_elemwise", f"n={n}", "jit", lambda: kept(lambda: f(*xs)), sync)
    if b.wants("softmax"):
        f = jax.jit(lambda x: jax.nn.softmax(x, -1))
        for rows, columns in s.rows:
            x = jnp.asarray(b.normal(rows, columns))
            b.time("softmax", f"{rows}x{columns}", "jit", lambda: kept(lambda: f(x)), sync)
    if b.wants("reduce"):
        for rows, columns in s.rows:
            x = jnp.asarray(b.normal(rows, columns))
            for axis in (None, 0, 1):
                f = jax.jit(lambda x: x.sum(axis))
                variant = f"sum axis={'none' if axis is None else axis} {rows}x{columns}"
                b.time("reduce", variant, "jit", lambda: kept(lambda: f(x)), sync)
    if b.wants("gemm"):
        f = jax.jit(jnp.matmul)
        for n in s.gemm:
            for dtype in s.gemm_dtypes:
                x, y = (jnp.asarray(b.normal(n, n)).astype(dtype) for _ in range(2))
                b.time("gemm", f"n={n} {dtype}", "jit", lambda: kept(lambda: f(x, y)), sync)
    loops = 1000 if b.large else 100
    if b.wants("logreg"):
        for n, d in s.logreg:
            X, Y = jnp.asarray(b.normal(n, d)), jnp.asarray(b.labels(n, 2).astype("f4"))

            def loss(p):
                pr = jax.nn.sigmoid(X @ p[0] + p[1])
                xent = -Y * jnp.log(pr) - (1 - Y) * jnp.log(1 - pr)
                return xent.mean() + 0.01 * (p[0] ** 2).sum(), (pr > 0.5, xent)

            def step(p):
                g, extra = jax.grad(loss, has_aux=True)(p)
                return (p[0] - 0.1 * g[0], p[1] - 0.1 * g[1]), extra

            stepped("logreg", f"{n}x{d}", step, (jnp.asarray(b.normal(d, scale=0.05)), jnp.zeros(())), loops)
    if b.wants("mlp"):
        for batch in s.mlp:
            X, Y = jnp.asarray(b.normal(batch, 784)), jnp.asarray(b.labels(batch, 10))
            P = tuple(map(jnp.asarray, (b.normal(784, 500, scale=0.05), np.zeros(500, "f4"), b.normal(500, 10, scale=0.05), np.zeros(10, "f4"))))

            def loss(p):
                lp = jax.nn.log_softmax(jnp.tanh(X @ p[0] + p[1]) @ p[2] + p[3])
                return -lp[jnp.arange(batch), Y].mean() + 1e-4 * ((p[0] ** 2).sum() + (p[2] ** 2).sum())

            def step(p):
                cost, g = jax.value_and_grad(loss)(p)
                return tuple(u - 0.01 * v for u, v in zip(p, g)), cost

            stepped("mlp", f"B={batch}", step, P, loops)
    if b.wants("lenet"):
        lenet(b, stepped, sync)

    def conv(variant, role, x, w, bias, stride, padding):
        def forward(x, w):
            pads = [(n, n) for n in padding]
            return lax.conv_general_dilated(x, w, (stride, stride), pads)

        squares = lambda x, w: (forward(x, w) ** 2).sum()
        f = {
            "forward": lambda x, w, bias: forward(x, w),
            "forward_bias_relu": lambda x, w, bias: jax.nn.relu(forward(x, w) + bias[:, None, None]),
            "input_gradient": lambda x, w, bias: jax.grad(squares, 0)(x, w),
            "filter_gradient": lambda x, w, bias: jax.grad(squares, 1)(x, w),
        }[role]
        f, arrays = jax.jit(f), [jnp.asarray(array) for array in (x, w, bias)]
        b.time("conv", variant, "jit", lambda: kept(lambda: f(*arrays)), sync)

    b.conv(conv)
    if b.wants("lif"):
        for n in s.lif:
            enc, dec = jnp.asarray(b.normal(n, 2)), jnp.asarray(b.normal(2, n, scale=1 / n))
            bias, inp = jnp.asarray(b.normal(n)), jnp.asarray(b.normal(2))
            dt, tau_rc, tau_ref, tau_syn = 1e-3, 0.02, 0.002, 0.1

            def step(state):
                v, ref, x = state
                J = enc @ (x + inp) + bias
                delta = jnp.clip(dt - ref, 0, dt)
                vn = v - (J - v) * jnp.expm1(-delta / tau_rc)
                spikes = (vn > 1).astype("f4") / dt
                t = dt + tau_rc * jnp.log1p(-(vn - 1) / (J - 1))
                ref = jnp.where(spikes > 0, tau_ref + t, ref - dt)
                v = jnp.where(spikes > 0, 0.0, jnp.maximum(vn, 0))
                return (v, ref, x + (dt / tau_syn) * (dec @ spikes - x)), ()

            stepped("lif", f"n={n}", step, (jnp.zeros(n), jnp.zeros(n), jnp.zeros(2)), 1000)
    if b.wants("heat"):
        for n in s.heat:
            decay = jnp.asarray(b.heat_decay(n))
            step = lambda u: (jnp.fft.irfft2(jnp.fft.rfft2(u) * decay, s=(n, n)), ())
            stepped("heat", f"n={n}", step, jnp.asarray(b.normal(n, n)), 100)
    if b.wants("rnn"):
        for T, B, H in s.rnn:
            Wx, Wh = (jnp.asarray(b.normal(H, H, scale=0.05)) for _ in range(2))
            X = jnp.asarray(b.normal(T, B, H))

            def cell(h, x):
                h = jnp.tanh(x + h @ Wh)
                return h, h

            f = jax.jit(lambda X: lax.scan(cell, jnp.zeros((B, H)), X @ Wx)[1])
            b.time("rnn", f"T={T} B={B} H={H}", "scan", lambda: kept(lambda: f(X)), sync)

    recurrent(b, kept, stepped, sync)

    def dense(name, variant, arrays, at):
        x, *more = map(jnp.asarray, arrays)
        at = jnp.asarray(at) if isinstance(at, np.ndarray) else at
        if name == "scatter_add":
            add = jax.jit(lambda x: x.at[at].add(more[0]), donate_argnums=0)
            current = [x]

            def call():
                current[0] = last[0] = add(current[0])
                if not b.large:
                    ready()

            b.time(name, variant, "jit, donated", lambda: call, sync)
            return
        f = {
            "middle_sum": lambda x: x.sum(1),
            "transpose_add": lambda x, y: x.T + y,
            "take": lambda x: jnp.take(x, at, 0),
            "cumsum": lambda x: jnp.cumsum(x, at),
            "sort": lambda x: jnp.sort(x, -1),
            "argmax": lambda x: x.argmax(1),
        }[name]
        f = jax.jit(f)
        b.time(name, variant, "jit", lambda: kept(lambda: f(x, *more)), sync)

    b.dense(dense)
    programs_jax.run(b)


def recurrent(b, kept, stepped, sync):
    """Recurrent networks by scan, gradients, leapfrog steps, and a loop with a condition."""
    for T, B, H in b.sizes.rnn:
        at = f"T={T} B={B} H={H}"
        X, zeros = jnp.asarray(b.normal(T, B, H)), jnp.zeros((B, H))

        def weights(gates):
            return [jnp.asarray(b.normal(H, gates * H, scale=0.05)) for _ in range(2)]

        def plain(X, W, U):
            def cell(h, x):
                h = jnp.tanh(x + h @ U)
                return h, h

            return lax.scan(cell, zeros, X @ W)[1]

        def gru(X, W, U):
            def cell(h, x):
                past = h @ U
                gate = lambda k: jax.nn.sigmoid(x[:, k * H:(k + 1) * H] + past[:, k * H:(k + 1) * H])
                new = jnp.tanh(x[:, 2 * H:] + gate(1) * past[:, 2 * H:])
                h = new + gate(0) * (h - new)
                return h, h

            return lax.scan(cell, zeros, X @ W)[1]

        def lstm(X, W, U):
            def cell(carried, x):
                h, c = carried
                every = x + h @ U
                i, f, o = (jax.nn.sigmoid(every[:, k * H:(k + 1) * H]) for k in range(3))
                c = f * c + i * jnp.tanh(every[:, 3 * H:])
                h = o * jnp.tanh(c)
                return (h, c), h

            return lax.scan(cell, (zeros, zeros), X @ W)[1]

        squares = jax.grad(lambda X, W, U: (plain(X, W, U) ** 2).sum(), 2)
        for name, f, gates in [("scan_rnn", plain, 1), ("gru", gru, 3), ("lstm", lstm, 4), ("scan_gradient", squares, 1)]:
            if b.wants(name):
                f, (W, U) = jax.jit(f), weights(gates)
                b.time(name, at, "scan", lambda: kept(lambda: f(X, W, U)), sync)
        if b.wants("lstm_training"):
            (W, U), bias = weights(4), jnp.zeros(4 * H)

            def cost(ps):
                W, U, bias = ps

                def cell(carried, x):
                    h, c = carried
                    every = x @ W + h @ U + bias
                    i, f, o = (jax.nn.sigmoid(every[:, k * H:(k + 1) * H]) for k in range(3))
                    c = f * c + i * jnp.tanh(every[:, 3 * H:])
                    return (o * jnp.tanh(c), c), ()

                (h, _), _ = lax.scan(cell, (zeros, zeros), X)
                return ((h - 0.5) ** 2).mean()

            slopes = jax.grad(cost)
            step = lambda ps: (jax.tree.map(lambda p, g: p - 0.01 * g, ps, slopes(ps)), ())
            stepped("lstm_training", at, step, (W, U, bias), 0)
    if b.wants("hmc"):
        for chains, size in b.sizes.chains:
            hmc(b, chains, size, stepped)
    if b.wants("while"):
        for n in b.sizes.loop:
            start = jnp.full(n, 1.5 * 2.0**99, jnp.float32)
            f = jax.jit(lambda x: lax.while_loop(lambda x: x.max() > 1, lambda x: x * 0.5, x))
            b.time("while", f"n={n} iterations=100", "while_loop", lambda: kept(lambda: f(start)), sync)


def hmc(b, chains, size, stepped):
    """A step of Hybrid Monte Carlo."""
    root = jnp.asarray(b.normal(size, size, scale=0.05))
    precision = root @ root.T + jnp.eye(size)
    energy = lambda x: ((x @ precision) * x).sum(1) * 0.5
    slope = jax.grad(lambda x: energy(x).sum())

    def step(carried):
        x, key = carried
        key, first, second = jax.random.split(key, 3)
        velocity = jax.random.normal(first, x.shape)

        def leap(_, state):
            x, v = state
            x = x + 0.1 * v
            return x, v - 0.1 * slope(x)

        moved, v = lax.fori_loop(0, 20, leap, (x, velocity - 0.05 * slope(x)))
        v = v + 0.05 * slope(moved)
        whole = lambda x, v: energy(x) + (v * v).sum(1) * 0.5
        change = whole(x, velocity) - whole(moved, v)
        accepted = jax.random.uniform(second, (chains,)) < jnp.exp(change)
        return (jnp.where(accepted[:, None], moved, x), key), ()

    start = (jnp.asarray(b.normal(chains, size)), jax.random.key(51))
    stepped("hmc", f"chains={chains} size={size} leaps=20", step, start, 0)


def lenet(b, stepped, sync):
    """A step of LeNet on the batch that a counter names."""
    (data, labels), parameters = b.lenet()
    X, Y = jnp.asarray(data), jnp.asarray(labels)
    batches, batch = Y.shape

    def layer(x, w, bias):
        y = lax.conv_general_dilated(x, w, (1, 1), "VALID")
        n, c, height, width = y.shape
        # Adjacent windows: a maximum over axes has a far cheaper gradient than reduce_window.
        y = y.reshape(n, c, height // 2, 2, width // 2, 2).max((3, 5))
        return jnp.tanh(y + bias[:, None, None])

    def loss(p, x, y):
        features = layer(layer(x, p[0], p[1]), p[2], p[3]).reshape(batch, -1)
        lp = jax.nn.log_softmax(jnp.tanh(features @ p[4] + p[5]) @ p[6] + p[7])
        return -lp[jnp.arange(batch), y].mean()

    def step(state):
        p, at = state
        x, y = (lax.dynamic_index_in_dim(array, at, keepdims=False) for array in (X, Y))
        cost, g = jax.value_and_grad(loss)(p, x, y)
        return (tuple(u - 0.1 * v for u, v in zip(p, g)), (at + 1) % batches), cost

    state = tuple(map(jnp.asarray, parameters)), jnp.zeros((), "int32")
    # On the CPU XLA's convolutions are ten times slower within a loop.
    stepped("lenet", f"B={batch}", step, state, 100 if b.large else 0)

    def single():
        f, current = jax.jit(step, donate_argnums=0), [jax.tree.map(jnp.array, state)]

        def call():
            current[0], cost = f(current[0])
            return float(cost)

        return call

    b.time("lenet", f"call B={batch}", "jit, donated", single, sync)
