//! An example of every op that is no row of the elementwise table, over inputs of any dtype: what `docs/ops.md` is worked out from.

use workalike::graph::Operand;
use workalike::ops::{
    Bins, Method, Mode, Pad, Side, arange_between, eye, full, full_like, linspace, meshgrid, methods,
    ones_like, ravel_multi_index, tri, try_einsum, try_multi_dot, unravel_index,
};
use workalike::ops::{concatenate, stack};
use workalike::prelude::*;
use workalike::{Result, idx};

/// Inputs of an example: of one dtype where nothing else is said.
pub struct Kit {
    /// A matrix.
    pub x: Variable,
    /// Another one.
    pub y: Variable,
    /// A vector.
    pub v: Variable,
    /// A tensor of three axes.
    pub c: Variable,
    /// Positions, int64.
    pub i: Variable,
    /// Positions as a matrix, int64.
    pub ij: Variable,
    /// A matrix of bools.
    pub m: Variable,
    /// A vector of bools.
    pub b: Variable,
}

/// The extent of every axis of an example's inputs, but the first of `c`.
const EXTENT: usize = 6;

impl Kit {
    /// Inputs of a dtype.
    pub fn new(dtype: DType) -> Kit {
        let input = |name: &str, dtype, rank| Variable::input(name, TensorType::of_rank(dtype, rank));
        Kit {
            x: input("x", dtype, 2),
            y: input("y", dtype, 2),
            v: input("v", dtype, 1),
            c: input("c", dtype, 3),
            i: input("i", DType::I64, 1),
            ij: input("ij", DType::I64, 2),
            m: input("m", DType::Bool, 2),
            b: input("b", DType::Bool, 1),
        }
    }

    /// All of them.
    pub fn inputs(&self) -> [&Variable; 8] {
        [&self.x, &self.y, &self.v, &self.c, &self.i, &self.ij, &self.m, &self.b]
    }

    /// Values for them: ones.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn args(&self) -> Result<Args> {
        self.inputs().into_iter().try_fold(Args::new(), |args, input| {
            let shape = &[2, EXTENT, EXTENT][3 - input.ndim()..];
            let ones = vec![1i64; shape.iter().product()];
            Ok(args.with(Value::from_vec(shape, ones)?.cast(input.dtype())?))
        })
    }
}

/// Makes an example.
pub type Make = fn(&Kit) -> Result<Variable>;

/// An op that is no row of the table.
pub struct Entry {
    /// To which ops it belongs.
    pub family: &'static str,
    /// How it is written.
    pub written: String,
    /// What it computes.
    pub doc: String,
    /// An example.
    pub make: Make,
}

/// A function that is no method: how it is written, what it computes, an example.
type Function = (&'static str, &'static str, Make);

/// An example of a result that may be poisoned.
fn of(variable: Variable) -> Result<Variable> {
    variable.checked().cloned()
}

