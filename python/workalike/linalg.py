"""Linear algebra, under NumPy's names. Leading axes are a batch."""

from ._workalike import call as _call


def _made(name):
    def apply(*args, **kwargs):
        return _call(f"linalg.{name}", *args, **kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__module__ = __name__
    return apply


__all__ = ["cholesky", "det", "inv", "norm", "slogdet", "solve", "solve_triangular"]
for _name in __all__:
    globals()[_name] = _made(_name)
