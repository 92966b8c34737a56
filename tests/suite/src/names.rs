//! The names of ops in `docs/ops.md`: in Rust, with the path of the method or function, and in NumPy, SciPy
//! or Theano.

use workalike::kernels::ops::ScalarOp;
use workalike::{Error, Result};

/// Ops that NumPy has under the same name: `numpy.NAME`.
const NUMPY: &[&str] = &[
    "absolute",
    "add",
    "all",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "bincount",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "cbrt",
    "ceil",
    "choose",
    "clip",
    "compress",
    "concatenate",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cumprod",
    "angle",
    "conj",
    "cumsum",
    "imag",
    "real",
    "deg2rad",
    "diag",
    "diagonal",
    "diff",
    "digitize",
    "dot",
    "einsum",
    "equal",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fill_diagonal",
    "flatnonzero",
    "flip",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "inner",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "kron",
    "left_shift",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "outer",
    "pad",
    "power",
    "prod",
    "ptp",
    "put_along_axis",
    "quantile",
    "rad2deg",
    "ravel_multi_index",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "right_shift",
    "rint",
    "roll",
    "round",
    "searchsorted",
    "shape",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "tri",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "unique",
    "unravel_index",
    "var",
    "vdot",
    "vecdot",
    "where",
];

/// Ops that SciPy has under the same name: `scipy.special.NAME`.
const SCIPY: &[&str] = &[
    "betainc",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hyp2f1",
    "i0",
    "i1",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kve",
    "log_softmax",
    "logsumexp",
    "ndtri",
    "owens_t",
    "polygamma",
    "softmax",
    "xlog1py",
    "xlogy",
];

