"""Linear algebra, under NumPy's names. Leading axes are a batch."""

from ._table import made as _made

__all__ = ["cholesky", "det", "inv", "norm", "slogdet", "solve", "solve_triangular"]
for _name in __all__:
    globals()[_name] = _made(__name__, _name, f"linalg.{_name}")
