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


_DRAWS = {
    "NormalRV": _normal,
    "UniformRV": _uniform,
    "BernoulliRV": _bernoulli,
    "IntegersRV": _integers,
    "ExponentialRV": _exponential,
    "LogNormalRV": _lognormal,
    "HalfNormalRV": _half_normal,
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
    if name == "CategoricalRV":
        (p,) = parameters
        if size is not None:
            p = wa.broadcast_to(p, [*context.elements(size, rank), extents(p)[-1]])
        below = wa.cumsum(p, axis=-1)
        unit = stream.streams.uniform(size=extents(p)[:-1], dtype=str(p.dtype)) * below[..., -1]
        beyond = wa.sum(wa.less_equal(below, wa.expand_dims(unit, -1)).astype("int64"), axis=-1)
        return [stream, wa.minimum(beyond, wa.extent(p, -1) - 1)]
    raise refused(op, node, f"draws are {', '.join(sorted(_DRAWS))} and CategoricalRV")
