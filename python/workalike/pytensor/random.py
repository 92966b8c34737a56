"""Draws of random numbers, by workalike's own streams: their distribution is PyTensor's, the numbers are not."""

import hashlib
import warnings

import numpy as np

import workalike as wa

from .convert import cast, extents, refused, registered


class Stream:
    """What a random generator of PyTensor is here: streams that begin at the generator's state."""

    def __init__(self, generator):
        state = repr(generator.bit_generator.state).encode()
        self.streams = wa.RandomStreams(int.from_bytes(hashlib.sha256(state).digest()[:7], "little"))

    def warn(self):
        warnings.warn(
            "workalike draws random numbers of its own, which begin at the state of PyTensor's generator but are "
            "others than NumPy's; PyTensor's generator does not move on",
            UserWarning,
            stacklevel=2,
        )


def _normal(streams, size, dtype, mean, scale):
    return streams.normal(size=size, dtype=dtype) * cast(scale, dtype) + cast(mean, dtype)


def _uniform(streams, size, dtype, low, high):
    low, high = cast(low, dtype), cast(high, dtype)
    return streams.uniform(size=size, dtype=dtype) * (high - low) + low


def _bernoulli(streams, size, dtype, p):
    return wa.less(streams.uniform(size=size, dtype="float64"), cast(p, "float64"))


def _integers(streams, size, dtype, low, high):
    low, high = cast(low, "float64"), cast(high, "float64")
    drawn = wa.floor(streams.uniform(size=size, dtype="float64") * (high - low)) + low
    return wa.minimum(drawn, high - 1)


def _exponential(streams, size, dtype, scale):
    return -wa.log1p(-streams.uniform(size=size, dtype=dtype)) * cast(scale, dtype)


def _lognormal(streams, size, dtype, mean, scale):
    return wa.exp(_normal(streams, size, dtype, mean, scale))


def _half_normal(streams, size, dtype, mean, scale):
    return wa.absolute(streams.normal(size=size, dtype=dtype)) * cast(scale, dtype) + cast(mean, dtype)


def _open_unit(streams, size, dtype):
    """Uniform numbers above 0, for logarithms."""
    return 1 - streams.uniform(size=size, dtype=dtype)


def _gamma(streams, size, dtype, shape, scale):
    return streams.gamma(cast(shape, dtype), 1.0, size=size, dtype=dtype) * cast(scale, dtype)


def _beta(streams, size, dtype, a, b):
    return streams.beta(cast(a, dtype), cast(b, dtype), size=size, dtype=dtype)


def _inverse_gamma(streams, size, dtype, shape, scale):
    return cast(scale, dtype) / _gamma(streams, size, dtype, shape, wa.constant(np.float64(1)))


def _student(streams, size, dtype, degrees, mean, scale):
    return streams.standard_t(cast(degrees, dtype), size=size, dtype=dtype) * cast(scale, dtype) + cast(mean, dtype)


def _poisson(streams, size, dtype, mean):
    return streams.poisson(cast(mean, "float64"), size=size)


def _binomial(streams, size, dtype, n, p):
    return streams.binomial(n, cast(p, "float64"), size=size)


def _negative_binomial(streams, size, dtype, n, p):
    p = cast(p, "float64")
    return streams.poisson(_gamma(streams, size, "float64", n, (1 - p) / p), size=size)


def _geometric(streams, size, dtype, p):
    return wa.floor(wa.log(_open_unit(streams, size, "float64")) / wa.log1p(-cast(p, "float64"))) + 1


def _located(standard):
    """Draws of a distribution with a location and a scale, from a function of uniform numbers."""

    def draw(streams, size, dtype, location, scale):
        unit = _open_unit(streams, size, dtype)
        return standard(unit) * cast(scale, dtype) + cast(location, dtype)

    return draw


def _laplace(unit):
    centred = unit - 0.5
    return -wa.sign(centred) * wa.log1p(-2 * wa.absolute(centred))


def _pareto(streams, size, dtype, shape, scale):
    return cast(scale, dtype) * wa.exp(-wa.log(_open_unit(streams, size, dtype)) / cast(shape, dtype))


