"""What the peers' scripts share: sizes, data, timing, rows. The names of works and variants are those of `workalike bench`."""
import argparse
import importlib
import json
import statistics
import sys
import time
import traceback

import numpy as np


class Sizes:
    """The sizes of the workloads, on a GPU or not; the odd ones are sizes that no library is tuned for."""

    def __init__(self, large, odd):
        pick = lambda gpu, cpu: gpu if large else cpu
        both = lambda plain, more: plain + (more if odd else [])
        self.exp = both([230400], [123457])
        self.fused = both([pick(1 << 26, 1 << 22)], [pick(50000017, 3000017)])
        self.rows = both([pick((8192, 8192), (2048, 2048))], [pick((8191, 8190), (2047, 2050))])
        self.gemm = both(pick([1024, 4096, 8192], [256, 1024]), [pick(1237, 517)])
        self.gemm_dtypes = pick(["float32", "float16", "bfloat16"], ["float32"])
        self.logreg = both([(400, 784)], [(419, 777)])
        self.mlp = both([20, 512], [19, 509])
        # The batch size, and the number of batches in the data.
        self.lenet = pick((500, 10), (64, 10))
        # Input, filters, stride and padding of a convolution, and its roles.
        plain = pick(((32, 64, 56, 56), (64, 3, 3)), ((8, 64, 28, 28), (64, 3, 3)))
        uneven = pick(((30, 33, 57, 41), (70, 5, 3)), ((7, 33, 29, 21), (35, 5, 3)))
        roles = ["forward", "forward_bias_relu", "input_gradient", "filter_gradient"]
        self.conv = both([(role, *plain, 1, (1, 1)) for role in roles], [("forward", *uneven, 2, (2, 1))])
        self.lif = both(pick([1000, 1000000], [1000, 100000]), [1237, pick(999983, 99991)])
        self.heat = both(pick([256, 4096], [64, 1024]), [pick(4000, 1000)])
        self.rnn = both([(100, 32, 256)], [(97, 31, 250)])
        self.loop = both([1024], [1000])
        self.chains = both([(1024, 64)], [(1000, 50)])
        self.middle = both([pick((256, 1024, 256), (64, 256, 256))], [pick((37, 9001, 123), (7, 4001, 123))])
        self.take = both([pick((262144, 262144, 256), (16384, 16384, 128))], [pick((200003, 300007, 250), (15013, 17011, 125))])
        self.scatter = both([pick((262144, 262144, 256), (16384, 16384, 128))], [pick((30011, 300007, 250), (2003, 17011, 125))])
        self.sort = both([pick((4096, 4096), (1024, 1024))], [pick((5003, 3001), (1013, 1031))])
        self.sort += both([pick((1, 16777216), (1, 1048576))], [pick((1, 10000019), (1, 1000003))])

    def exp_name(self, name, n):
        return name if n == 230400 else f"{name} n={n}"


