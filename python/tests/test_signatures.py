"""What `inspect` says of functions whose work is done in Rust: each takes the arguments by these names."""

import inspect

import numpy as np
import pytest

import workalike as wa

M, V, N = wa.matrix("m", "float64"), wa.vector("v", "float64"), wa.vector("i", "int64")
B, W = wa.vector("b", "bool"), wa.shared(np.ones(3), "w")
# By the name of the parameter.
VALUES = {
    "x": M, "x1": M, "x2": M, "a": M, "b": M, "y": M, "p": M, "logits": M, "other": M, "data": M, "difference": M,
    "indices": N, "multi_index": [N, N], "dims": (3, 4), "segment_ids": N, "num_segments": 3, "num_classes": 3,
    "condition": B, "choices": [V, V], "arrays": [M, M], "bins": V, "weights": V, "v": M, "values": 0.0,
    "axis": 0, "axis1": 0, "axis2": 1, "source": 0, "destination": 1, "axes": (1, 0), "dtype": "float64",
    "shape": (2, 3), "pad_width": 1, "window_shape": 2, "shift": 1, "reps": 2, "repeats": 2, "fill_value": 1.0,
    "value": 1.0, "indices_or_sections": [1], "start": 0, "stop": 3, "step": 1, "num": 4, "N": 3, "M": 4, "k": 1,
    "offset": 1, "n": 1, "q": 0.5, "mode": "raise", "side": "left", "right": True, "minlength": 2, "length": 4,
    "upper": True, "on_error": "nan", "ord": 2, "lower": True, "unit_diagonal": True, "trans": 1, "im": M, "d": 0.5,
    "acc_dtype": "float64", "keepdims": True, "ddof": 1, "message": "m", "label": "l", "context": "dev0",
    "window": [2, 2], "stride": [1, 1], "padding": [(0, 0), (0, 0)], "dilation": [1, 1], "groups": 1,
    "flip_filters": True, "output_padding": [0, 0], "rtol": 0.1, "atol": 0.1, "scale": V, "epsilon": 1e-3,
    "gradients": [M], "most": 1.0, "low": -1.0, "high": 1.0, "cost": (W * W).sum(), "wrt": [W], "tangents": [W],
    "expression": W * 2, "cotangent": W, "delta": 1.0, "classes": 3, "amount": 0.1, "rate": 0.1, "steps": 10,
    "every": 10, "factor": 0.5, "first": 0.1, "last": 0.2, "changes": [(1, 0.5)], "constant_values": 1.0,
    "end_values": 1.0, "filters": wa.tensor("f", "float64", (None,) * 4), "consider_constant": [W],
    "disconnected_inputs": "ignore", "product": M, "size": (3,), "loc": 0.0, "df": 3.0, "lam": 2.0, "pvals": V,
    "alpha": V, "count": 1, "reduction": "sum", "root": 0, "route": 1, "group": "g",
}  # fmt: skip
FOUR = wa.tensor("x", "float64", (None,) * 4)
# Where a function takes something else.
OTHERS = {
    "all": {"x": B}, "any": {"x": B}, "bitwise_count": {"x": N}, "in_bounds": {"x": N}, "one_hot": {"x": N},
    "bincount": {"x": N}, "choose": {"x": N}, "diag": {"x": V}, "unravel_index": {"shape": (2, 3)},
    "compress": {"x": M}, "extract": {"condition": M > 0}, "take_along_axis": {"indices": wa.matrix("j", "int64")},
    "put_along_axis": {"indices": wa.matrix("j", "int64")}, "add_along_axis": {"indices": wa.matrix("j", "int64")},
    "searchsorted": {"x": V}, "sliding_window_view": {"stride": 1, "dilation": 1}, "squeeze": {"x": M[None]},
    "cross": {"x1": wa.tensor("c", "float64", (3, None)), "x2": wa.tensor("c", "float64", (3, None))},
    "assert_": {"condition": B.all()}, "specify_shape": {"shape": (3, None)}, "pad": {"mode": "constant"},
    "categorical_crossentropy": {"y": N}, "categorical_crossentropy_with_logits": {"y": N}, "smooth_labels": {"y": N},
    "layer_norm": {}, "tensordot": {"axes": 1}, "jvp": {"expression": W * 2}, "digitize": {"x": V},
    "view_as_real": {"x": wa.matrix("z", "complex128")}, "vdot": {"x1": V, "x2": V}, "solve": {"b": V}, "print": {"x": V}, "prod_without_zeros": {},
    **{f"{kind}_pool": {"x": FOUR} for kind in ("max", "average", "sum")},
    **{f"conv{kind}2d": {"x": FOUR} for kind in ("", "_transpose")},
}  # fmt: skip
for AXES in (1, 3):
    IMAGES = wa.tensor("x", "float64", (None,) * (AXES + 2))
    LISTS = {"stride": [1] * AXES, "dilation": [1] * AXES, "padding": [(0, 0)] * AXES, "output_padding": [0] * AXES}
    OTHERS |= {f"conv{kind}{AXES}d": {"x": IMAGES, "filters": IMAGES, **LISTS} for kind in ("", "_transpose")}