def _weibull(streams, size, dtype, shape):
    return (-wa.log(_open_unit(streams, size, dtype))) ** (1 / cast(shape, dtype))


_DRAWS = {
    "BernoulliRV": _bernoulli,
    "BetaRV": _beta,
    "BinomialRV": _binomial,
    "CauchyRV": _located(lambda unit: wa.tan(np.pi * (unit - 0.5))),
    "ExponentialRV": _exponential,
    "GammaRV": _gamma,
    "GeometricRV": _geometric,
    "GumbelRV": _located(lambda unit: -wa.log(-wa.log(unit))),
    "HalfCauchyRV": _located(lambda unit: wa.tan(np.pi / 2 * (1 - unit))),
    "HalfNormalRV": _half_normal,
    "IntegersRV": _integers,
    "InvGammaRV": _inverse_gamma,
    "LaplaceRV": _located(_laplace),
    "LogNormalRV": _lognormal,
    "LogisticRV": _located(lambda unit: wa.log(unit) - wa.log1p(-unit)),
    "NegBinomialRV": _negative_binomial,
    "NormalRV": _normal,
    "ParetoRV": _pareto,
    "PoissonRV": _poisson,
    "StudentTRV": _student,
    "UniformRV": _uniform,
    "WeibullRV": _weibull,
}


def _extents_of(size, parameters, context, rank):
    """The extents of a draw: those that were asked for, or those of its parameters."""
    if size is not None:
        return context.elements(size, rank)
    if rank == 0:
        return []
    whole = parameters[0]
    for further in parameters[1:]:
        whole = wa.where(wa.constant(np.True_), whole, cast(further, whole.dtype))
    return extents(whole)


def _dirichlet(streams, batch, dtype, alpha):
    shape = extents(alpha) if batch is None else [*batch, extents(alpha)[-1]]
    drawn = streams.gamma(cast(alpha, dtype), 1.0, size=shape, dtype=dtype)
    return drawn / wa.sum(drawn, axis=-1, keepdims=True)


def _mvnormal(streams, batch, dtype, mean, covariance):
    mean, factor = cast(mean, dtype), wa.linalg.cholesky(cast(covariance, dtype))
    whole = mean + wa.zeros_like(factor[..., 0])
    shape = extents(whole) if batch is None else [*batch, extents(whole)[-1]]
    unit = wa.expand_dims(streams.normal(size=shape, dtype=dtype), -1)
    return wa.squeeze(wa.matmul(factor, unit), axis=-1) + mean


# Draws whose results are vectors.
_VECTORS = {"DirichletRV": _dirichlet, "MvNormalRV": _mvnormal}


@registered("tensor.random.op:RandomVariable")
def random_variable(op, node, inputs, context):
    """A draw. The generator that comes out is the one that went in: each call of the function moves its draws on."""
    stream, size, *parameters = inputs
    name = type(op).__name__
    if context.in_loop:
        raise refused(op, node, "draws within a Scan")
    dtype = node.outputs[1].type.dtype
    floats = dtype if dtype in ("float32", "float64") else "float64"
    stream.warn()
    rank = node.outputs[1].type.ndim
    if name in _DRAWS:
        extents_ = _extents_of(size, parameters, context, rank)
        return [stream, _DRAWS[name](stream.streams, extents_, floats, *parameters)]
    if name in _VECTORS:
        batch = context.elements(size, rank - 1) if size is not None else None
        return [stream, _VECTORS[name](stream.streams, batch, floats, *parameters)]
    if name == "CategoricalRV":
        (p,) = parameters
        if size is not None:
            p = wa.broadcast_to(p, [*context.elements(size, rank), extents(p)[-1]])
        below = wa.cumsum(p, axis=-1)
        unit = stream.streams.uniform(size=extents(p)[:-1], dtype=str(p.dtype)) * below[..., -1]
        beyond = wa.sum(wa.less_equal(below, wa.expand_dims(unit, -1)).astype("int64"), axis=-1)
        return [stream, wa.minimum(beyond, wa.extent(p, -1) - 1)]
    raise refused(op, node, f"draws are {', '.join(sorted([*_DRAWS, *_VECTORS, 'CategoricalRV']))}")
