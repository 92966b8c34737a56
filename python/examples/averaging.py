"""Parameter averaging on the actors of Ray or the workers of Dask.

    python averaging.py ray
    python averaging.py dask

A Function of a network is pickled to each worker, which re-hosts it on its own device, trains on its part of the data
and sends the parameters back; their mean is where the next round begins. A worker that dies is replaced: a round needs
nothing but the Function and the parameters. `--kill` kills one on the way.
"""

import os
import sys
import time

import numpy as np

import workalike as wa

ROUNDS, STEPS, WORKERS = 6, 40, 2


def network(features=8, hidden=16):
    """Training and evaluation of a small network: Functions over the same parameters."""
    init = np.random.default_rng(0)
    x, y, rate = wa.matrix("x"), wa.vector("y"), wa.scalar("rate")
    shapes = {"w1": (features, hidden), "b1": (hidden,), "w2": (hidden, 1), "b2": (1,)}
    values = {name: init.normal(0, 0.3, shape) for name, shape in shapes.items()}
    parameters = [wa.shared(value, name, dtype="float32") for name, value in values.items()]
    w1, b1, w2, b2 = parameters
    out = (wa.tanh(x @ w1 + b1) @ w2 + b2)[:, 0]
    cost = ((out - y) ** 2).mean()
    updates = wa.optimizers.sgd(parameters, wa.grad(cost, parameters), rate)
    train = wa.function([x, y, wa.In(rate, value=0.05)], cost, updates=updates, name="train")
    return train, wa.function([x, y], cost, name="cost")


def data(count, seed):
    """Examples of a function that the network is to learn."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(count, 8)).astype("float32")
    return x, np.tanh(x[:, 0] * x[:, 1] + x[:, 2]).astype("float32")


class Worker:
    """Trains on one part of the data."""

    def __init__(self, train, part):
        self.part = part
        self.simulator = train.optimize(os.environ.get("WORKALIKE_DEVICE", "host"))

    def round(self, values):
        """The parameters after some steps from these values."""
        for name, value in values.items():
            self.simulator.set_value(name, value)
        self.simulator.run_n(STEPS, *self.part)
        return {name: self.simulator.get_value(name) for name in values}

    def exit(self):
        """Dies at once."""
        os._exit(1)


def mean(results):
    """The mean of each parameter."""
    return {name: np.mean([result[name] for result in results], axis=0) for name in results[0]}


def averaged(train, round_of):
    """Rounds of training, each by `round_of(round, values)`, which returns the parameters of all workers."""
    values = {variable.name: variable.get_value() for variable in train.shared_variables}
    for number in range(ROUNDS):
        values = mean(round_of(number, values))
    for variable in train.shared_variables:
        variable.set_value(values[variable.name])


def with_ray(train, parts, kill):
    """Rounds on actors of Ray. One that died is started again, from the Function."""
    import ray

    ray.init(
        num_cpus=len(parts),
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=80_000_000,
        _node_ip_address="127.0.0.1",
    )
    start = ray.remote(num_cpus=1)(Worker)
    workers = [start.remote(train, part) for part in parts]

    def round_of(number, values):
        if kill and number == ROUNDS // 2:
            workers[0].exit.remote()
        results = [None] * len(workers)
        for at, pending in enumerate([worker.round.remote(values) for worker in workers]):
            try:
                results[at] = ray.get(pending, timeout=120)
            except ray.exceptions.RayActorError:
                print(f"round {number}: worker {at} died; another one takes its place")
                workers[at] = start.remote(train, parts[at])
                results[at] = ray.get(workers[at].round.remote(values), timeout=120)
        return results

    try:
        averaged(train, round_of)
    finally:
        ray.shutdown()


def task(train, part, values, dies):
    """A round on a worker of Dask. A task has no state: it re-hosts the Function."""
    marker = os.environ.get("AVERAGING_MARKER")
    if dies and marker and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(1)
    return Worker(train, part).round(values)


def with_dask(train, parts, kill):
    """Rounds on workers of Dask, which runs the tasks of a dead worker elsewhere."""
    import tempfile

    from dask.distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        os.environ["AVERAGING_MARKER"] = os.path.join(folder, "died")
        cluster = LocalCluster(len(parts), threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
        with cluster, Client(cluster) as client:
            here = client.scatter(train, broadcast=True)

            def round_of(number, values):
                dies = kill and number == ROUNDS // 2
                pending = [
                    client.submit(task, here, part, values, dies and at == 0, pure=False)
                    for at, part in enumerate(parts)
                ]
                return client.gather(pending)

            averaged(train, round_of)


def main(engine, kill):
    train, cost = network()
    x, y = data(1_000, 1)
    parts = [(x[at::WORKERS], y[at::WORKERS]) for at in range(WORKERS)]
    held_out, before, start = data(500, 2), None, time.time()
    before = float(cost(*held_out))
    {"ray": with_ray, "dask": with_dask}[engine](train, parts, kill)
    after = float(cost(*held_out))
    print(f"{engine}: cost {before:.4f} -> {after:.4f} in {time.time() - start:.1f} s")
    assert after < 0.6 * before
    return after


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ray", "--kill" in sys.argv)
