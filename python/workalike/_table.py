"""Functions of the package that Rust knows by a name."""

from . import _signatures
from ._workalike import call as _call


def made(module, name, target, doc=None, arity=None):
    """The function `name` of a module, which is `target` in Rust; `arity` is that of an elementwise one."""

    def apply(*args, **kwargs):
        return _call(target, *args, **kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc or f"See docs/ops.md: {target}."
    apply.__module__ = module
    signature = _signatures.of(target, arity)
    if signature is not None:
        apply.__wrapped__ = signature
    return apply
