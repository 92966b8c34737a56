"""JAX on the programs of `programs_data.py`: pure functions, and how they and the steps of
`programs_jax_steps.py` are timed. Steps are donated calls, and a loop on the device."""
import jax
import jax.numpy as jnp
from jax import lax

from programs_jax_steps import way


def run(b):
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

    def pure(name, variant, label, f, inputs):
        arrays, f = [jnp.asarray(x) for x in inputs], jax.jit(f)
        b.time(name, variant, f"jit{label}", lambda: kept(lambda: f(*arrays)), sync)

    def step(name, variant, label, f, state, inputs):
        arrays, loops = [jnp.asarray(x) for x in inputs], 100 if b.large else 10

        def calls(f):
            f, current = jax.jit(f, donate_argnums=0), [jax.tree.map(jnp.array, state)]

            def call():
                current[0] = f(current[0], *arrays)
                return current[0]

            return kept(call)

        many = lambda state, *arrays: lax.fori_loop(0, loops, lambda i, state: f(state, *arrays), state)
        b.time(name, variant, f"jit, donated{label}", lambda: calls(f), sync)
        b.time(name, variant, f"fori_loop of {loops}{label}", lambda: calls(many), sync, steps=loops)

    way.measure(b, pure, step)


@way("hash_popcount")
def hash_popcount(x, native=False):
    u = jnp.uint32
    for _ in range(3):
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        x = x ^ (x << 5)
    x = x * u(0x9E3779B1)
    h = x ^ (x >> 16)
    if native:
        p = lax.population_count(h)
    else:
        p = h - ((h >> 1) & u(0x55555555))
        p = (p & u(0x33333333)) + ((p >> 2) & u(0x33333333))
        p = (p + (p >> 4)) & u(0x0F0F0F0F)
        p = (p * u(0x01010101)) >> 24
    return h, p.astype(jnp.int32).reshape(-1, 1024).sum(1)


way("hash_popcount", ", population_count")(lambda x: hash_popcount(x, native=True))


