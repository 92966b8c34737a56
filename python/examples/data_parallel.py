"""Data parallel training by tasks of Ray: each is a member of one group, with a part of the data and a device.

    python data_parallel.py [MEMBERS]

An actor is where the members meet: all that a group needs is somebody who gathers bytes. Between CUDA GPUs NCCL
carries the arrays, and the actor what members compare.
"""

import asyncio
import sys

import numpy as np
import ray

import workalike as wa
from workalike import launch

ROWS, FEATURES, STEPS = 240, 8, 60


@ray.remote
class Meeting:
    """Gathers the bytes of all members, round by round."""

    def __init__(self, size):
        self.size, self.rounds, self.counts = size, {}, [0] * size

    async def gather(self, rank, own):
        number, self.counts[rank] = self.counts[rank], self.counts[rank] + 1
        came, all_came = self.rounds.setdefault(number, ({}, asyncio.Event()))
        came[rank] = own
        if len(came) == self.size:
            all_came.set()
            self.rounds.pop(number - 1, None)
        await asyncio.wait_for(all_came.wait(), 600)
        return [came[other] for other in range(self.size)]


@ray.remote
def member(rank, size, meeting, saved, x, y):
    """Trains with its rows of the data; returns the costs of all and the weights."""
    train = wa.Function.from_bytes(saved)

    def all_gather(own):
        return ray.get(meeting.gather.remote(rank, own))

    sim = train.optimize_member("workers", rank, size, all_gather, launch.device_name(), own_parts=True)
    costs = [float(sim(x, y)) for _ in range(STEPS)]
    sim.sync_to_parent()
    return costs, train.shared("w").get_value()


def regression():
    """A step of logistic regression."""
    x, y, w = wa.matrix("x"), wa.vector("y"), wa.shared(np.zeros(FEATURES, "float32"), "w")
    p = wa.sigmoid(wa.dot(x, w))
    cost = -(y * wa.log(p) + (1 - y) * wa.log(1 - p)).mean()
    return wa.function([x, y], cost, updates=[(w, w - 0.5 * wa.grad(cost, w))])


def main(size):
    random = np.random.default_rng(1)
    x = random.normal(size=(ROWS, FEATURES)).astype("float32")
    y = (x.sum(1) > 0).astype("float32")
    one = regression()
    saved = one.data_parallel("workers", ["x", "y"]).to_bytes()
    ray.init(num_cpus=size + 1, include_dashboard=False, log_to_driver=False)
    meeting = Meeting.remote(size)
    parts = [slice(rank * ROWS // size, (rank + 1) * ROWS // size) for rank in range(size)]
    work = [member.remote(rank, size, meeting, saved, x[part], y[part]) for rank, part in enumerate(parts)]
    learned = ray.get(work, timeout=600)
    ray.shutdown()
    alone = [float(one(x, y)) for _ in range(STEPS)]
    for costs, w in learned:
        np.testing.assert_allclose(costs, alone, rtol=1e-4)
        np.testing.assert_array_equal(w, learned[0][1])
    print(f"{size} members: cost {alone[0]:.4f} -> {alone[-1]:.4f}, as one learns")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
