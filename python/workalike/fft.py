"""Fourier transforms, under NumPy's names."""

from ._table import made as _made

__all__ = """
fft fftfreq fftn ifft ifftn irfft irfftn rfft rfftfreq rfftn
""".split()
for _name in __all__:
    globals()[_name] = _made(__name__, _name, f"fft.{_name}")
