"""Learning rates as expressions of a step."""

from ._table import made as _made

__all__ = ["cosine", "exponential_decay", "linear", "piecewise", "warm_up"]
for _name in __all__:
    globals()[_name] = _made(__name__, _name, f"schedules.{_name}")
