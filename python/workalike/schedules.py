"""Learning rates as expressions of a step."""

from ._workalike import call as _call


def _made(name):
    def apply(*args, **kwargs):
        return _call(f"schedules.{name}", *args, **kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__module__ = __name__
    return apply


__all__ = ["cosine", "exponential_decay", "linear", "piecewise", "warm_up"]
for _name in __all__:
    globals()[_name] = _made(_name)
