"""Losses, one number for each example."""

from typing import Any

from ._workalike import Variable

__all__ = [
    "binary_crossentropy",
    "binary_crossentropy_with_logits",
    "categorical_crossentropy",
    "categorical_crossentropy_with_logits",
    "huber",
    "smooth_labels",
]

def binary_crossentropy(*args: Any, **kwargs: Any) -> Variable: ...
def binary_crossentropy_with_logits(*args: Any, **kwargs: Any) -> Variable: ...
def categorical_crossentropy(*args: Any, **kwargs: Any) -> Variable: ...
def categorical_crossentropy_with_logits(*args: Any, **kwargs: Any) -> Variable: ...
def huber(*args: Any, **kwargs: Any) -> Variable: ...
def smooth_labels(*args: Any, **kwargs: Any) -> Variable: ...
