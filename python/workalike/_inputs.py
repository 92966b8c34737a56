"""Inputs of functions, with Theano's names."""

from ._workalike import input as _input

_made = 0


def tensor(name=None, dtype="float32", shape=()):
    """An input of this dtype and shape; an extent of None is known at the call only."""
    global _made
    if name is None:
        _made += 1
        name = f"input{_made}"
    return _input(name, dtype, shape)


def scalar(name=None, dtype="float32"):
    """A 0-d input."""
    return tensor(name, dtype, ())


def vector(name=None, dtype="float32", shape=(None,)):
    """An input with one axis."""
    return tensor(name, dtype, shape)


def matrix(name=None, dtype="float32", shape=(None, None)):
    """An input with two axes."""
    return tensor(name, dtype, shape)


def tensor3(name=None, dtype="float32", shape=(None, None, None)):
    """An input with three axes."""
    return tensor(name, dtype, shape)
