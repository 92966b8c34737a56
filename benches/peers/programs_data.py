"""The sizes, variants and arrays of whole programs, which `programs_jax.py` and `programs_torch.py` compute.

The function of a program draws its arrays, `(state, inputs)`. A pure function has no state and is timed by
calls. A step maps state and inputs to the next state and is timed as iterations. Sizes are those of
`workalike bench`, on a GPU and on a CPU; so are the forms: ways of writing a program.
"""
import numpy as np

PROGRAMS = {}


class Program:
    def __init__(self, draw, forms, sizes):
        self.draw, self.forms, self.all_sizes = draw, forms, sizes

    def sizes(self, large):
        return {key: size[0 if large else 1] for key, size in self.all_sizes.items()}

    def variants(self, large, forms=None):
        """The variants of `workalike bench`, of all forms or of these."""
        sizes = self.sizes(large)
        name = "x".join(map(str, sizes.values()))
        if len(sizes) == 1:
            name = f"{next(iter(sizes))}={name}"
        return [f"{form} {name}" for form in forms or self.forms] or [name]


def program(*forms, **sizes):
    """Adds a program with these forms, and with sizes as (on a GPU, on a CPU)."""

    def add(draw):
        PROGRAMS[draw.__name__] = Program(draw, forms, sizes)
        return draw

    return add


class Ways:
    """The functions of a library for each program: ways to compute the same, of which the best counts."""

    def __init__(self):
        self.all = {}

    def __call__(self, name, label="", forms=None, **more):
        """Adds a way to compute a program. `forms` are those of ours that compute the same, if not all do."""

        def add(f):
            self.all.setdefault(name, []).append((label, f, forms, more))
            return f

        return add

    def measure(self, b, pure, step):
        """Times pure functions by `pure(name, variant, label, f, inputs)`, and steps by `step`, which is
        also given the state, before the inputs."""
        for name, p in PROGRAMS.items():
            if not b.wants(name):
                continue
            state, inputs = p.draw(b, **p.sizes(b.large))
            for label, f, forms, more in self.all.get(name, []):
                first, *others = p.variants(b.large, forms)
                start = len(b.rows)
                if state is None:
                    pure(name, first, label, f, inputs, **more)
                else:
                    step(name, first, label, f, state, inputs, **more)
                # A peer's way stands beside each form of ours.
                for row in b.rows[start:]:
                    for variant in others:
                        b.row(**dict(row, variant=variant))


def counter():
    """The number of the iteration, which picks its input."""
    return np.zeros(1, "i8")


@program(n=(16777216, 2097152))
def hash_popcount(b, n):
    return None, [b.random.integers(1, 1 << 32, n, dtype=np.uint32)]


