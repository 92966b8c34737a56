//! Values from NumPy and SciPy, made by `golden/make.py` and embedded, so that a test binary runs anywhere.