@way("fft_radix2")
def fft_radix2(re, im, c, s):
    n = length = re.shape[0]
    while length > 1:
        stride = n // length
        (ar, br), (ai, bi) = (v.reshape(2, length // 2, stride) for v in (re, im))
        wr, wi = c[::stride][:, None], s[::stride][:, None]
        dr, di = ar - br, ai - bi
        re = jnp.stack([ar + br, dr * wr - di * wi], 1).reshape(n)
        im = jnp.stack([ai + bi, dr * wi + di * wr], 1).reshape(n)
        length //= 2
    return re, im


@way("bilateral7")
def bilateral7(image):
    padded, (height, width) = jnp.pad(image, 3, mode="edge"), image.shape
    weighted = total = 0
    for y in range(7):
        for x in range(7):
            shifted = padded[y : y + height, x : x + width]
            away = shifted - image
            weight = jnp.exp(-((y - 3) ** 2 + (x - 3) ** 2) / 8 - away * away * 12.5)
            weighted, total = weighted + weight * shifted, total + weight
    return weighted / total


@way("run_lengths")
def run_lengths(x, **order):
    starts = jnp.concatenate([jnp.ones(1, bool), x[1:] != x[:-1]])
    at = jnp.cumsum(starts, dtype=jnp.int32) - 1
    return jnp.full_like(x, -1).at[at].set(x, **order), jnp.zeros_like(x).at[at].add(1, **order), at[-1] + 1


way("run_lengths", ", sorted")(lambda x: run_lengths(x, indices_are_sorted=True))


@way("segment_softmax")
def segment_softmax(v, ids, like, **order):
    e = jnp.exp(v - jax.ops.segment_max(v, ids, like.shape[0], **order)[ids])
    return e / jax.ops.segment_sum(e, ids, like.shape[0], **order)[ids]


way("segment_softmax", ", sorted")(lambda *arrays: segment_softmax(*arrays, indices_are_sorted=True))


@way("xent_smooth")
def xent_smooth(z, y):
    def loss(z):
        l = jax.nn.log_softmax(z)
        return (-0.9 * jnp.take_along_axis(l, y[:, None], 1)[:, 0] - 0.1 * l.mean(1)).mean()

    return jax.value_and_grad(loss)(z)


@way("moe_top2")
def moe_top2(x, g, first, second):
    values, chosen = lax.top_k(x @ g, 2)
    gate = (jax.nn.one_hot(chosen, g.shape[1]) * jax.nn.softmax(values)[:, :, None]).sum(1)
    h = jax.nn.silu(x @ first)
    return ((h * gate.T[:, :, None]) @ second).sum(0), gate


@way("gp_kernel_grad")
def gp_kernel_grad(x, scales, a):
    def form(scales):
        u = x / scales
        s = (u * u).sum(1)
        q = jnp.maximum(s[:, None] + s - 2 * u @ u.T, 0)
        r = jnp.sqrt(q + 1e-6)
        matern = (1 + 5**0.5 * r + 5 / 3 * r * r) * jnp.exp(-(5**0.5) * r)
        k = 0.7 * jnp.exp(-q / 2) + 0.3 * matern
        return a @ (k @ a), k

    slope, k = jax.grad(form, has_aux=True)(scales)
    return k, slope


@way("mc_asian_grad", ", unrolled")
def mc_asian_grad(theta, z, scans=False):
    def price(theta):
        start, sigma, r = theta
        drift, volatility = (r - sigma * sigma / 2) / 64, sigma / 8

        def advance(carried, z):
            s, total, alive = carried
            s = s * jnp.exp(drift + volatility * z)
            return (s, total + s, alive & (s < 140)), None

        paths = z.shape[1]
        carried = jnp.full(paths, start), jnp.zeros(paths), jnp.ones(paths, bool)
        if scans:
            carried = lax.scan(advance, carried, z)[0]
        else:
            for t in range(64):
                carried = advance(carried, z[t])[0]
        _, total, alive = carried
        return jnp.exp(-r) * jnp.where(alive, jax.nn.relu(total / 64 - 100), 0).mean()

    return jax.value_and_grad(price)(theta)


way("mc_asian_grad", ", scan")(lambda theta, z: mc_asian_grad(theta, z, scans=True))


@way("quantile_norm", ", scatter")
def quantile_norm(x):
    order = jnp.argsort(x, 1)
    mean = jnp.take_along_axis(x, order, 1).mean(0)
    return jnp.empty_like(x).at[jnp.arange(x.shape[0])[:, None], order].set(mean)


@way("quantile_norm", ", argsort twice")
def quantile_norm_by_ranks(x):
    order = jnp.argsort(x, 1)
    return jnp.take_along_axis(x, order, 1).mean(0)[jnp.argsort(order, 1)]


@way("black_scholes")
def black_scholes(price, strike, time):
    below = lambda x: 0.5 * (1 + lax.erf(x / 2**0.5))
    d1 = (jnp.log(price / strike) + (0.02 + 0.045) * time) / (0.3 * jnp.sqrt(time))
    return price * below(d1) - strike * jnp.exp(-0.02 * time) * below(d1 - 0.3 * jnp.sqrt(time))


@way("mandelbrot")
def mandelbrot(c):
    def iterate(i, carried):
        a, b, count = carried
        a, b = a * a - b * b + c[0], 2 * a * b + c[1]
        return a, b, count + (a * a + b * b < 4)

    zeros = jnp.zeros_like(c[0])
    return lax.fori_loop(0, 30, iterate, (zeros, zeros, zeros))[2]


way("embedding_gather")(lambda w, at: w[at])


@way("layernorm")
def layernorm(x, g, bias):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + bias


way("attention")(lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2) * 0.125, -1) @ v)
way("batched_small_matmul")(jnp.matmul)
# XLA takes minutes to compile pairwise_dist, so it has no way here.


@way("row_normalize_bcast")
def row_normalize_bcast(x, v):
    return (x - x.max(1, keepdims=True)) * v + x.std(0, ddof=1, keepdims=True)


way("conv5x5")(lambda x, w: lax.conv(x, w, (1, 1), "VALID"))