@program(n=(1048576, 65536))
def fft_radix2(b, n):
    angles = -2 * np.pi * np.arange(n // 2) / n
    return None, [b.normal(n), b.normal(n), np.cos(angles).astype("f4"), np.sin(angles).astype("f4")]


@program("slices", "sliding_windows", height=(1024, 256), width=(1024, 256))
def bilateral7(b, height, width):
    return None, [b.uniform(height, width)]


@program("roll", "pad", n=(2048, 1024))
def ising(b, n):
    spins = (b.labels((n, n), 2) * 2 - 1).astype("i1")
    return (spins, b.random.integers(1, 1 << 32, (n, n), dtype=np.uint32)), []


# Velocities and weights of a D2Q9 lattice, and the position of the opposite of each velocity.
VELOCITIES = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def equilibrium(density, u, v):
    """The equilibrium distribution of a density that moves at (u, v)."""
    square = u * u + v * v
    along = [x * u + y * v for x, y in VELOCITIES]
    return [w * density * (1 + 3 * c + 4.5 * c * c - 1.5 * square) for w, c in zip(WEIGHTS, along)]


@program("roll", "pad", n=(512, 512))
def lbm_d2q9(b, n):
    i = np.arange(n)
    solid = (i[:, None] - n / 4) ** 2 + (i - n / 2) ** 2 < (n / 10) ** 2
    rest = equilibrium(1.0, 0.08 + b.normal(n, n, scale=0.01), b.normal(n, n, scale=0.01))
    return (np.stack(rest).astype("f4"),), [solid]


@program("inc_index", "bincount", n=(4194304, 1048576))
def run_lengths(b, n):
    return None, [np.repeat(b.labels(n, 16), b.random.geometric(1 / 8, n))[:n].astype("i4")]


@program(n=(4194304, 262144), segments=(65536, 4096))
def segment_softmax(b, n, segments):
    # The last array has the number of segments as its extent.
    return None, [b.normal(n, scale=3), np.sort(b.labels(n, segments)), np.zeros(segments, "f4")]


@program(rows=(262144, 65536), batch=(16384, 4096), width=(64, 64))
def adagrad_embed(b, rows, batch, width):
    # The cube of a uniform draw makes the first rows frequent.
    at = (b.random.random((16, batch)) ** 3 * rows).astype("i8")
    return (b.normal(rows, width), np.zeros((rows, width), "f4"), counter()), [at, b.normal(batch, width)]


@program(n=(1048576, 1048576))
def lorenz_rk4(b, n):
    return (b.normal(n), b.normal(n), b.normal(n) + np.float32(25)), [b.uniform(n, low=20, high=30)]


@program("bincount", "inc_index", particles=(1048576, 262144), cells=(1024, 1024))
def pic1d(b, particles, cells):
    streams = np.where(np.arange(particles) % 2, 3, -3).astype("f4")
    state = b.uniform(particles, high=cells), streams + b.normal(particles, scale=0.3)
    # The array has the number of cells as its extent.
    return state, [np.zeros(cells, "f4")]


def log_probabilities(v):
    return v - np.log(np.exp(v).sum(-1, keepdims=True))


@program(batch=(64, 32), states=(512, 512), symbols=(64, 64))
def viterbi(b, batch, states, symbols):
    tables = [log_probabilities(b.normal(states, n)) for n in (states, symbols)]
    start = np.zeros((batch, states), "f4"), np.zeros((batch, states), "i8"), counter()
    return start, [*tables, b.labels((32, batch), symbols)]


@program("concatenate", "two_products", batch=(64, 64), inputs=(512, 512), units=(512, 512))
def lstm_step(b, batch, inputs, units):
    state = np.zeros((batch, units), "f4"), np.zeros((batch, units), "f4"), counter()
    w = b.normal(inputs + units, 4 * units, scale=(inputs + units) ** -0.5)
    return state, [b.normal(16, batch, inputs), w, b.normal(4 * units, scale=0.1)]


@program("cross_products", "cofactors", batch=(4096, 4096))
def kalman(b, batch):
    f = np.eye(6, dtype="f4") + 0.1 * np.eye(6, k=3, dtype="f4")
    noise, h = b.normal(6, 6), np.eye(3, 6, dtype="f4") + b.normal(3, 6, scale=0.1)
    q, r = np.float32(0.01) * (noise @ noise.T), np.diag(b.uniform(3, low=0.3, high=1.3))
    state = b.normal(batch, 6), np.tile(np.eye(6, dtype="f4"), (batch, 1, 1)), counter()
    return state, [f, q, h, r, b.normal(16, batch, 3)]


@program("log_softmax", "categorical_crossentropy", batch=(2048, 128), classes=(32768, 16384))
def xent_smooth(b, batch, classes):
    return None, [b.normal(batch, classes, scale=2), b.labels(batch, classes)]


@program(batch=(128, 128), visible=(784, 784), hidden=(512, 512))
def rbm_cd1(b, batch, visible, hidden):
    biases = np.zeros(visible, "f4"), np.zeros(hidden, "f4")
    x = (b.uniform(batch, visible) < 0.3).astype("f4")
    state = b.normal(visible, hidden, scale=0.05), *biases, counter()
    return state, [x, b.uniform(8, batch, hidden), b.uniform(8, batch, visible)]


@program("put_along_axis", "einsum", tokens=(2048, 64), width=(512, 512), experts=(8, 8), hidden=(1024, 1024))
def moe_top2(b, tokens, width, experts, hidden):
    g = b.normal(width, experts, scale=width**-0.5)
    first = b.normal(experts, width, hidden, scale=width**-0.5)
    return None, [b.normal(tokens, width), g, first, b.normal(experts, hidden, width, scale=hidden**-0.5)]


@program(n=(4096, 512), features=(8, 8))
def gp_kernel_grad(b, n, features):
    return None, [b.normal(n, features), b.uniform(features, low=1.5, high=2.5), b.normal(n)]


@program("unrolled", "cumsum", paths=(262144, 32768))
def mc_asian_grad(b, paths):
    return None, [np.array([100, 0.2, 0.03], "f4"), b.normal(64, paths)]


@program("put_along_axis", "argsort_twice", rows=(256, 64), columns=(16384, 8192))
def quantile_norm(b, rows, columns):
    return None, [b.normal(rows, columns)]


@program(rows=(1024, 1024), columns=(1024, 1024))
def sinkhorn_log(b, rows, columns):
    p, q = b.uniform(rows, 2), b.uniform(columns, 2)
    masses = [log_probabilities(np.log(b.uniform(n, low=0.1, high=1.1))) for n in (rows, columns)]
    state = np.zeros(rows, "f4"), np.zeros(columns, "f4")
    return state, [((p[:, None] - q) ** 2).sum(-1), *masses]


@program(n=(16777216, 524288))
def black_scholes(b, n):
    return None, [b.uniform(n, low=0.5, high=1.5) for _ in range(3)]


@program(rows=(2048, 256), columns=(2048, 256))
def mandelbrot(b, rows, columns):
    return None, [b.normal(2, rows, columns)]


@program("roll", "index_arrays", "slices", rows=(1024, 1024), columns=(1024, 1024))
def heat2d(b, rows, columns):
    return (b.uniform(rows, columns),), []


@program(rows=(50000, 16384), width=(512, 128), taken=(65536, 16384))
def embedding_gather(b, rows, width, taken):
    return None, [b.normal(rows, width), b.labels(taken, rows)]


@program("vectors", "matrices", n=(4096, 1024))
def nbody(b, n):
    return (b.normal(3, n), b.normal(3, n, scale=0.1)), [b.uniform(n, low=0.5 / n, high=1.5 / n)]


@program(n=(4096, 1024))
def lif_network(b, n):
    state = b.uniform(n), np.zeros(n, "f4"), np.zeros(n, "f4")
    return state, [b.normal(n, n, scale=0.01 * n**-0.5), b.uniform(n, low=0.8, high=1.6)]


@program(batch=(128, 32), inputs=(784, 784), hidden=(1024, 512), classes=(10, 10))
def adam_mlp(b, batch, inputs, hidden, classes):
    extents = [inputs, hidden, hidden, classes]
    layers = [(b.normal(i, o, scale=(2 / i) ** 0.5), np.zeros(o, "f4")) for i, o in zip(extents, extents[1:])]
    weights = tuple(array for layer in layers for array in layer)
    zeros = tuple(np.zeros_like(array) for array in weights)
    return (weights, zeros, zeros, np.zeros((), "f4")), [b.normal(batch, inputs), b.labels(batch, classes)]


@program("segment_sum", "one_hot", points=(100000, 10000), features=(16, 16), centres=(64, 64))
def kmeans(b, points, features, centres):
    return (b.normal(centres, features),), [b.normal(points, features)]


@program(rows=(32768, 2048), columns=(1024, 1024))
def layernorm(b, rows, columns):
    return None, [b.normal(rows, columns), b.normal(columns), b.normal(columns)]


@program(heads=(32, 4), length=(512, 256), width=(64, 64))
def attention(b, heads, length, width):
    return None, [b.normal(heads, length, width) for _ in range(3)]


@program(batch=(16384, 16384), n=(16, 16))
def batched_small_matmul(b, batch, n):
    return None, [b.normal(batch, n, n) for _ in range(2)]


@program(rows=(4096, 1024), columns=(4096, 1024))
def row_normalize_bcast(b, rows, columns):
    return None, [b.normal(rows, columns), b.normal(columns)]


@program(rows=(2048, 512), columns=(2048, 512), features=(64, 16))
def pairwise_dist(b, rows, columns, features):
    return None, [b.normal(rows, features), b.normal(columns, features)]


@program("index_arrays", "slices", batch=(500, 64), channels=(20, 20), filters=(50, 50), extent=(12, 12))
def conv5x5(b, batch, channels, filters, extent):
    return None, [b.normal(batch, channels, extent, extent), b.normal(filters, channels, 5, 5)]


@program(
    "slices",
    "index_arrays",
    batch=(500, 32),
    filters1=(20, 20),
    filters2=(50, 50),
    hidden=(500, 500),
    classes=(10, 10),
)
def lenet_step(b, batch, filters1, filters2, hidden, classes):
    filters = b.normal(filters1, 1, 5, 5, scale=0.1), b.normal(filters2, filters1, 5, 5, scale=0.05)
    weights = b.normal(filters2 * 16, hidden, scale=0.05), b.normal(hidden, classes, scale=0.05)
    return (*filters, *weights), [b.normal(batch, 1, 28, 28), b.labels(batch, classes)]
