"""PyTorch on the GPU: eager, captured in a CUDA graph, and compiled and then captured."""
import numpy as np
import torch
import torch.nn.functional as F

import programs_torch

torch.set_float32_matmul_precision("highest")
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
# cuDNN times its algorithms for each convolution and selects the fastest.
torch.backends.cudnn.benchmark = True


def version(b):
    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no CUDA device")
    return f"{torch.__version__}, CUDA {torch.version.cuda}"


def captured(f):
    """`f` in a CUDA graph; its replay is the call."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            f()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = f()
    captured.kept.append((graph, result))
    return graph.replay


captured.kept = []


def run(b):
    s = b.sizes
    sync = torch.cuda.synchronize
    dev = "cuda"
    on = lambda value: torch.as_tensor(value, device=dev)

    def forms(work, variant, f, compiles):
        """Eager, as a graph, and compiled as a graph."""
        b.time(work, variant, "eager", lambda: f, sync)
        b.time(work, variant, "cudagraph", lambda: captured(f), sync)
        if b.compile and compiles:
            compiled = lambda: torch.compile(f, mode="max-autotune-no-cudagraphs")
            b.time(work, variant, "compile, cudagraph", lambda: captured(compiled()), sync)
        captured.kept.clear()
        torch.compiler.reset()

    if b.wants("trivial"):
        x = torch.ones((), device=dev)
        b.time("trivial", "call", "eager", lambda: lambda: (x + 1).item(), sync)
    if b.wants("exp_ladder"):
        for n in s.exp:
            x = on(b.normal(n))
            name = lambda rung: s.exp_name(rung, n)
            b.time("exp_ladder", name("host_result"), "eager, cpu()", lambda: lambda: torch.exp(x).cpu(), sync)

            def pinned(fresh, graph):
                host = torch.empty(n, pin_memory=True)
                out = torch.empty_like(x)
                f = (lambda: torch.exp(x, out=out)) if not graph else captured(lambda: torch.exp(x, out=out))

                def call():
                    f()
                    target = torch.empty(n, pin_memory=True) if fresh else host
                    target.copy_(out, non_blocking=True)
                    torch.cuda.current_stream().synchronize()

                return call

            b.time("exp_ladder", name("host_result"), "eager, pinned fresh", lambda: pinned(True, False), sync)
            b.time("exp_ladder", name("host_result"), "eager, pinned reused", lambda: pinned(False, False), sync)
            b.time("exp_ladder", name("host_result"), "cudagraph, pinned fresh", lambda: pinned(True, True), sync)
            b.time("exp_ladder", name("device_result"), "eager", lambda: lambda: torch.exp(x), sync)
            if n == s.exp[0]:
                out = torch.empty_like(x)
                b.time("exp_ladder", "copied", "eager, out=", lambda: lambda: torch.exp(x, out=out), sync)
                b.time("exp_ladder", "borrowed", "cudagraph", lambda: captured(lambda: torch.exp(x)), sync)
            captured.kept.clear()
    if b.wants("fused_elemwise"):
        f = lambda a, b, c: torch.tanh(a * b + 1.5) * torch.exp(-c) + a / (1 + b * b)
        for n in s.fused:
            xs = [torch.randn(n, device=dev) for _ in range(3)]
            compiled = torch.compile(f)
            b.time("fused_elemwise", f"n={n}", "compile", lambda: lambda: compiled(*xs), sync)
            b.time("fused_elemwise", f"n={n}", "compile, cudagraph", lambda: captured(lambda: compiled(*xs)), sync)
            captured.kept.clear()
            torch.compiler.reset()
    if b.wants("softmax"):
        for rows, columns in s.rows:
            x = torch.randn(rows, columns, device=dev)
            f = lambda: torch.softmax(x, -1)
            b.time("softmax", f"{rows}x{columns}", "eager", lambda: f, sync)
            compiled = torch.compile(lambda x: torch.softmax(x, -1))
            b.time("softmax", f"{rows}x{columns}", "compile", lambda: lambda: compiled(x), sync)
            torch.compiler.reset()
    if b.wants("reduce"):
        for rows, columns in s.rows:
            x = torch.randn(rows, columns, device=dev)
            for axis in (None, 0, 1):
                variant = f"sum axis={'none' if axis is None else axis} {rows}x{columns}"
                f = x.sum if axis is None else lambda: x.sum(axis)
                b.time("reduce", variant, "eager", lambda: f, sync)
                if b.compile:
                    compiled = torch.compile(lambda x: x.sum() if axis is None else x.sum(axis))
                    b.time("reduce", variant, "compile", lambda: lambda: compiled(x), sync)
                    torch.compiler.reset()
    if b.wants("gemm"):
        for n in s.gemm:
            for dtype in s.gemm_dtypes:
                x, y = (torch.randn(n, n, device=dev, dtype=getattr(torch, dtype)) for _ in range(2))
                b.time("gemm", f"n={n} {dtype}", "eager", lambda: lambda: x @ y, sync)
                out = torch.empty_like(x)
                b.time("gemm", f"n={n} {dtype}", "cudagraph", lambda: captured(lambda: torch.mm(x, y, out=out)), sync)
                captured.kept.clear()
    if b.wants("logreg"):
        for n, d in s.logreg:
            X, Y = on(b.normal(n, d)), on(b.labels(n, 2)).float()
            w, bias = on(b.normal(d, scale=0.05)), torch.zeros((), device=dev)

            def step():
                with torch.enable_grad():
                    w_, b_ = w.detach().requires_grad_(), bias.detach().requires_grad_()
                    p = torch.sigmoid(X @ w_ + b_)
                    xent = -Y * torch.log(p) - (1 - Y) * torch.log(1 - p)
                    cost = xent.mean() + 0.01 * (w_**2).sum()
                    gw, gb = torch.autograd.grad(cost, (w_, b_))
                w.sub_(0.1 * gw)
                bias.sub_(0.1 * gb)
                return p > 0.5, xent

            forms("logreg", f"{n}x{d}", step, True)
    if b.wants("mlp"):
        for batch in s.mlp:
            W1, b1 = on(b.normal(784, 500, scale=0.05)), torch.zeros(500, device=dev)
            W2, b2 = on(b.normal(500, 10, scale=0.05)), torch.zeros(10, device=dev)
            X, Y = on(b.normal(batch, 784)), on(b.labels(batch, 10))
            rows = torch.arange(batch, device=dev)

            def step():
                with torch.enable_grad():
                    ps = [p.detach().requires_grad_() for p in (W1, b1, W2, b2)]
                    lp = torch.log_softmax(torch.tanh(X @ ps[0] + ps[1]) @ ps[2] + ps[3], -1)
                    cost = -lp[rows, Y].mean() + 1e-4 * ((ps[0] ** 2).sum() + (ps[2] ** 2).sum())
                    gs = torch.autograd.grad(cost, ps)
                for p, g in zip((W1, b1, W2, b2), gs):
                    p.sub_(0.01 * g)
                return cost

            forms("mlp", f"B={batch}", step, True)
    if b.wants("lenet"):
        lenet(b, forms, sync)

    def conv(variant, role, x, w, bias, stride, padding):
        x, w, bias = map(on, (x, w, bias))
        forward = lambda x, w: F.conv2d(x, w, None, stride, padding)

        def gradient(which):
            with torch.enable_grad():
                factors = [x.detach(), w.detach()]
                factors[which].requires_grad_()
                y = forward(*factors)
                # The gradient of (y ** 2).sum(), without the sum.
                return torch.autograd.grad(y, factors[which], 2 * y.detach())[0]

        f = {
            "forward": lambda: forward(x, w),
            "forward_bias_relu": lambda: F.relu(F.conv2d(x, w, bias, stride, padding)),
            "input_gradient": lambda: gradient(0),
            "filter_gradient": lambda: gradient(1),
        }[role]
        forms("conv", variant, f, role == "forward_bias_relu")

    b.conv(conv)
    if b.wants("lif"):
        for n in s.lif:
            enc, dec = on(b.normal(n, 2)), on(b.normal(2, n, scale=1 / n))
            bias, inp = on(b.normal(n)), on(b.normal(2))
            v, ref, x = torch.zeros(n, device=dev), torch.zeros(n, device=dev), torch.zeros(2, device=dev)
            dt, tau_rc, tau_ref, tau_syn = 1e-3, 0.02, 0.002, 0.1

            def step():
                J = torch.mv(enc, x + inp) + bias
                delta = torch.clamp(dt - ref, 0, dt)
                vn = v - (J - v) * torch.expm1(-delta / tau_rc)
                spikes = (vn > 1).float() / dt
                t = dt + tau_rc * torch.log1p(-(vn - 1) / (J - 1))
                ref.copy_(torch.where(spikes > 0, tau_ref + t, ref - dt))
                v.copy_(torch.where(spikes > 0, 0.0, torch.clamp(vn, min=0)))
                x.add_((dt / tau_syn) * (torch.mv(dec, spikes) - x))

            forms("lif", f"n={n}", step, True)
    if b.wants("heat"):
        for n in s.heat:
            decay, u = on(b.heat_decay(n)), on(b.normal(n, n))

            def heat():
                u.copy_(torch.fft.irfft2(torch.fft.rfft2(u) * decay, s=(n, n)))

            forms("heat", f"n={n}", heat, True)
    if b.wants("rnn"):
        for T, B, H in s.rnn:
            Wx, Wh, X = on(b.normal(H, H, scale=0.05)), on(b.normal(H, H, scale=0.05)), on(b.normal(T, B, H))

            def rnn():
                h, hs = torch.zeros(B, H, device=dev), []
                xw = X @ Wx
                for t in range(T):
                    h = torch.tanh(xw[t] + h @ Wh)
                    hs.append(h)
                return torch.stack(hs)

            # Compiling a hundred unrolled steps takes minutes.
            forms("rnn", f"T={T} B={B} H={H}", rnn, False)
    recurrent(b, forms, on)

    def dense(name, variant, arrays, at):
        x, *more = map(on, arrays)
        at = on(at) if isinstance(at, np.ndarray) else at
        f = {
            "middle_sum": lambda: x.sum(1),
            "transpose_add": lambda: x.T + more[0],
            "take": lambda: x.index_select(0, at),
            "scatter_add": lambda: x.index_add_(0, at, more[0]),
            "cumsum": lambda: x.cumsum(at),
            "sort": lambda: torch.sort(x, -1),
            "argmax": lambda: x.argmax(1),
        }[name]
        b.time(name, variant, "eager", lambda: f, sync)
        if name == "transpose_add":
            compiled = torch.compile(lambda x, y: x.T + y)
            b.time(name, variant, "compile", lambda: lambda: compiled(x, more[0]), sync)
            torch.compiler.reset()
        if name == "scatter_add":

            def same():
                torch.use_deterministic_algorithms(True)
                return f

            b.time(name, variant, "eager, deterministic", same, sync)
            torch.use_deterministic_algorithms(False)

    b.dense(dense)
    programs_torch.run(b, captured)
    if b.wants("kernels"):
        n = 1 << 26
        x, y = torch.ones(n, device=dev), torch.empty(n, device=dev)
        b.time("kernels", f"scan n={n}", "cumsum", lambda: lambda: torch.cumsum(x, 0, out=y), sync)
        fused = torch.compile(lambda x: 0.5 * x * x + 1)
        b.time("kernels", f"elementwise n={n}", "compile", lambda: lambda: fused(x), sync)
        torch.compiler.reset()
    if b.wants("limits"):
        limits(b, sync)


def recurrent(b, forms, on):
    """Recurrent networks step by step in a CUDA graph, and by cuDNN, which has biases too."""
    for T, B, H in b.sizes.rnn:
        at, X = f"T={T} B={B} H={H}", on(b.normal(T, B, H))

        def weights(gates):
            return [on(b.normal(H, gates * H, scale=0.05)) for _ in range(2)]

        def plain(W, U):
            h, states, rows = torch.zeros(B, H, device=X.device), [], X @ W
            for t in range(T):
                h = torch.tanh(rows[t] + h @ U)
                states.append(h)
            return torch.stack(states)

        def gru(W, U):
            h, states, rows = torch.zeros(B, H, device=X.device), [], X @ W
            for t in range(T):
                past = h @ U
                keep, reset = torch.sigmoid(rows[t][:, :2 * H] + past[:, :2 * H]).chunk(2, 1)
                new = torch.tanh(rows[t][:, 2 * H:] + reset * past[:, 2 * H:])
                h = new + keep * (h - new)
                states.append(h)
            return torch.stack(states)

        def lstm(W, U):
            h, states, rows = torch.zeros(B, H, device=X.device), [], X @ W
            c = h
            for t in range(T):
                every = rows[t] + h @ U
                i, f, o = torch.sigmoid(every[:, :3 * H]).chunk(3, 1)
                c = f * c + i * torch.tanh(every[:, 3 * H:])
                h = o * torch.tanh(c)
                states.append(h)
            return torch.stack(states)

        cudnn = {"scan_rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}
        for name, f, gates in [("scan_rnn", plain, 1), ("gru", gru, 3), ("lstm", lstm, 4)]:
            if b.wants(name):
                W, U = weights(gates)
                forms(name, at, lambda: f(W, U), False)
                net = cudnn[name](H, H).to(X.device)
                with torch.no_grad():
                    b.time(name, at, "cuDNN", lambda: lambda: net(X), torch.cuda.synchronize)
        if b.wants("scan_gradient"):
            W, U = weights(1)
            U.requires_grad_(True)

            def slope():
                return torch.autograd.grad((plain(W, U) ** 2).sum(), U)

            forms("scan_gradient", at, slope, False)
        if b.wants("lstm_training"):
            lstm_training(b, forms, X, on)
    if b.wants("hmc"):
        for chains, size in b.sizes.chains:
            hmc(b, forms, on, chains, size)


def lstm_training(b, forms, X, on):
    """A step of gradient descent, by steps in a CUDA graph and by cuDNN."""
    T, B, H = X.shape
    at = f"T={T} B={B} H={H}"
    W, U = (on(b.normal(H, 4 * H, scale=0.05)).requires_grad_() for _ in range(2))
    bias = torch.zeros(4 * H, device=X.device, requires_grad=True)
    net = torch.nn.LSTM(H, H).to(X.device)

    def descend(last, weights):
        slopes = torch.autograd.grad(((last - 0.5) ** 2).mean(), weights)
        with torch.no_grad():
            torch._foreach_add_(weights, slopes, alpha=-0.01)

    def step():
        h = c = torch.zeros(B, H, device=X.device)
        rows = X @ W + bias
        for t in range(T):
            every = rows[t] + h @ U
            i, f, o = torch.sigmoid(every[:, :3 * H]).chunk(3, 1)
            c = f * c + i * torch.tanh(every[:, 3 * H:])
            h = o * torch.tanh(c)
        descend(h, [W, U, bias])

    with torch.enable_grad():
        forms("lstm_training", at, step, False)
        weights = list(net.parameters())
        b.time("lstm_training", at, "cuDNN", lambda: lambda: descend(net(X)[0][-1], weights), torch.cuda.synchronize)


def hmc(b, forms, on, chains, size):
    """A step of Hybrid Monte Carlo, with the gradient written out, which is cheaper than autograd."""
    root = on(b.normal(size, size, scale=0.05))
    precision = root @ root.T + torch.eye(size, device=root.device)
    x = on(b.normal(chains, size))
    energy = lambda x: ((x @ precision) * x).sum(1) * 0.5

    def step():
        velocity = torch.randn_like(x)
        moved, v = x, velocity - 0.05 * (x @ precision)
        for _ in range(20):
            moved = moved + 0.1 * v
            v = v - 0.1 * (moved @ precision)
        v = v + 0.05 * (moved @ precision)
        whole = lambda x, v: energy(x) + (v * v).sum(1) * 0.5
        change = whole(x, velocity) - whole(moved, v)
        accepted = torch.rand(chains, device=x.device) < torch.exp(change)
        x.copy_(torch.where(accepted[:, None], moved, x))

    forms("hmc", f"chains={chains} size={size} leaps=20", step, False)


def lenet(b, forms, sync):
    """A step of LeNet on the batch that a counter names."""
    (data, labels), parameters = b.lenet()
    X, Y = (torch.as_tensor(array, device="cuda") for array in (data, labels))
    parameters = [torch.as_tensor(p, device="cuda") for p in parameters]
    batches, batch = labels.shape
    at = torch.zeros(1, dtype=torch.int64, device="cuda")

    def layer(x, w, bias):
        return torch.tanh(F.max_pool2d(F.conv2d(x, w), 2) + bias[:, None, None])

    def step():
        # The counter is on the device, so that a graph can be replayed.
        x, y = X.index_select(0, at)[0], Y.index_select(0, at)[0]
        with torch.enable_grad():
            ps = [p.detach().requires_grad_() for p in parameters]
            features = layer(layer(x, ps[0], ps[1]), ps[2], ps[3]).flatten(1)
            scores = torch.tanh(features @ ps[4] + ps[5]) @ ps[6] + ps[7]
            cost = F.cross_entropy(scores, y)
            gs = torch.autograd.grad(cost, ps)
        torch._foreach_add_(parameters, gs, alpha=-0.1)
        at.add_(1).remainder_(batches)
        return cost.detach()

    def single():
        replay = captured(step)
        cost = captured.kept[-1][1]

        def call():
            replay()
            return cost.item()

        return call

    b.time("lenet", f"call B={batch}", "eager", lambda: lambda: step().item(), sync)
    b.time("lenet", f"call B={batch}", "cudagraph", single, sync)
    forms("lenet", f"B={batch}", step, True)


def limits(b, sync):
    """The limits of the GPU: bandwidth, and the rates of matrix products at their best size."""
    x = torch.empty(1 << 28, device="cuda")
    y = torch.empty_like(x)
    b.time("limits", f"copy bytes={2 * 4 * (1 << 28)}", "device", lambda: lambda: y.copy_(x), sync)
    host = torch.empty(1 << 26, pin_memory=True)
    copy = lambda: host.copy_(x[: 1 << 26], non_blocking=True)
    b.time("limits", f"to host bytes={4 * (1 << 26)}", "pinned", lambda: copy, sync)
    one = torch.zeros((), device="cuda")
    b.time("limits", "launch", "cudagraph of one kernel", lambda: captured(lambda: one.add_(1)), sync)
    captured.kept.clear()
    n = 8192
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        p, q = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
        b.time("limits", f"{str(dtype)[6:]} flops={2 * n**3}", "matmul", lambda: lambda: p @ q, sync)