/// Ops with another name elsewhere.
const OTHERS: &[(&str, &str)] = &[
    ("add_along_axis", "numpy.add.at with indices along an axis"),
    ("all_gather", "MPI Allgather, jax.lax.all_gather with tiled=True"),
    ("all_reduce", "MPI Allreduce, jax.lax.psum, pmean, pmax, pmin"),
    ("argtopk", "Theano argtopk"),
    ("assert", "Theano Assert"),
    ("average_pool", "Theano signal.pool.pool_2d (average)"),
    ("broadcast_from", "MPI Bcast"),
    ("cast", "numpy.ndarray.astype, Theano cast"),
    ("categorical_crossentropy", "Theano nnet.categorical_crossentropy"),
    ("collective_permute", "XLA CollectivePermute, jax.lax.ppermute"),
    ("conv1d", "Theano nnet.conv (one axis), jax.lax.conv"),
    ("conv2d", "Theano nnet.conv2d"),
    ("conv3d", "Theano nnet.conv3d"),
    ("conv_transpose1d", "jax.lax.conv_transpose (one axis)"),
    ("conv_transpose2d", "Theano nnet.abstract_conv.conv2d_grad_wrt_inputs"),
    ("conv_transpose3d", "Theano nnet.abstract_conv.conv3d_grad_wrt_inputs"),
    ("cummax", "numpy.maximum.accumulate"),
    ("cummin", "numpy.minimum.accumulate"),
    ("dimshuffle", "Theano dimshuffle"),
    ("extent", "x.shape[axis]"),
    ("complex", "numpy: re + 1j * im, jax.lax.complex"),
    ("group_rank", "MPI Comm_rank, jax.lax.axis_index"),
    ("group_size", "MPI Comm_size, jax.lax.axis_size"),
    ("own_part", "x[rank * n // size:(rank + 1) * n // size], jax.lax.dynamic_slice by axis_index"),
    ("reduce_scatter", "MPI Reduce_scatter_block, jax.lax.psum_scatter with tiled=True"),
    ("view_as_real", "torch.view_as_real, z.view(float)"),
    ("view_as_complex", "torch.view_as_complex, x.view(complex)"),
    ("from_polar", "Theano complex_from_polar, torch.polar"),
    ("fft::fft", "numpy.fft.fft"),
    ("fft::fftfreq", "numpy.fft.fftfreq"),
    ("fft::fftn", "numpy.fft.fftn"),
    ("fft::ifft", "numpy.fft.ifft"),
    ("fft::ifftn", "numpy.fft.ifftn"),
    ("binary_crossentropy", "Theano nnet.binary_crossentropy"),
    ("binary_crossentropy_with_logits", "Theano sigmoid_binary_crossentropy, optax"),
    ("bitwise_count", "numpy.bitwise_count"),
    ("categorical_crossentropy_with_logits", "optax.softmax_cross_entropy"),
    ("draw_binomial", "numpy.random.Generator.binomial, of key and counter"),
    ("draw_log_gamma", "numpy.random.Generator.gamma, of key and counter"),
    ("draw_poisson", "numpy.random.Generator.poisson, of key and counter"),
    ("fft::irfft", "numpy.fft.irfft"),
    ("fft::irfftn", "numpy.fft.irfftn"),
    ("fft::rfft", "numpy.fft.rfft"),
    ("fft::rfftfreq", "numpy.fft.rfftfreq"),
    ("fft::rfftn", "numpy.fft.rfftn"),
    ("flatten", "numpy.ravel"),
    ("hard_sigmoid", "Theano nnet.hard_sigmoid"),
    ("in_bounds", "jax promise_in_bounds"),
    ("inc_index", "numpy.add.at, Theano inc_subtensor"),
    ("gelu", "jax.nn.gelu(approximate=False)"),
    ("huber", "scipy.special.huber, optax.huber_loss"),
    ("index", "x[...]"),
    ("layer_norm", "flax.linen.LayerNorm"),
    ("linalg::cholesky", "numpy.linalg.cholesky"),
    ("linalg::cholesky_or_nan", "PyTensor cholesky(on_error=\"nan\")"),
    ("linalg::cholesky_upper", "numpy.linalg.cholesky(upper=True)"),
    ("linalg::det", "numpy.linalg.det"),
    ("linalg::inv", "numpy.linalg.inv"),
    ("linalg::slogdet", "numpy.linalg.slogdet"),
    ("linalg::solve", "numpy.linalg.solve"),
    ("linalg::solve_triangular", "scipy.linalg.solve_triangular"),
    ("log1mexp", "PyTensor log1mexp"),
    ("loops::fori", "jax.lax.fori_loop"),
    ("loops::if_else", "Theano ifelse, jax.lax.cond"),
    ("loops::map", "Theano map, jax.lax.map"),
    ("loops::reduce", "Theano reduce, foldl, foldr"),
    ("loops::scan", "Theano scan, jax.lax.scan"),
    ("loops::switch", "jax.lax.switch"),
    ("loops::vmap", "jax.vmap"),
    ("loops::while_loop", "Theano scan with until, jax.lax.while_loop"),
    ("max_index", "numpy.maximum.at"),
    ("max_pool", "Theano signal.pool.pool_2d (max)"),
    ("min_index", "numpy.minimum.at"),
    ("mul_index", "numpy.multiply.at"),
    ("multi_dot", "numpy.linalg.multi_dot"),
    ("norm", "numpy.linalg.norm"),
    ("one_hot", "Theano extra_ops.to_one_hot"),
    ("philox", "Random123 philox4x32"),
    ("print", "Theano printing.Print"),
    ("prod_without_zeros", "Theano ProdWithoutZeros"),
    ("relu", "Theano nnet.relu"),
    ("round_half_away_from_zero", "Theano round_half_away_from_zero"),
    ("rsqrt", "jax.lax.rsqrt"),
    ("sort_both", "torch.sort"),
    ("silu", "jax.nn.silu"),
    ("searchsorted_by", "numpy.searchsorted with sorter="),
    ("segment_max", "jax.ops.segment_max"),
    ("segment_mean", "tf.math.segment_mean"),
    ("segment_min", "jax.ops.segment_min"),
    ("segment_prod", "jax.ops.segment_prod"),
    ("segment_sum", "jax.ops.segment_sum"),
    ("set_index", "Theano set_subtensor"),
    ("sigmoid", "scipy.special.expit, Theano nnet.sigmoid"),
    ("sliding_windows", "numpy.lib.stride_tricks.sliding_window_view"),
    ("softplus", "Theano nnet.softplus"),
    ("softsign", "Theano nnet.softsign"),
    ("specify_shape", "Theano specify_shape"),
    ("split", "Theano split"),
    ("sqr", "numpy.square, Theano sqr"),
    ("sum_pool", "Theano signal.pool.pool_2d (sum)"),
    ("t", "x.T"),
    ("take_mode", "numpy.take with mode="),
    ("topk", "Theano topk"),
    ("topk_both", "Theano topk_and_argtopk"),
    ("transfer", "Theano Variable.transfer, jax.device_put"),
    ("trigamma", "scipy.special.polygamma(1, x)"),
    ("trunc_divide", "C's integer division"),
    ("xlogx", "Theano xlogx"),
    ("zeros_like", "numpy.zeros_like, numpy.ones_like"),
];