class Bench:
    """Times functions and collects the rows; a function that fails has a row with its error."""

    def __init__(self, arguments, large):
        self.rows = []
        self.only = set(filter(None, arguments.only.split(",")))
        self.quick = arguments.quick
        self.sizes = Sizes(large, arguments.odd)
        self.large = large
        self.lib = ""
        # For torch.compile, which has the longest setup.
        self.compile = not arguments.quick
        self.random = np.random.default_rng(22)

    def wants(self, work):
        return not self.only or work in self.only

    def normal(self, *shape, scale=1.0):
        return self.random.standard_normal(shape, dtype=np.float32) * np.float32(scale)

    def uniform(self, *shape, low=0.0, high=1.0):
        return self.random.random(shape, dtype=np.float32) * np.float32(high - low) + np.float32(low)

    def heat_decay(self, n):
        """What a step of the heat equation multiplies the Fourier transform of an n x n torus by."""
        square = np.fft.fftfreq(n)[:, None] ** 2 + np.fft.rfftfreq(n) ** 2
        return np.exp(-4.0 * square).astype("f4")

    def dense(self, forms):
        """Data movement and order. `forms(name, variant, arrays, at)` times the functions of a library for `name`: the arrays are random-normal,
        `at` are positions or an axis."""
        s, name = self.sizes, lambda sizes: "x".join(map(str, sizes))
        if self.wants("middle_sum"):
            for shape in s.middle:
                forms("middle_sum", name(shape), [self.normal(*shape)], None)
        if self.wants("transpose_add"):
            for rows, columns in s.rows:
                forms("transpose_add", name((rows, columns)), [self.normal(columns, rows), self.normal(rows, columns)], None)
        if self.wants("take"):
            for rows, taken, columns in s.take:
                forms("take", name((rows, taken, columns)), [self.normal(rows, columns)], self.labels(taken, rows))
        if self.wants("scatter_add"):
            for rows, added, columns in s.scatter:
                arrays = [self.normal(rows, columns) * 0, self.normal(added, columns)]
                forms("scatter_add", name((rows, added, columns)), arrays, self.labels(added, rows))
        if self.wants("cumsum"):
            for rows, columns in s.rows:
                for axis in (None, 0, 1):
                    variant = f"axis={'none' if axis is None else axis} {rows}x{columns}"
                    x = self.normal(rows * columns) if axis is None else self.normal(rows, columns)
                    forms("cumsum", variant, [x], axis or 0)
        if self.wants("sort"):
            for rows, columns in s.sort:
                forms("sort", name((rows, columns)), [self.normal(rows, columns)], None)
        if self.wants("argmax"):
            for rows, columns in s.rows:
                forms("argmax", name((rows, columns)), [self.normal(rows, columns)], None)

    def conv(self, forms):
        """Convolutions. `forms(variant, role, x, w, bias, stride, padding)` times `role` of the arrays."""
        if self.wants("conv"):
            for role, shape, (filters, *window), stride, padding in self.sizes.conv:
                variant = f"{role} {'x'.join(map(str, shape))} {'x'.join(map(str, (filters, *window)))}"
                w = self.normal(filters, shape[1], *window, scale=0.05)
                forms(variant, role, self.normal(*shape), w, self.normal(filters), stride, padding)

    def lenet(self):
        """Images and labels by batches, and the weights of LeNet."""
        batch, batches = self.sizes.lenet
        shapes = [((20, 1, 5, 5), 0.1), ((50, 20, 5, 5), 0.05), ((800, 500), 0.05), ((500, 10), 0.05)]
        weights = [self.normal(*shape, scale=scale) for shape, scale in shapes]
        biases = [np.zeros(n, "f4") for n in (20, 50, 500, 10)]
        data = self.normal(batches, batch, 1, 28, 28), self.labels((batches, batch), 10)
        return data, [p for pair in zip(weights, biases) for p in pair]

    def labels(self, count, below):
        return self.random.integers(0, below, count)

    def row(self, **row):
        row = dict(row, lib=self.lib)
        self.rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)

    def time(self, work, variant, form, make, sync=lambda: None, steps=1):
        """Times `make()`'s result, called until `sync()` returns; `steps` says how many steps one call does."""
        try:
            call = make()
            for _ in range(3):
                call()
            sync()
            start = time.perf_counter()
            call()
            sync()
            once = max(time.perf_counter() - start, 1e-7)
            repeats, target = (5, 0.05) if self.quick else (7, 0.1)
            few = int(min(max(target / 5 / once, 1), 2000))
            start = time.perf_counter()
            for _ in range(few):
                call()
            sync()
            each = max((time.perf_counter() - start) / few, 1e-8)
            calls = int(min(max(target / each, 1), 2000 if each > 5e-7 else 200000))
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                for _ in range(calls):
                    call()
                sync()
                times.append((time.perf_counter() - start) / calls / steps * 1e6)
            times.sort()
            us = statistics.median(times)
            self.row(work=work, variant=variant, form=form, us=us, us_min=times[0], us_max=times[-1])
        except Exception as error:  # a peer that fails is reported, and the rest goes on
            text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            traceback.print_exc(limit=3)
            self.row(work=work, variant=variant, form=form, error=text)


def main(large, libraries):
    """Runs `with_LIB.run(bench)` of each library; prints all rows as one JSON array."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="works, separated by commas")
    parser.add_argument("--lib", default=",".join(libraries), help="libraries, separated by commas")
    parser.add_argument("--odd", action="store_true", help="also sizes that nobody tunes for")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and nothing that compiles for long")
    arguments = parser.parse_args()
    bench = Bench(arguments, large)
    for lib in filter(None, arguments.lib.split(",")):
        bench.lib = lib
        if lib not in libraries:
            parser.error(f"there is no peer {lib}; there are {', '.join(libraries)}")
        try:
            module = importlib.import_module(f"with_{lib}")
        except Exception as error:  # missing, or there without what it needs
            bench.row(missing=f"{type(error).__name__}: {error}".splitlines()[0][:300])
            continue
        try:
            bench.row(version=module.version(bench))
            module.run(bench)
        except Exception as error:
            traceback.print_exc(limit=3)
            bench.row(missing=f"{type(error).__name__}: {error}".splitlines()[0][:300])
    json.dump(bench.rows, sys.stdout)
