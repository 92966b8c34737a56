"""PyTorch on several GPUs: sums by NCCL, and training by DistributedDataParallel. A process for each GPU:

torchrun --nproc-per-node 2 benches/peers/groups_torch.py
"""
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import groups_data
from groups_data import NETWORKS, REPEATS, SUMMED

torch.set_float32_matmul_precision("highest")
torch.backends.cuda.matmul.allow_tf32 = False


def row(*fields):
    if dist.get_rank() == 0:
        groups_data.row("torch", torch.__version__, *fields)


def measured(f, count):
    """Seconds of a call, of which `count` are made in a row."""
    def repeat():
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            f()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / count

    repeat()
    return [repeat() for _ in range(REPEATS)]


def captured(f):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(11):  # DDP needs so many before a capture
            f()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        f()
    return graph.replay


def sums(size):
    for bytes in SUMMED:
        x = torch.ones(bytes // 4, device="cuda")
        count = (64 << 20) // max(bytes, 1 << 16) + 20
        variant = f"{bytes} bytes, {size} GPUs"
        row("all_reduce", variant, "eager", measured(lambda: dist.all_reduce(x), count))
        row("all_reduce", variant, "cudagraph", measured(captured(lambda: dist.all_reduce(x)), count))


def layers(sizes):
    for at in range(len(sizes) - 1):
        yield torch.nn.Linear(sizes[at], sizes[at + 1])
        if at + 2 < len(sizes):
            yield torch.nn.Tanh()


def training(name, sizes, rows, steps, size):
    """`rows` on each of `size` GPUs."""
    rank = dist.get_rank()
    if rank < size:
        torch.manual_seed(0)
        x = torch.rand(rows, sizes[0], device="cuda")
        y = torch.arange(rows, device="cuda") % sizes[-1]
        net = torch.nn.Sequential(*layers(sizes)).cuda()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):  # a capture needs a DDP that was made on a side stream
            net = DistributedDataParallel(net) if size > 1 else net
        torch.cuda.current_stream().wait_stream(side)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

        def step():
            optimizer.zero_grad(set_to_none=False)
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()

        variant = f"{name}, {rows * size} rows, {size} GPUs"
        forms = [("eager", lambda: step), ("cudagraph", lambda: captured(step))]
        for form, make in forms:
            try:
                f = make()
                for _ in range(3):
                    f()
                torch.cuda.synchronize()
                times = []
                for _ in range(REPEATS):
                    start = time.perf_counter()
                    for _ in range(steps):
                        f()
                    torch.cuda.synchronize()
                    times.append((time.perf_counter() - start) / steps)
                row("data_parallel", variant, form, times)
            except RuntimeError as error:
                if rank == 0:
                    print(json.dumps({"work": "data_parallel", "variant": variant, "lib": "torch", "form": form,
                                      "missing": str(error)[:200]}), flush=True)
    dist.barrier()


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    size = dist.get_world_size()
    sums(size)
    for name, sizes, rows, steps in NETWORKS:
        training(name, sizes, rows, steps, 1)
        training(name, sizes, rows, steps, size)
        if rows % size == 0:
            training(name, sizes, rows // size, steps, size)
    dist.destroy_process_group()


main()
