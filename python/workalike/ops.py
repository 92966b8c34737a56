"""Functions of Variables, under NumPy's names where NumPy has them. Arguments are Variables, numbers and arrays."""

from . import _workalike
from ._table import made as _made
from ._workalike import call as _call

_ROWS, _METHODS = _workalike.methods()
_DOCS = {name: doc for name, _, doc in _ROWS} | {name: doc for name, _, doc in _METHODS}

# Functions that the table of elementwise ops does not have.
_FURTHER = """
add_along_axis all all_gather all_reduce angle any arange argmax argmin argsort argtopk argwhere assert_ astype
average_pool bincount bitwise_count broadcast_from broadcast_to cast choose clip_norm collective_permute complex
compress concat concatenate conj consider_constant conv1d conv2d conv3d conv_transpose1d conv_transpose2d
conv_transpose3d count_nonzero cross cummax cummin cumprod cumsum diag diagonal diff digitize dimshuffle dot einsum
expand_dims extent extract eye fill_diagonal flatnonzero flatten flip from_polar full full_like gelu grad_clip
group_rank group_size hessian hvp imag in_bounds inner isclose jacobian jvp kron layer_norm linspace log_softmax
logsumexp matmul max max_pool mean median meshgrid min moveaxis multi_dot nanargmax nanargmin nanmax nanmean nanmedian
nanmin nanprod nanquantile nanstd nansum nanvar nonzero one_hot ones ones_like outer own_part pad permute_dims print
prod prod_without_zeros ptp put_along_axis quantile ravel ravel_multi_index real reduce_scatter repeat reshape roll
round rsqrt searchsorted segment_max segment_mean segment_min segment_prod segment_sum shape silu sliding_window_view
softmax sort specify_shape split squeeze stack std sum sum_pool swapaxes take take_along_axis tensordot tile topk trace
transfer transpose tri tril triu unique unravel_index var vdot vecdot view_as_complex view_as_real vjp zero_grad zeros
zeros_like
""".split()

# Other names of the same functions: NumPy's, the array API's, JAX's and Theano's.
_ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "conjugate": "conj",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "divide": "true_divide",
    "mod": "remainder",
    "pow": "power",
    "square": "sqr",
    "amax": "max",
    "amin": "min",
}


_ARITIES = {name: arity for name, arity, _ in _ROWS if not name.startswith(("draw_", "philox"))}
for _name in [*_ARITIES, *_FURTHER]:
    globals()[_name] = _made(__name__, _name, _name, _DOCS.get(_name), _ARITIES.get(_name))
for _name, _target in _ALIASES.items():
    globals().setdefault(_name, _made(__name__, _name, _target, _DOCS.get(_target), _ARITIES.get(_target)))


def grad(cost, wrt, *, consider_constant=None, disconnected_inputs="raise"):
    """The gradient of a 0-d cost: an expression for a Variable, a list for a list of them."""
    several = isinstance(wrt, (list, tuple))
    made = _call(
        "grad",
        cost,
        list(wrt) if several else [wrt],
        consider_constant=consider_constant,
        disconnected_inputs=disconnected_inputs,
    )
    return list(made) if several else made[0]


__all__ = sorted({*_ARITIES, *_FURTHER, *_ALIASES, "grad"})
