"""JAX on the steps of `programs_data.py`: each function maps a state and inputs to the next state."""
import math

import jax
import jax.numpy as jnp
from jax import lax

from programs_data import OPPOSITE, VELOCITIES, Ways, equilibrium

way = Ways()


def neighbours(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)


@way("ising")
def ising(state):
    s, x = state
    x = x ^ (x << 13)
    x = x ^ (x >> 17)
    x = x ^ (x << 5)
    u = (x >> 8).astype(jnp.float32) * 2**-24
    i = jnp.arange(s.shape[0])
    colours = (i[:, None] + i) % 2
    for colour in (0, 1):
        flips = u < jnp.exp(-0.88 * (s * neighbours(s)).astype(jnp.float32))
        s = jnp.where((colours == colour) & flips, -s, s)
    return s, x


@way("lbm_d2q9")
def lbm_d2q9(state, solid):
    (f,) = state
    g = [jnp.roll(f[k], VELOCITIES[k], (0, 1)) if k else f[0] for k in range(9)]
    density = sum(g[1:], g[0])
    u = (g[1] - g[3] + g[5] - g[6] - g[7] + g[8]) / density
    v = (g[2] - g[4] + g[5] + g[6] - g[7] - g[8]) / density
    rest = equilibrium(density, u, v)
    moved = [jnp.where(solid, g[OPPOSITE[k]], g[k] - 1.7 * (g[k] - rest[k])) for k in range(9)]
    return (jnp.stack(moved),)


@way("adagrad_embed")
def adagrad_embed(state, at, y):
    w, squares, t = state
    k = at[t[0] % 16]
    slope = w[k] - y
    squares = squares.at[k].add(slope * slope)
    return w.at[k].add(-0.05 * slope / jnp.sqrt(squares[k] + 1e-8)), squares, t + 1


@way("lorenz_rk4")
def lorenz_rk4(state, rho):
    slope = lambda x, y, z: (10 * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z)
    along = lambda h, k: tuple(a + h * b for a, b in zip(state, k))
    dt = 0.01
    k1 = slope(*state)
    k2 = slope(*along(dt / 2, k1))
    k3 = slope(*along(dt / 2, k2))
    k4 = slope(*along(dt, k3))
    return along(dt / 6, [p + 2 * q + 2 * r + s for p, q, r, s in zip(k1, k2, k3, k4)])


@way("pic1d")
def pic1d(state, like):
    (x, v), cells = state, like.shape[0]
    below = jnp.floor(x)
    w, i = x - below, below.astype(jnp.int32) % cells
    j = (i + 1) % cells
    charge = jnp.zeros_like(like).at[i].add(1 - w).at[j].add(w)
    field = jnp.cumsum(1 - charge * (cells / x.shape[0]))
    field = field - field.mean()
    v = v - 0.1 * ((1 - w) * field[i] + w * field[j])
    return jnp.mod(x + 0.1 * v, cells), v


@way("viterbi")
def viterbi(state, transition, emission, observed):
    scores, _, t = state
    paths = scores[:, :, None] + transition
    scores = paths.max(1) + emission[:, observed[t[0] % 32]].T
    return scores - scores.max(1, keepdims=True), paths.argmax(1).astype(jnp.int32), t + 1


@way("lstm_step")
def lstm_step(state, xs, w, bias):
    h, c, t = state
    i, f, g, o = jnp.split(jnp.concatenate([xs[t[0] % 16], h], 1) @ w + bias, 4, 1)
    c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c, t + 1


@way("kalman")
def kalman(state, f, q, h, r, zs):
    x, p, t = state
    x, p = x @ f.T, f @ p @ f.T + q
    ph = p @ h.T
    s = h @ ph + r
    e = lambda i, j: s[:, i % 3, j % 3]
    minor = lambda i, j: e(i + 1, j + 1) * e(i + 2, j + 2) - e(i + 1, j + 2) * e(i + 2, j + 1)
    adjugate = jnp.stack([jnp.stack([minor(j, i) for j in range(3)], -1) for i in range(3)], -2)
    determinant = sum(e(0, j) * adjugate[:, j, 0] for j in range(3))
    gain = ph @ (adjugate / determinant[:, None, None])
    x = x + (gain @ (zs[t[0] % 16] - x @ h.T)[:, :, None])[:, :, 0]
    p = (jnp.eye(6) - gain @ h) @ p
    return x, (p + p.swapaxes(1, 2)) / 2, t + 1


