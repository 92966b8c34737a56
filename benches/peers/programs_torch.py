"""PyTorch on the programs of `programs_data.py`: pure functions, and how they and the steps of
`programs_torch_steps.py` are timed: eager, captured in a CUDA graph, and compiled and then captured."""
import numpy as np
import torch
import torch.nn.functional as F

from programs_data import PROGRAMS
from programs_torch_steps import way

# Steps in a graph, so that the copy of the last state into the first is a small part.
STEPS = 10


def on(x):
    """An array on the GPU. PyTorch has few functions of uint32: these arrays are int32 of the same bits."""
    return torch.as_tensor(x.view("i4") if x.dtype == np.uint32 else x, device="cuda")


def run(b, captured):
    sync = torch.cuda.synchronize

    def clear():
        captured.kept.clear()
        torch.compiler.reset()

    def pure(name, variant, label, f, inputs, captures=True):
        arrays = [on(x) for x in inputs]
        b.time(name, variant, f"eager{label}", lambda: lambda: f(*arrays), sync)
        if captures:
            b.time(name, variant, f"cudagraph{label}", lambda: captured(lambda: f(*arrays)), sync)
        if captures and b.compile:
            compiled = torch.compile(f, dynamic=False)
            make = lambda: captured(lambda: compiled(*arrays))
            b.time(name, variant, f"compile, cudagraph{label}", make, sync)
        clear()

    def step(name, variant, label, f, state, inputs):
        arrays = [on(x) for x in inputs]

        def single():
            current = [tuple(map(on, state))]

            def call():
                current[0] = f(current[0], *arrays)

            return call

        def many(f):
            held = tuple(map(on, state))

            def call():
                current = held
                for _ in range(STEPS):
                    current = f(current, *arrays)
                for old, new in zip(held, current):
                    if old is not new:
                        old.copy_(new)
                # A graph does not own what was allocated before: its result is kept with it.
                return held

            return captured(call)

        b.time(name, variant, f"eager{label}", single, sync)
        b.time(name, variant, f"cudagraph of {STEPS}{label}", lambda: many(f), sync, steps=STEPS)
        if b.compile:
            compiled = torch.compile(f, dynamic=False)
            form = f"compile, cudagraph of {STEPS}{label}"
            b.time(name, variant, form, lambda: many(compiled), sync, steps=STEPS)
        clear()

    way.measure(b, pure, step)
    if b.wants("adam_mlp"):
        adam_mlp(b, captured)
        clear()


def adam_mlp(b, captured):
    """Steps of PyTorch's own optimizer, which has one kernel for all weights."""
    program = PROGRAMS["adam_mlp"]
    (weights, *_), inputs = program.draw(b, **program.sizes(b.large))
    (variant,), (x, y) = program.variants(b.large), map(on, inputs)

    def steps(compiles):
        p = [on(w).requires_grad_() for w in weights]
        optimizer = torch.optim.Adam(p, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, fused=True, capturable=True)

        def cost(x, y):
            h = torch.relu(x @ p[0] + p[1])
            h = torch.relu(h @ p[2] + p[3])
            return F.cross_entropy(h @ p[4] + p[5], y)

        f = torch.compile(cost) if compiles else cost

        def step():
            optimizer.zero_grad(set_to_none=True)
            f(x, y).backward()
            optimizer.step()
            # Kept with the graph, as above.
            return p, optimizer

        return step

    sync = torch.cuda.synchronize
    b.time("adam_mlp", variant, "eager, fused Adam", lambda: steps(False), sync)
    b.time("adam_mlp", variant, "cudagraph, fused Adam", lambda: captured(steps(False)), sync)
    if b.compile:
        b.time("adam_mlp", variant, "compile, cudagraph, fused Adam", lambda: captured(steps(True)), sync)


def shifted(x, bits):
    """A logical shift to the right of int32."""
    return (x >> bits) & ((1 << 32 - bits) - 1)


@way("hash_popcount")
def hash_popcount(x):
    for _ in range(3):
        x = x ^ (x << 13)
        x = x ^ shifted(x, 17)
        x = x ^ (x << 5)
    x = x * (0x9E3779B1 - (1 << 32))
    h = x ^ shifted(x, 16)
    p = h - (shifted(h, 1) & 0x55555555)
    p = (p & 0x33333333) + (shifted(p, 2) & 0x33333333)
    p = (p + shifted(p, 4)) & 0x0F0F0F0F
    return h, shifted(p * 0x01010101, 24).reshape(-1, 1024).sum(1, dtype=torch.int32)


