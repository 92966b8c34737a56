"""Learning rates as expressions of a step."""

from typing import Any

from ._workalike import Variable

__all__ = [
    "cosine",
    "exponential_decay",
    "linear",
    "piecewise",
    "warm_up",
]

def cosine(*args: Any, **kwargs: Any) -> Variable: ...
def exponential_decay(*args: Any, **kwargs: Any) -> Variable: ...
def linear(*args: Any, **kwargs: Any) -> Variable: ...
def piecewise(*args: Any, **kwargs: Any) -> Variable: ...
def warm_up(*args: Any, **kwargs: Any) -> Variable: ...
