"""Optimizers: parameters and gradients to the updates of a function."""

from ._workalike import optimize as _optimize

__all__ = ["adam", "momentum", "nesterov", "rmsprop", "sgd"]


def sgd(parameters, gradients, rate):
    """`w <- w - rate * g`."""
    return _optimize("sgd", list(parameters), list(gradients), rate, {})


def momentum(parameters, gradients, rate, momentum=0.9):
    """`v <- momentum * v - rate * g`, `w <- w + v`."""
    return _optimize("momentum", list(parameters), list(gradients), rate, {"momentum": momentum})


def nesterov(parameters, gradients, rate, momentum=0.9):
    """Nesterov's momentum."""
    return _optimize("nesterov", list(parameters), list(gradients), rate, {"momentum": momentum})


def rmsprop(parameters, gradients, rate, decay=0.9, epsilon=1e-8):
    """Steps in proportion to the gradient over its running root mean square."""
    return _optimize("rmsprop", list(parameters), list(gradients), rate, {"decay": decay, "epsilon": epsilon})


def adam(parameters, gradients, rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Adam (D. Kingma and J. Ba, 2015)."""
    options = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    return _optimize("adam", list(parameters), list(gradients), rate, options)