/// Examples of methods, by name.
const METHODS: &[(&str, Make)] = &[
    ("round", |k| k.x.try_round()),
    ("isclose", |k| k.x.try_isclose(&k.y, 1e-5, 1e-8)),
    ("sum", |k| k.x.try_sum(0)),
    ("prod", |k| k.x.try_prod(0)),
    ("prod_without_zeros", |k| k.x.try_prod_without_zeros(0)),
    ("mean", |k| k.x.try_mean()),
    ("mean_axes", |k| k.x.try_mean_axes(0)),
    ("var", |k| k.x.try_var(0)),
    ("std", |k| k.x.try_std(0)),
    ("logsumexp", |k| k.x.try_logsumexp(0)),
    ("norm", |k| k.x.try_norm(2.0, 0)),
    ("max", |k| k.x.try_max(0)),
    ("min", |k| k.x.try_min(0)),
    ("ptp", |k| k.x.try_ptp(0)),
    ("argmax", |k| k.x.try_argmax(0)),
    ("argmin", |k| k.x.try_argmin(0)),
    ("all", |k| k.x.try_all(0)),
    ("any", |k| k.x.try_any(0)),
    ("count_nonzero", |k| k.x.try_count_nonzero(0)),
    ("nansum", |k| k.x.try_nansum(0)),
    ("nanprod", |k| k.x.try_nanprod(0)),
    ("nanmax", |k| k.x.try_nanmax(0)),
    ("nanmin", |k| k.x.try_nanmin(0)),
    ("nanargmax", |k| k.x.try_nanargmax(0)),
    ("nanargmin", |k| k.x.try_nanargmin(0)),
    ("nanmean", |k| k.x.try_nanmean(0)),
    ("nanvar", |k| k.x.try_nanvar(0)),
    ("nanstd", |k| k.x.try_nanstd(0)),
    ("cumsum", |k| k.x.try_cumsum(0)),
    ("cumprod", |k| k.x.try_cumprod(0)),
    ("cummax", |k| k.x.try_cummax(0)),
    ("cummin", |k| k.x.try_cummin(0)),
    ("sort", |k| k.x.try_sort(0)),
    ("argsort", |k| k.x.try_argsort(0)),
    ("topk", |k| k.x.try_topk(3, 0)),
    ("argtopk", |k| k.x.try_argtopk(3, 0)),
    ("median", |k| k.x.try_median(0)),
    ("quantile", |k| k.x.try_quantile(0.9, 0)),
    ("nanmedian", |k| k.x.try_nanmedian(0)),
    ("nanquantile", |k| k.x.try_nanquantile(0.9, 0)),
    ("transpose", |k| k.x.try_transpose([1, 0])),
    ("moveaxis", |k| k.c.try_moveaxis(0, 2)),
    ("swapaxes", |k| k.c.try_swapaxes(0, 1)),
    ("squeeze", |k| k.x.try_expand_dims(0)?.try_squeeze(0)),
    ("flatten", |k| k.x.try_flatten()),
    ("specify_shape", |k| k.x.try_specify_shape([Some(EXTENT), None])),
    ("shape", |k| k.x.try_shape()),
    ("tile", |k| k.x.try_tile([2, 3])),
    ("repeat", |k| k.x.try_repeat(2, 0)),
    ("roll", |k| k.x.try_roll(1, 0)),
    ("flip", |k| k.x.try_flip(0)),
    ("pad", |k| k.x.try_pad([[1, 2], [0, 1]], Pad::Reflect)),
    ("diff", |k| k.x.try_diff(1, 0)),
    ("tril", |k| k.x.try_tril(0)),
    ("triu", |k| k.x.try_triu(0)),
    ("diagonal", |k| k.x.try_diagonal(0, 0, 1)),
    ("diag", |k| k.v.try_diag(0)),
    ("trace", |k| k.x.try_trace(0)),
    ("fill_diagonal", |k| k.x.try_fill_diagonal(1i64)),
    ("one_hot", |k| k.v.try_one_hot(EXTENT, DType::F32)),
    ("cast", |k| k.x.try_cast(DType::F64)),
    ("dot", |k| k.x.try_dot(&k.y)),
    ("dimshuffle", |k| k.x.try_dimshuffle([Some(1), None, Some(0)])),
    ("t", |k| k.x.try_t()),
    ("expand_dims", |k| k.x.try_expand_dims(0)),
    ("reshape", |k| k.x.try_reshape([-1, 2])),
    ("reshape_to", |k| k.x.try_reshape_to(vec![Operand::Int(2), Operand::Int(-1)])),
    ("broadcast_to", |k| k.v.try_expand_dims(0)?.try_broadcast_to([4, EXTENT])),
    ("extent", |k| k.x.try_extent(0)),
    ("index", |k| k.x.try_index(idx![1..3, &k.i])),
    ("take", |k| k.x.try_take(&k.i, 0)),
    ("set_index", |k| k.x.try_set_index(idx![&k.i], &k.y)),
    ("inc_index", |k| k.x.try_inc_index(idx![&k.i], &k.y)),
    ("mul_index", |k| k.x.try_mul_index(idx![&k.i], &k.y)),
    ("max_index", |k| k.x.try_max_index(idx![&k.i], &k.y)),
    ("min_index", |k| k.x.try_min_index(idx![&k.i], &k.y)),
    ("take_along_axis", |k| k.x.try_take_along_axis(&k.ij, 0)),
    ("put_along_axis", |k| k.x.try_put_along_axis(&k.ij, &k.y, 0)),
    ("add_along_axis", |k| k.x.try_add_along_axis(&k.ij, &k.y, 0)),
    ("choose", |k| k.ij.try_choose([k.x.clone(), k.y.clone()], Mode::Raise)),
    ("take_mode", |k| k.x.try_take_mode(&k.i, 0, Mode::Wrap)),
    ("flatnonzero", |k| k.x.try_flatnonzero()),
    ("argwhere", |k| k.x.try_argwhere()),
    ("compress", |k| k.x.try_compress(&k.b, 0)),
    ("extract", |k| k.x.try_extract(&k.m)),
    ("searchsorted", |k| k.v.try_searchsorted(&k.x, Side::Left)),
    ("searchsorted_by", |k| k.v.try_searchsorted_by(&k.x, Side::Left, k.v.try_argsort(0)?)),
    ("digitize", |k| k.x.try_digitize(&k.v, false)),
    ("bincount", |k| k.i.try_bincount(Some(&k.v), Bins::Exactly(EXTENT))),
    ("segment_sum", |k| k.x.try_segment_sum(&k.i, EXTENT)),
    ("segment_prod", |k| k.x.try_segment_prod(&k.i, EXTENT)),
    ("segment_max", |k| k.x.try_segment_max(&k.i, EXTENT)),
    ("segment_min", |k| k.x.try_segment_min(&k.i, EXTENT)),
    ("segment_mean", |k| k.x.try_segment_mean(&k.i, EXTENT)),
    ("matmul", |k| k.c.try_matmul(&k.x)),
    ("tensordot", |k| k.c.try_tensordot(&k.x, 1)),
    ("outer", |k| k.v.try_outer(&k.v)),
    ("inner", |k| k.x.try_inner(&k.y)),
    ("kron", |k| k.x.try_kron(&k.y)),
    ("vdot", |k| k.x.try_vdot(&k.y)),
    ("vecdot", |k| k.x.try_vecdot(&k.y, -1)),
    ("cross", |k| k.x.try_index(idx![.., 0..3])?.try_cross(k.y.try_index(idx![.., 0..3])?, -1)),
];

