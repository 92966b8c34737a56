"""Losses, one number for each example."""

from ._table import made as _made

__all__ = """
binary_crossentropy binary_crossentropy_with_logits categorical_crossentropy categorical_crossentropy_with_logits
huber smooth_labels
""".split()
for _name in __all__:
    globals()[_name] = _made(__name__, _name, _name)
