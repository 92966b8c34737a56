"""Independent Markov chains on the workers of Ray or Dask.

    python chains.py dask
    python chains.py ray

One Function is a step of Hamiltonian Monte Carlo (R. Neal, 2011) for many walkers of a correlated Gaussian. Each
worker gets the Function with another seed, runs it on its device, and sends the draws back.
"""

import os
import sys

import numpy as np

import workalike as wa

WORKERS, WALKERS, DRAWS = 2, 64, 300
PRECISION = np.linalg.inv(np.array([[1.0, 0.8], [0.8, 2.0]])).astype("float32")


def sampler():
    """A step, and the streams that it draws from."""
    streams = wa.RandomStreams(0)
    at = wa.shared(np.zeros((WALKERS, 2), "float32"), "at")

    def energy(x):
        return 0.5 * ((x @ PRECISION) * x).sum(axis=1)

    def slope(x):
        return wa.grad(energy(x).sum(), x)

    p0 = streams.normal(size=(WALKERS, 2))
    x, p, step = at + 0.0, p0, 0.3
    for _ in range(5):
        p = p - 0.5 * step * slope(x)
        x = x + step * p
        p = p - 0.5 * step * slope(x)
    change = energy(at) + 0.5 * (p0**2).sum(axis=1) - energy(x) - 0.5 * (p**2).sum(axis=1)
    accepted = wa.log(streams.uniform(size=WALKERS)) < change
    new = wa.where(accepted[:, None], x, at)
    return wa.function([], {"at": new}, updates=[(at, new)], name="hmc"), streams


def draws(step):
    """What a worker does: its draws, without those before the chain has settled."""
    simulator = step.optimize(os.environ.get("WORKALIKE_DEVICE", "host"))
    simulator.run_n(50)
    return simulator.run_n_collect(DRAWS)


def seeded(step, streams, seeds):
    """A pickle of the Function for each seed."""
    import pickle

    for seed in seeds:
        streams.seed(seed)
        yield pickle.dumps(step)


def unpickled(data):
    import pickle

    return draws(pickle.loads(data))


def with_ray(pickles):
    import ray

    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=80_000_000,
        _node_ip_address="127.0.0.1",
    )
    try:
        return ray.get([ray.remote(unpickled).remote(data) for data in pickles], timeout=120)
    finally:
        ray.shutdown()


def with_dask(pickles):
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with cluster, Client(cluster) as client:
        return client.gather(client.map(unpickled, pickles))


def main(engine):
    step, streams = sampler()
    pickles = list(seeded(step, streams, range(1, WORKERS + 1)))
    chains = {"ray": with_ray, "dask": with_dask}[engine](pickles)
    assert not np.array_equal(chains[0], chains[1])
    assert np.array_equal(chains[0], unpickled(pickles[0])), "the same seed draws the same numbers here"
    every = np.concatenate([chain.reshape(-1, 2) for chain in chains])
    print(f"{engine}: {len(every)} draws, covariance {np.cov(every.T).round(2).tolist()}")
    assert np.allclose(np.cov(every.T), [[1.0, 0.8], [0.8, 2.0]], atol=0.12)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "dask")
