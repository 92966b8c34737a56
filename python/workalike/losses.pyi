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

def binary_crossentropy(p: Any, y: Any) -> Variable: ...
def binary_crossentropy_with_logits(logits: Any, y: Any) -> Variable: ...
def categorical_crossentropy(p: Any, y: Any) -> Variable: ...
def categorical_crossentropy_with_logits(logits: Any, y: Any) -> Variable: ...
def huber(difference: Any, delta: Any) -> Variable: ...
def smooth_labels(y: Any, classes: Any, amount: Any) -> Variable: ...