@way("rbm_cd1")
def rbm_cd1(state, x, for_hidden, for_visible):
    w, a, c, t = state
    now = t[0] % 8
    p = jax.nn.sigmoid(x @ w + c)
    h = (for_hidden[now] < p).astype(jnp.float32)
    v = (for_visible[now] < jax.nn.sigmoid(h @ w.T + a)).astype(jnp.float32)
    r = jax.nn.sigmoid(v @ w + c)
    w = w + 0.05 / x.shape[0] * (x.T @ p - v.T @ r)
    return w, a + 0.05 * (x - v).mean(0), c + 0.05 * (p - r).mean(0), t + 1


@way("sinkhorn_log")
def sinkhorn_log(state, c, la, lb):
    f = 0.05 * (la - jax.nn.logsumexp((state[1] - c) / 0.05, 1))
    return f, 0.05 * (lb - jax.nn.logsumexp((f[:, None] - c) / 0.05, 0))


@way("heat2d", forms=("roll", "index_arrays"))
def heat2d(state):
    (u,) = state
    return (u + 0.1 * (neighbours(u) - 4 * u),)


@way("heat2d", forms=("slices",))
def heat2d_fixed_edges(state):
    (u,) = state
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return (u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1])),)


@way("nbody")
def nbody(state, mass):
    x, v = state
    middle = x + 5e-4 * v
    away = [m - m[:, None] for m in middle]
    square = sum(d * d for d in away) + 1e-2
    pull = mass / (square * jnp.sqrt(square))
    v = v + 1e-3 * jnp.stack([(pull * d).sum(1) for d in away])
    return middle + 5e-4 * v, v


@way("lif_network")
def lif_network(state, w, bias):
    v, refractory, filtered = state
    dt, tau_rc, tau_ref, decay = 1e-3, 0.02, 0.002, math.exp(-1e-3 / 0.005)
    current = w @ filtered + bias
    delta = jnp.clip(dt - refractory, 0, dt)
    following = v - (current - v) * jnp.expm1(-delta / tau_rc)
    spiked = following > 1
    filtered = decay * filtered + (1 - decay) / dt * spiked
    refractory = jnp.where(spiked, tau_ref, refractory - dt)
    return jnp.where(spiked, 0.0, jnp.maximum(following, 0)), refractory, filtered


@way("adam_mlp")
def adam_mlp(state, x, y):
    p, m, v, t = state

    def cost(p):
        h = jax.nn.relu(x @ p[0] + p[1])
        h = jax.nn.relu(h @ p[2] + p[3])
        return -jax.nn.log_softmax(h @ p[4] + p[5])[jnp.arange(y.shape[0]), y].mean()

    slopes, t = jax.grad(cost)(p), t + 1
    m = tuple(0.9 * m + 0.1 * g for m, g in zip(m, slopes))
    v = tuple(0.999 * v + 0.001 * g * g for v, g in zip(v, slopes))
    change = lambda m, v: 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return tuple(p - change(m, v) for p, m, v in zip(p, m, v)), m, v, t


def nearest(centres, x):
    return ((centres * centres).sum(1) - 2 * x @ centres.T).argmin(1)


@way("kmeans", ", segment_sum")
def kmeans(state, x):
    (centres,) = state
    at, count = nearest(centres, x), centres.shape[0]
    sums, members = (jax.ops.segment_sum(v, at, count) for v in (x, jnp.ones((x.shape[0], 1))))
    return (jnp.where(members > 0, sums / members, centres),)


@way("kmeans", ", one_hot")
def kmeans_by_product(state, x):
    (centres,) = state
    member = jax.nn.one_hot(nearest(centres, x), centres.shape[0])
    members = member.sum(0)[:, None]
    return (jnp.where(members > 0, member.T @ x / members, centres),)


@way("lenet_step")
def lenet_step(state, x, y):
    def layer(x, w):
        h = lax.conv(x, w, (1, 1), "VALID")
        n, c, height, width = h.shape
        return jnp.tanh(h.reshape(n, c, height // 2, 2, width // 2, 2).max((3, 5)))

    def cost(p):
        h = layer(layer(x, p[0]), p[1]).reshape(x.shape[0], -1)
        return -jax.nn.log_softmax(jnp.tanh(h @ p[2]) @ p[3])[jnp.arange(x.shape[0]), y].mean()

    return tuple(p - 0.1 * g for p, g in zip(state, jax.grad(cost)(state)))
