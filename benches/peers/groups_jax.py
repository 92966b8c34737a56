"""JAX on several GPUs of one process: sums and training by shard_map.

python3 benches/peers/groups_jax.py 2
"""
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import groups_data
from groups_data import NETWORKS, REPEATS, SUMMED

jax.config.update("jax_default_matmul_precision", "highest")


def row(*fields):
    groups_data.row("jax", jax.__version__, *fields)


def measured(f, count, per=1):
    """Seconds of a call, of which `count` are made in a row, each of `per` steps."""
    def repeat():
        start = time.perf_counter()
        for _ in range(count):
            result = f()
        jax.block_until_ready(result)
        return (time.perf_counter() - start) / (count * per)

    repeat()
    return [repeat() for _ in range(REPEATS)]


def sums(mesh, size):
    for bytes in SUMMED:
        x = jax.device_put(jnp.ones((size, bytes // 4), jnp.float32), NamedSharding(mesh, P("g")))
        f = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "g"), mesh=mesh, in_specs=P("g"), out_specs=P()))
        count = (64 << 20) // max(bytes, 1 << 16) + 20
        row("all_reduce", f"{bytes} bytes, {size} GPUs", "shard_map", measured(lambda: f(x), count))


def cost(parameters, x, y):
    for at, (w, b) in enumerate(parameters):
        x = x @ w + b
        if at + 1 < len(parameters):
            x = jnp.tanh(x)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1))


def training(name, sizes, rows, steps, mesh, size):
    """`rows` on each GPU; the steps are one loop on the device."""
    random = np.random.default_rng(0)
    parameters = [(random.uniform(-1, 1, (a, b)).astype(np.float32) / np.sqrt(a), np.zeros(b, np.float32))
                  for a, b in zip(sizes, sizes[1:])]
    everywhere, divided = NamedSharding(mesh, P()), NamedSharding(mesh, P("g"))
    parameters = jax.device_put(parameters, everywhere)
    x = jax.device_put(random.uniform(size=(rows * size, sizes[0])).astype(np.float32), divided)
    y = jax.device_put(np.arange(rows * size) % sizes[-1], divided)

    def step(parameters, x, y):
        gradients = jax.grad(lambda p: cost(p, x, y))(parameters)
        gradients = jax.lax.pmean(gradients, "g")
        return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients)

    def loop(parameters, x, y):
        return jax.lax.fori_loop(0, steps, lambda _, p: step(p, x, y), parameters)

    # The rule for the gradient of a replicated value would sum it as well: the check of that is off.
    f = jax.jit(jax.shard_map(loop, mesh=mesh, in_specs=(P(), P("g"), P("g")), out_specs=P(), check_vma=False))
    variant = f"{name}, {rows * size} rows, {size} GPUs"
    row("data_parallel", variant, "fori_loop", measured(lambda: f(parameters, x, y), 1, steps))


def main():
    size = int(sys.argv[1])
    devices = jax.devices()
    mesh, one = Mesh(np.array(devices[:size]), ("g",)), Mesh(np.array(devices[:1]), ("g",))
    sums(mesh, size)
    for name, sizes, rows, steps in NETWORKS:
        training(name, sizes, rows, steps, one, 1)
        training(name, sizes, rows, steps, mesh, size)
        if rows % size == 0:
            training(name, sizes, rows // size, steps, mesh, size)


main()