# One of two arguments decides whether the other may be there.
INSTEAD = {"bincount": {"minlength"}, "pad": {"end_values"}} | {f"conv{n}d": {"output_padding"} for n in (1, 2, 3)}
MODULES = (wa.ops, wa.linalg, wa.fft, wa.losses, wa.schedules)
FUNCTIONS = [pytest.param(m, name, id=f"{m.__name__}.{name}") for m in MODULES for name in m.__all__]


@pytest.mark.parametrize("module, name", FUNCTIONS)
def test_a_function_takes_its_arguments_by_name(module, name):
    function = getattr(module, name)
    positional, named, others = [], {}, OTHERS.get(name, {})
    for parameter in inspect.signature(function).parameters.values():
        value = others.get(parameter.name, VALUES.get(parameter.name, M))
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            assert name in {"dimshuffle", "meshgrid", "reshape", "einsum"}
            return
        elif parameter.name not in INSTEAD.get(name, ()):
            named[parameter.name] = value
    if positional:
        return  # elementwise: by position, as in NumPy
    function(**named)
    with pytest.raises(TypeError, match="nonsense"):
        function(**named, nonsense=1)


@pytest.mark.parametrize("name", wa._methods._DRAWS)
def test_a_draw_takes_its_arguments_by_name(name):
    draw = getattr(wa.RandomStreams(1), name)
    parameters = inspect.signature(draw).parameters
    named = {parameter: VALUES[parameter] for parameter in parameters}
    named |= {"categorical": {"weights": V}, "choice": {"n": 5, "p": V}, "gamma": {"shape": 2.0}}.get(name, {})
    named |= {"beta": {"a": 1.0, "b": 2.0}, "binomial": {"n": 5, "p": 0.5}, "bernoulli": {"p": 0.5}}.get(name, {})
    named |= {"exponential": {"scale": 1.0}, "normal": {"scale": 1.0}, "dropout": {"rate": 0.5}}.get(name, {})
    named |= {"integers": {"low": 0, "high": 9}, "gamma": {"shape": 2.0, "scale": 1.0}}.get(name, {})
    draw(**named)
    with pytest.raises(TypeError, match="nonsense"):
        draw(**named, nonsense=1)


METHODS = {
    "compress": lambda x: x.compress([True, False, True], axis=0),
    "clip": lambda x: x.clip(2, 7),
    "repeat": lambda x: x.repeat(2, axis=1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "transpose": lambda x: x.transpose(1, 0),
    "reshape": lambda x: x.reshape(2, 6),
    "dot": lambda x: x.dot(x.T),
    "take": lambda x: x.take([1, -1], axis=1),
    "trace": lambda x: x.trace(1),
    "round": lambda x: x.round(),
    "cumsum": lambda x: x.cumsum(axis=1),
    "diagonal": lambda x: x.diagonal(1),
    "argsort": lambda x: x.argsort(axis=0),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_the_function_of_its_object(name):
    given, x = np.arange(12.0).reshape(3, 4), wa.matrix("x", "float64")
    np.testing.assert_array_equal(wa.function([x], METHODS[name](x))(given), METHODS[name](given))


def test_methods_show_theirs():
    assert str(inspect.signature(M.mean)) == "(axis=None, *, dtype=None, acc_dtype=None, keepdims=False)"
    assert str(inspect.signature(wa.take)) == "(x, indices, axis=None, mode='raise')"
