"""Functions of the package that Rust knows by a name."""

from ._workalike import call as _call


def made(module, name, target, doc=None):
    """The function `name` of a module, which is `target` in Rust."""

    def apply(*args, **kwargs):
        return _call(target, *args, **kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc or f"See docs/ops.md: {target}."
    apply.__module__ = module
    return apply
