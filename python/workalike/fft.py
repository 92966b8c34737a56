"""Fourier transforms, under NumPy's names. Complex numbers are pairs of reals along a last axis of extent 2."""

from ._table import made as _made

__all__ = """
complex conj fft fftfreq fftn ifft ifftn imag irfft irfftn magnitude product real rfft rfftfreq rfftn
""".split()
for _name in __all__:
    globals()[_name] = _made(__name__, _name, f"fft.{_name}")
