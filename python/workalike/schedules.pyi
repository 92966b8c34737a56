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

def cosine(rate: Any, step: Any, steps: Any) -> Variable: ...
def exponential_decay(rate: Any, step: Any, every: Any, factor: Any) -> Variable: ...
def linear(first: Any, last: Any, step: Any, steps: Any) -> Variable: ...
def piecewise(first: Any, step: Any, changes: Any) -> Variable: ...
def warm_up(rate: Any, step: Any, steps: Any) -> Variable: ...