/// Functions that are no methods, by family.
const FUNCTIONS: &[(&str, &[Function])] = &[
    (
        "sorting",
        &[
            ("x.topk_both(k, axis)", "`topk` and `argtopk`, from one sort", |k| {
                let [values, _] = k.x.topk_both(3, 0);
                of(values)
            }),
            ("x.unique()", "the distinct elements, in order, where they stand and how often", |k| {
                Ok(k.x.try_unique()?.values)
            }),
        ],
    ),
    (
        "shape",
        &[
            ("concatenate(list, axis)", "joined along an axis", |k| of(concatenate([&k.x, &k.y], 0))),
            ("stack(list, axis)", "joined along a new axis", |k| of(stack([&k.x, &k.y], 0))),
            ("x.split(lens, axis)", "cut along an axis", |k| Ok(k.x.try_split([2, 4], 0)?.swap_remove(1))),
            ("meshgrid(list)", "vectors as grids of all their combinations", |k| {
                of(meshgrid([&k.v, &k.v]).swap_remove(1))
            }),
        ],
    ),
    (
        "creation",
        &[
            ("full(shape, value)", "an array of one number", |k| of(full([3i64, 4], k.v.try_max(..)?))),
            ("full_like(x, value)", "the same, as large as x", |k| of(full_like(&k.x, 2i64))),
            ("zeros_like(x), ones_like(x)", "zeros and ones, as many as x", |k| {
                of(zeros_like(&k.x).maximum(ones_like(&k.y)))
            }),
            ("arange(stop), arange_between(start, stop, step)", "numbers at equal distances", |k| {
                of(arange_between(&k.i.try_min(..)?, 9i64, 2i64).cast(k.x.dtype()))
            }),
            ("linspace(start, stop, count)", "so many numbers at equal distances, the last included", |k| {
                of(linspace(k.v.try_min(..)?, k.v.try_max(..)?, 5))
            }),
            ("eye(rows, columns, offset, dtype)", "ones on a diagonal", |k| {
                of(eye(k.x.try_extent(0)?, 4, 1, k.x.dtype()))
            }),
            ("tri(rows, columns, offset, dtype)", "ones at and below a diagonal", |k| {
                of(tri(k.x.try_extent(0)?, 4, 1, k.x.dtype()))
            }),
        ],
    ),
    (
        "positions",
        &[
            ("x.nonzero()", "where elements are not 0, as one array for each axis", |k| {
                Ok(k.x.try_nonzero()?.swap_remove(0))
            }),
            ("unravel_index(x, shape)", "positions in row-major order as one array for each axis", |k| {
                of(unravel_index(&k.v, [4i64, 4]).swap_remove(0))
            }),
            ("ravel_multi_index(list, shape, mode)", "the reverse", |k| {
                of(ravel_multi_index([&k.v, &k.v], [4i64, 4], Mode::Raise))
            }),
        ],
    ),
    (
        "products",
        &[
            (
                "einsum(subscripts, list)",
                "sums of products by name of axis; any string that NumPy takes",
                |k| try_einsum("bij,jk->bik", [&k.c, &k.x]),
            ),
            ("multi_dot(list)", "a chain of products, in the cheapest order", |k| {
                try_multi_dot([&k.x, &k.y, &k.x])
            }),
        ],
    ),
    (
        "networks",
        &[
            ("softmax(x, axis)", "exponentials with sum 1", |k| of(softmax(&k.x, -1))),
            ("log_softmax(x, axis)", "their logarithms", |k| of(log_softmax(&k.x, -1))),
            ("categorical_crossentropy(p, y)", "minus the logarithm of the probability of each label", |k| {
                of(categorical_crossentropy(&k.x, &k.i))
            }),
        ],
    ),
];

