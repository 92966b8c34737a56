"""Fourier transforms, under NumPy's names. Complex numbers are pairs of reals along a last axis of extent 2."""

from ._workalike import call as _call


def _made(name):
    def apply(*args, **kwargs):
        return _call(f"fft.{name}", *args, **kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__module__ = __name__
    return apply


__all__ = """
complex conj fft fftfreq fftn ifft ifftn imag irfft irfftn magnitude product real rfft rfftfreq rfftn
""".split()
for _name in __all__:
    globals()[_name] = _made(_name)