/// Rows of the table whose operator, method or function has another name: row, expression, path.
const SPELLED: &[(&str, &str, &str)] = &[
    ("absolute", "x.abs()", "Variable::abs"),
    ("add", "x + y", "std::ops::Add"),
    ("bitwise_and", "x & y", "std::ops::BitAnd"),
    ("bitwise_or", "x | y", "std::ops::BitOr"),
    ("bitwise_xor", "x ^ y", "std::ops::BitXor"),
    ("left_shift", "x << y", "std::ops::Shl"),
    ("logical_and", "x.and(y)", "Variable::and"),
    ("logical_not", "x.not()", "Variable::not"),
    ("logical_or", "x.or(y)", "Variable::or"),
    ("logical_xor", "x.xor(y)", "Variable::xor"),
    ("multiply", "x * y", "std::ops::Mul"),
    ("negative", "-x", "std::ops::Neg"),
    ("power", "x.pow(y)", "Variable::pow"),
    ("remainder", "x % y", "std::ops::Rem"),
    ("right_shift", "x >> y", "std::ops::Shr"),
    ("round_half_away_from_zero", "x.round_half_away()", "Variable::round_half_away"),
    ("subtract", "x - y", "std::ops::Sub"),
    ("true_divide", "x / y", "std::ops::Div"),
    ("where", "where_(c, x, y)", "ops::where_"),
];

/// Rows that are functions of several arguments.
const FUNCTIONS: [&str; 10] =
    ["gammainc", "gammaincc", "betainc", "polygamma", "jv", "iv", "ive", "kve", "owens_t", "hyp2f1"];

/// The expression of a row of the table in Rust, and the path of the method or function.
pub(crate) fn spelled(op: ScalarOp) -> (String, String) {
    let row = op.row();
    if let Some((_, written, path)) = SPELLED.iter().find(|s| s.0 == row.name) {
        return ((*written).into(), (*path).into());
    }
    let mut methods = workalike::ops::methods().into_iter().flat_map(|(_, list)| list);
    if let Some(method) = methods.find(|m| m.name == row.name) {
        let written = format!("x.{}({})", method.name, method.arguments.join(", "));
        return (written, format!("Variable::{}", method.name));
    }
    if FUNCTIONS.contains(&row.name) {
        let arguments = ["a", "b", "c", "d"][..row.arity].join(", ");
        return (format!("{}({arguments})", row.name), format!("ops::{}", row.name));
    }
    (format!("elementwise({}, [..])", row.name.to_uppercase()), "ops::elementwise".into())
}

/// The names and paths of methods and functions, from their expressions: `x.sum(axes)` or `f(a), g(b)`.
pub(crate) fn named(written: &str) -> (String, String) {
    let calls = written.split("), ").filter_map(|call| call.split('(').next());
    let of = |call: &str| match call.strip_prefix("x.") {
        Some(method) => (method.to_string(), format!("Variable::{method}")),
        None if call.starts_with("loops::") => (call.to_string(), call.to_string()),
        None => (call.to_string(), format!("ops::{call}")),
    };
    let (names, paths): (Vec<String>, Vec<String>) = calls.map(of).unzip();
    let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    (names.first().cloned().unwrap_or_default(), paths.join(", "))
}

/// The name of an op in other libraries, by its name here: that of its row, its method or its function.
///
/// # Errors
/// If the op is in none of the lists above.
pub(crate) fn elsewhere(name: &str) -> Result<String> {
    if NUMPY.contains(&name) {
        return Ok(format!("numpy.{name}"));
    }
    if SCIPY.contains(&name) {
        return Ok(format!("scipy.special.{name}"));
    }
    match OTHERS.iter().find(|o| o.0 == name) {
        Some((_, other)) => Ok((*other).into()),
        None => Err(Error::Internal(format!("names.rs has no name of {name} in other libraries"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_op_has_one_name_elsewhere() {
        let listed = NUMPY.iter().chain(SCIPY).chain(OTHERS.iter().map(|o| &o.0));
        let mut names: Vec<&str> = listed.copied().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert_eq!(elsewhere("exp").unwrap(), "numpy.exp");
        assert!(elsewhere("warp_drive").is_err());
    }

    #[test]
    fn paths_follow_from_how_ops_are_written() {
        assert_eq!(named("x.sum(axes)"), ("sum".into(), "`Variable::sum`".into()));
        assert_eq!(named("eye(n, m), tri(n)"), ("eye".into(), "`ops::eye`, `ops::tri`".into()));
    }
}