/// Every op that is no row of the table.
///
/// # Errors
/// The name of a method of which there is no example here.
pub fn entries() -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let functions = |wanted: &'static str| {
        let of_family = FUNCTIONS.iter().filter(move |f| f.0 == wanted);
        of_family.flat_map(|&(family, list)| list.iter().map(move |f| (family, f))).map(
            |(family, &(written, doc, make))| Entry {
                family,
                written: written.into(),
                doc: doc.into(),
                make,
            },
        )
    };
    let families = methods();
    for (family, list) in families {
        for method in list {
            let Some(make) = METHODS.iter().find(|m| m.0 == method.name).map(|m| m.1) else {
                // Elementwise methods are rows of the table, where they are described.
                if family == "elementwise functions" {
                    continue;
                }
                return Err(format!("there is no example of {} in catalogue.rs", method.name));
            };
            entries.push(Entry { family, written: written(method), doc: method.doc.trim().into(), make });
        }
        entries.extend(functions(family));
    }
    for (family, _) in FUNCTIONS.iter().filter(|f| families.iter().all(|m| m.0 != f.0)) {
        entries.extend(functions(family));
    }
    Ok(entries)
}

fn written(method: &Method) -> String {
    format!("x.{}({})", method.name, method.arguments.join(", "))
}
