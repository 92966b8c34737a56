"""PyTorch on the steps of `programs_data.py`: each function maps a state and inputs to the next state."""
import math

import torch
import torch.nn.functional as F

from programs_data import OPPOSITE, VELOCITIES, Ways, equilibrium

way = Ways()


def at_time(arrays, t):
    """The input of this iteration. The counter is on the device, so that a graph can be replayed."""
    return arrays.index_select(0, t % arrays.shape[0])[0]


def neighbours(u):
    return u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1)


@way("ising")
def ising(state):
    s, x = state
    # The generators are int32: logical shifts are shifts and masks.
    x = x ^ (x << 13)
    x = x ^ ((x >> 17) & 0x7FFF)
    x = x ^ (x << 5)
    u = ((x >> 8) & 0xFFFFFF).float() * 2**-24
    i = torch.arange(s.shape[0], device=s.device)
    colours = (i[:, None] + i) % 2
    for colour in (0, 1):
        flips = u < torch.exp(-0.88 * (s * neighbours(s)).float())
        s = torch.where((colours == colour) & flips, -s, s)
    return s, x


@way("lbm_d2q9")
def lbm_d2q9(state, solid):
    (f,) = state
    g = [torch.roll(f[k], VELOCITIES[k], (0, 1)) if k else f[0] for k in range(9)]
    density = sum(g[1:], g[0])
    u = (g[1] - g[3] + g[5] - g[6] - g[7] + g[8]) / density
    v = (g[2] - g[4] + g[5] + g[6] - g[7] - g[8]) / density
    rest = equilibrium(density, u, v)
    moved = [torch.where(solid, g[OPPOSITE[k]], g[k] - 1.7 * (g[k] - rest[k])) for k in range(9)]
    return (torch.stack(moved),)


@way("adagrad_embed")
def adagrad_embed(state, at, y):
    w, squares, t = state
    k = at_time(at, t)
    slope = w[k] - y
    squares.index_add_(0, k, slope * slope)
    w.index_add_(0, k, -0.05 * slope / torch.sqrt(squares[k] + 1e-8))
    return w, squares, t + 1


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
    below = torch.floor(x)
    w, i = x - below, below.long() % cells
    j = (i + 1) % cells
    charge = torch.zeros_like(like).index_add_(0, i, 1 - w).index_add_(0, j, w)
    field = torch.cumsum(1 - charge * (cells / x.shape[0]), 0)
    field = field - field.mean()
    v = v - 0.1 * ((1 - w) * field[i] + w * field[j])
    return torch.remainder(x + 0.1 * v, cells), v


@way("viterbi")
def viterbi(state, transition, emission, observed):
    scores, _, t = state
    scores, back = (scores[:, :, None] + transition).max(1)
    scores = scores + emission.T[at_time(observed, t)]
    return scores - scores.amax(1, keepdim=True), back, t + 1


@way("lstm_step")
def lstm_step(state, xs, w, bias):
    h, c, t = state
    i, f, g, o = torch.addmm(bias, torch.cat([at_time(xs, t), h], 1), w).chunk(4, 1)
    c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c, t + 1


@way("kalman")
def kalman(state, f, q, h, r, zs):
    x, p, t = state
    x, p = x @ f.T, f @ p @ f.T + q
    ph = p @ h.T
    s = h @ ph + r
    e = lambda i, j: s[:, i % 3, j % 3]
    minor = lambda i, j: e(i + 1, j + 1) * e(i + 2, j + 2) - e(i + 1, j + 2) * e(i + 2, j + 1)
    adjugate = torch.stack([torch.stack([minor(j, i) for j in range(3)], -1) for i in range(3)], -2)
    determinant = sum(e(0, j) * adjugate[:, j, 0] for j in range(3))
    gain = ph @ (adjugate / determinant[:, None, None])
    x = x + (gain @ (at_time(zs, t) - x @ h.T)[:, :, None])[:, :, 0]
    p = (torch.eye(6, device=x.device) - gain @ h) @ p
    return x, (p + p.swapaxes(1, 2)) / 2, t + 1


@way("rbm_cd1")
def rbm_cd1(state, x, for_hidden, for_visible):
    w, a, c, t = state
    p = torch.sigmoid(x @ w + c)
    h = (at_time(for_hidden, t) < p).float()
    v = (at_time(for_visible, t) < torch.sigmoid(h @ w.T + a)).float()
    r = torch.sigmoid(v @ w + c)
    w = w + 0.05 / x.shape[0] * (x.T @ p - v.T @ r)
    return w, a + 0.05 * (x - v).mean(0), c + 0.05 * (p - r).mean(0), t + 1


@way("sinkhorn_log")
def sinkhorn_log(state, c, la, lb):
    f = 0.05 * (la - torch.logsumexp((state[1] - c) / 0.05, 1))
    return f, 0.05 * (lb - torch.logsumexp((f[:, None] - c) / 0.05, 0))


@way("heat2d", forms=("roll", "index_arrays"))
def heat2d(state):
    (u,) = state
    return (u + 0.1 * (neighbours(u) - 4 * u),)


@way("heat2d", forms=("slices",))
def heat2d_fixed_edges(state):
    (u,) = state
    new, around = u.clone(), u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new[1:-1, 1:-1] += 0.1 * (around - 4 * u[1:-1, 1:-1])
    return (new,)


@way("nbody")
def nbody(state, mass):
    x, v = state
    middle = x + 5e-4 * v
    away = [m - m[:, None] for m in middle]
    square = away[0] * away[0] + away[1] * away[1] + away[2] * away[2] + 1e-2
    pull = mass / (square * torch.sqrt(square))
    v = v + 1e-3 * torch.stack([(pull * d).sum(1) for d in away])
    return middle + 5e-4 * v, v


@way("lif_network")
def lif_network(state, w, bias):
    v, refractory, filtered = state
    dt, tau_rc, tau_ref, decay = 1e-3, 0.02, 0.002, math.exp(-1e-3 / 0.005)
    current = w @ filtered + bias
    delta = torch.clamp(dt - refractory, 0, dt)
    following = v - (current - v) * torch.expm1(-delta / tau_rc)
    spiked = following > 1
    filtered = decay * filtered + (1 - decay) / dt * spiked
    refractory = torch.where(spiked, tau_ref, refractory - dt)
    return torch.where(spiked, 0.0, following.clamp(min=0)), refractory, filtered


def nearest(centres, x):
    return ((centres * centres).sum(1) - 2 * x @ centres.T).argmin(1)


@way("kmeans", ", index_add")
def kmeans(state, x):
    (centres,) = state
    at = nearest(centres, x)
    sums = torch.zeros_like(centres).index_add_(0, at, x)
    members = torch.zeros_like(centres[:, :1]).index_add_(0, at, torch.ones_like(x[:, :1]))
    return (torch.where(members > 0, sums / members, centres),)


@way("kmeans", ", one-hot product")
def kmeans_by_product(state, x):
    (centres,) = state
    member = (nearest(centres, x)[:, None] == torch.arange(centres.shape[0], device=x.device)).float()
    members = member.sum(0)[:, None]
    return (torch.where(members > 0, member.T @ x / members, centres),)


@way("lenet_step")
def lenet_step(state, x, y):
    def cost(p):
        h = torch.tanh(F.max_pool2d(F.conv2d(x, p[0]), 2))
        h = torch.tanh(F.max_pool2d(F.conv2d(h, p[1]), 2))
        return F.cross_entropy(torch.tanh(h.flatten(1) @ p[2]) @ p[3], y)

    return tuple(p - 0.1 * g for p, g in zip(state, torch.func.grad(cost)(state)))