@way("fft_radix2")
def fft_radix2(re, im, c, s):
    n = length = re.shape[0]
    while length > 1:
        stride = n // length
        (ar, br), (ai, bi) = (v.reshape(2, length // 2, stride) for v in (re, im))
        wr, wi = c[::stride][:, None], s[::stride][:, None]
        dr, di = ar - br, ai - bi
        re = torch.stack([ar + br, dr * wr - di * wi], 1).reshape(n)
        im = torch.stack([ai + bi, dr * wi + di * wr], 1).reshape(n)
        length //= 2
    return re, im


@way("bilateral7")
def bilateral7(image):
    padded, (height, width) = F.pad(image[None, None], (3, 3, 3, 3), mode="replicate")[0, 0], image.shape
    weighted = total = 0
    for y in range(7):
        for x in range(7):
            part = padded[y : y + height, x : x + width]
            away = part - image
            weight = torch.exp(-((y - 3) ** 2 + (x - 3) ** 2) / 8 - away * away * 12.5)
            weighted, total = weighted + weight * part, total + weight
    return weighted / total


@way("run_lengths")
def run_lengths(x):
    starts = torch.cat([torch.ones_like(x[:1], dtype=torch.bool), x[1:] != x[:-1]])
    at = torch.cumsum(starts, 0) - 1
    lengths = torch.zeros_like(x).index_add(0, at, torch.ones_like(x))
    return torch.full_like(x, -1).scatter(0, at, x), lengths, at[-1].int() + 1


# It waits for the device, since its extents are data, so it cannot be captured.
@way("run_lengths", ", unique_consecutive", captures=False)
def run_lengths_by_unique(x):
    found, counts = torch.unique_consecutive(x, return_counts=True)
    symbols, lengths = torch.full_like(x, -1), torch.zeros_like(x)
    symbols[: len(found)], lengths[: len(found)] = found, counts
    return symbols, lengths, torch.tensor(len(found), dtype=torch.int32)


@way("segment_softmax")
def segment_softmax(v, ids, like):
    e = torch.exp(v - torch.full_like(like, -float("inf")).scatter_reduce(0, ids, v, "amax")[ids])
    return e / torch.zeros_like(like).index_add(0, ids, e)[ids]


@way("xent_smooth")
def xent_smooth(z, y):
    slope, loss = torch.func.grad_and_value(lambda z: F.cross_entropy(z, y, label_smoothing=0.1))(z)
    return loss, slope


@way("moe_top2")
def moe_top2(x, g, first, second):
    values, chosen = (x @ g).topk(2, 1)
    gate = torch.zeros(x.shape[0], g.shape[1], device=x.device).scatter(1, chosen, torch.softmax(values, 1))
    h = F.silu(x @ first)
    return ((h * gate.T[:, :, None]) @ second).sum(0), gate


@way("gp_kernel_grad")
def gp_kernel_grad(x, scales, a):
    def form(scales):
        u = x / scales
        s = (u * u).sum(1)
        q = (s[:, None] + s - 2 * u @ u.T).clamp(min=0)
        r = torch.sqrt(q + 1e-6)
        matern = (1 + 5**0.5 * r + 5 / 3 * r * r) * torch.exp(-(5**0.5) * r)
        k = 0.7 * torch.exp(-q / 2) + 0.3 * matern
        return a @ (k @ a), k

    slope, k = torch.func.grad(form, has_aux=True)(scales)
    return k, slope


@way("mc_asian_grad")
def mc_asian_grad(theta, z):
    def price(theta):
        start, sigma, r = theta[0], theta[1], theta[2]
        drift, volatility = (r - sigma * sigma / 2) / 64, sigma / 8
        s, total, alive = start.expand(z.shape[1]), 0, True
        for t in range(64):
            s = s * torch.exp(drift + volatility * z[t])
            total, alive = total + s, (s < 140) & alive
        return torch.exp(-r) * torch.where(alive, torch.relu(total / 64 - 100), 0.0).mean()

    slope, value = torch.func.grad_and_value(price)(theta)
    return value, slope


@way("quantile_norm", ", scatter")
def quantile_norm(x):
    values, order = torch.sort(x, stable=True, dim=1)
    return torch.empty_like(x).scatter(1, order, values.mean(0).expand_as(x))


@way("quantile_norm", ", argsort twice")
def quantile_norm_by_ranks(x):
    values, order = torch.sort(x, stable=True, dim=1)
    return values.mean(0)[order.argsort(1)]


@way("black_scholes")
def black_scholes(price, strike, time):
    below = lambda x: 0.5 * (1 + torch.erf(x / 2**0.5))
    d1 = (torch.log(price / strike) + (0.02 + 0.045) * time) / (0.3 * torch.sqrt(time))
    return price * below(d1) - strike * torch.exp(-0.02 * time) * below(d1 - 0.3 * torch.sqrt(time))


@way("mandelbrot")
def mandelbrot(c):
    a = b = count = torch.zeros_like(c[0])
    for _ in range(30):
        a, b = a * a - b * b + c[0], 2 * a * b + c[1]
        count = count + (a * a + b * b < 4)
    return count


way("embedding_gather")(lambda w, at: w[at])
way("layernorm")(lambda x, g, bias: F.layer_norm(x, g.shape, g, bias))
way("attention")(lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v)
way("batched_small_matmul")(torch.matmul)
way("pairwise_dist")(lambda x, y: ((x[:, None] - y) ** 2).sum(-1))
way("conv5x5")(lambda x, w: F.conv2d(x, w))


@way("row_normalize_bcast")
def row_normalize_bcast(x, v):
    return (x - x.amax(1, keepdim=True)) * v + x.std(0, keepdim=True)
