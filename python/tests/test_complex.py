"""Complex numbers: NumPy's values, dtypes, arrays, state and gradients."""

import pickle

import numpy as np
import pytest

import workalike as wa

RANDOM = np.random.default_rng(5)
Z = RANDOM.normal(size=(3, 4)) + 1j * RANDOM.normal(size=(3, 4))
W = RANDOM.normal(size=(4,)) + 1j * RANDOM.normal(size=(4,))


def of(build, *given):
    inputs = [wa.tensor(f"x{at}", array.dtype, array.shape) for at, array in enumerate(given)]
    return wa.function(inputs, build(*inputs), on_unused_input="ignore")(*given)


@pytest.mark.parametrize("name", "exp log sqrt sin cos tan sinh cosh tanh square reciprocal negative conj".split())
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_are_numpys(name, dtype):
    z = Z.astype(dtype)
    got = of(getattr(wa, name), z)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, getattr(np, name)(z), rtol=3e-5 if dtype == "complex64" else 1e-13)
    # NumPy's own function of a Variable.
    np.testing.assert_array_equal(of(getattr(np, name), z), got)


@pytest.mark.parametrize("name", "real imag abs angle isnan isfinite conjugate".split())
def test_parts_are_numpys(name):
    got = of(getattr(wa, name), Z)
    want = getattr(np, name)(Z)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-15)
    np.testing.assert_array_equal(of(getattr(wa, name), Z.real), getattr(np, name)(Z.real))


def test_operators_promote_as_numpy_does():
    x, z, i = RANDOM.normal(size=4).astype("float32"), Z.astype("complex64"), np.arange(4, dtype="int32")
    for build in (
        lambda z, w, x, i: z * w,
        lambda z, w, x, i: z / x,
        lambda z, w, x, i: x - z,
        lambda z, w, x, i: i * z,
        lambda z, w, x, i: 2 * z + 1j,
        lambda z, w, x, i: x * 1j,
        lambda z, w, x, i: i + 1j,
        lambda z, w, x, i: z**2 / w,
        lambda z, w, x, i: z**0.5,
        lambda z, w, x, i: z == z.conj(),
    ):
        got, want = of(build, z, W, x, i), build(z, W, x, i)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_arrays():
    for build in (
        lambda z: z.T,
        lambda z: z[1:, ::2],
        lambda z: z.sum(axis=0),
        lambda z: z.mean(),
        lambda z: z.std(axis=1),
        lambda z: z.cumsum(axis=1),
        lambda z: z @ W,
        lambda z: z.real @ W,
        lambda z: z.imag,
        lambda z: z.reshape(2, 6),
        lambda z: z[np.array([2, 0])],
    ):
        np.testing.assert_allclose(of(build, Z), build(Z), rtol=1e-12)
    got = of(lambda z: wa.where(z.real > 0, z, 0), Z)
    np.testing.assert_array_equal(got, np.where(Z.real > 0, Z, 0))
    got = of(lambda z: wa.concatenate([z, wa.zeros_like(z)]).at[0].set(1j), Z)
    want = np.concatenate([Z, np.zeros_like(Z)])
    want[0] = 1j
    np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(of(wa.from_polar, np.abs(W), np.angle(W)), W, rtol=1e-14)
    np.testing.assert_array_equal(of(wa.complex, W.real, W.imag), W)
    np.testing.assert_array_equal(of(wa.view_as_real, W), W.view(float).reshape(4, 2))
    np.testing.assert_array_equal(of(wa.view_as_complex, W.view(float).reshape(4, 2)), W)


def test_transforms_are_numpys():
    for name in "fft ifft fftn ifftn".split():
        np.testing.assert_allclose(of(getattr(wa.fft, name), Z), getattr(np.fft, name)(Z), atol=1e-13)
        np.testing.assert_allclose(of(getattr(wa.fft, name), Z.real), getattr(np.fft, name)(Z.real), atol=1e-13)
    np.testing.assert_allclose(of(wa.fft.irfft, Z), np.fft.irfft(Z), atol=1e-13)
    # A convolution on a ring.
    got = of(lambda a, b: wa.fft.irfft(wa.fft.rfft(a) * wa.fft.rfft(b)), W.real, W.imag)
    np.testing.assert_allclose(got, np.fft.irfft(np.fft.rfft(W.real) * np.fft.rfft(W.imag)), atol=1e-13)


def test_state_gradients_and_pickles():
    z = wa.shared(W, "z")
    cost = (abs(z) ** 2).sum()
    step = wa.function([], cost, updates={z: z - 0.25 * wa.grad(cost, z)})
    step = pickle.loads(pickle.dumps(step))
    simulator = step.optimize("host")
    simulator.run_n(2)
    simulator.sync_to_parent()
    # The gradient is 2 z.
    np.testing.assert_allclose(step.shared_variables[0].get_value(), W / 4, rtol=1e-14)


def test_what_has_no_meaning_is_refused():
    z = wa.vector("z", "complex128")
    for wrong in (
        lambda: z < z,
        lambda: z.max(),
        lambda: z.astype("float64"),
        lambda: wa.floor(z),
        lambda: wa.grad(z.sum(), z),
    ):
        with pytest.raises(wa.Error, match="complex|real"):
            wrong()
    f = wa.function([z], z + 1)
    assert f([1j]).tolist() == [1 + 1j]
    with pytest.raises(wa.Error):
        wa.function([wa.vector("x")], wa.vector("x"))([1j])
