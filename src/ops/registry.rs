//! From a file's (id, version, attributes) back to an op.

use super::reduce::fold_named;
use super::*;
use crate::error::Error;
use std::collections::HashMap;
use std::sync::Arc;
use workalike_kernels::ops::ScalarOp;

type Decode = fn(&StoredOp) -> Result<Arc<dyn Op>, String>;

/// Every family: its id, the newest version this library reads, and how.
const FAMILIES: &[(&str, u32, Decode)] = &[
    ("elemwise", 1, |a| {
        let name = a.text("op")?;
        let op = ScalarOp::named(name).ok_or_else(|| format!("unknown elementwise op {name}"))?;
        Ok(Arc::new(Elemwise { op }))
    }),
    ("cast", 1, |a| Ok(Arc::new(Cast { dtype: a.dtype("dtype")? }))),
    ("complex", 1, |_| Ok(Arc::new(ComplexOf))),
    ("real_part", 1, |_| Ok(Arc::new(RealPart))),
    ("imag_part", 1, |_| Ok(Arc::new(ImagPart))),
    ("view_as_real", 1, |_| Ok(Arc::new(ViewAsReal))),
    ("view_as_complex", 1, |_| Ok(Arc::new(ViewAsComplex))),
    ("assert", 1, |a| Ok(Arc::new(Assert { message: a.text("message")?.into() }))),
    ("in_bounds", 1, |_| Ok(Arc::new(InBounds))),
    ("print", 1, |a| Ok(Arc::new(Print { label: a.text("label")?.into() }))),
    ("with_gradient", 1, |a| Ok(Arc::new(WithGradient::decode(a.text("passes")?, a.ints("numbers")?)?))),
    ("reduce", 1, |a| {
        let (acc_dtype, dtype) = (a.dtype("acc_dtype")?, a.dtype("dtype")?);
        let over_nothing = a.find("over_nothing").is_ok() && a.int("over_nothing")? != 0;
        Ok(Arc::new(Reduce { fold: a.fold()?, axes: a.axes("axes")?, acc_dtype, dtype, over_nothing }))
    }),
    ("argreduce", 1, |a| Ok(Arc::new(ArgReduce { fold: a.fold()?, axes: a.axes("axes")? }))),
    ("dot", 2, |a| {
        // The first version had no attributes.
        let count = |name| {
            if a.attributes.is_empty() { Ok(usize::from(name == "contracted")) } else { a.index(name) }
        };
        Ok(Arc::new(Dot { batch: count("batch")?, contracted: count("contracted")? }))
    }),
    ("dimshuffle", 1, |a| {
        let order = a.ints("order")?.iter().map(|&o| usize::try_from(o).ok()).collect();
        Ok(Arc::new(DimShuffle { order }))
    }),
    ("reshape", 1, |a| Ok(Arc::new(Reshape { extents: Extent::decode(a.ints("extents")?) }))),
    ("broadcast_to", 1, |a| Ok(Arc::new(BroadcastTo { extents: Extent::decode(a.ints("extents")?) }))),
    ("broadcast_like", 1, |_| Ok(Arc::new(BroadcastLike))),
    ("shape_of", 1, |a| Ok(Arc::new(ShapeOf { axis: a.index("axis")? }))),
    ("join", 1, |a| Ok(Arc::new(Join { axis: a.index("axis")? }))),
    ("specify_shape", 1, |a| {
        Ok(Arc::new(SpecifyShape {
            extents: a.ints("extents")?.iter().map(|&e| usize::try_from(e).ok()).collect(),
        }))
    }),
    ("equal_extents", 1, |a| {
        Ok(Arc::new(EqualExtents::decode(a.text("caller")?, a.index("axis")?, a.index("other")?)?))
    }),
    ("sum_like", 1, |_| Ok(Arc::new(SumLike))),
    ("arange", 1, |a| Ok(Arc::new(ARange { dtype: a.dtype("dtype")? }))),
    ("subtensor", 1, |a| Ok(Arc::new(Subtensor { slots: Slot::decode(a.ints("slots")?)? }))),
    ("inc_subtensor", 1, |a| {
        Ok(Arc::new(IncSubtensor { slots: Slot::decode(a.ints("slots")?)?, set: a.int("set")? != 0 }))
    }),
    ("advanced_subtensor", 1, |_| Ok(Arc::new(AdvancedSubtensor))),
    ("compress", 1, |_| Ok(Arc::new(Compress))),
    ("advanced_inc_subtensor", 1, |a| Ok(Arc::new(AdvancedIncSubtensor { set: a.int("set")? != 0 }))),
    ("advanced_fold", 1, |a| Ok(Arc::new(AdvancedFold::decode(a.text("fold")?)?))),
    // Files from before it was counted do not say so.
    ("nonzero", 1, |a| {
        let counted = a.int("counted").is_ok_and(|counted| counted != 0);
        Ok(Arc::new(NonZero { axis: usize::try_from(a.int("axis")?).ok(), counted }))
    }),
    ("check_index", 1, |a| Ok(Arc::new(CheckIndex::decode(a.text("caller")?)?))),
    ("searchsorted", 1, |a| Ok(Arc::new(SearchSorted { right: a.int("right")? != 0 }))),
    ("unique", 1, |_| Ok(Arc::new(UniqueOp))),
    ("softmax", 1, |a| Ok(Arc::new(Softmax { axis: a.index("axis")?, log: a.int("log")? != 0 }))),
    ("cumulative", 1, |a| {
        Ok(Arc::new(CumOp { fold: a.fold()?, axis: a.index("axis")?, reverse: a.int("reverse")? != 0 }))
    }),
    ("fourier", 1, |a| {
        let length = if a.find("length").is_ok() { a.int("length")? } else { 0 };
        Ok(Arc::new(FourierOp::decode(a.text("transform")?, a.index("axes")?, length)?))
    }),
    ("windows", 1, |a| Ok(Arc::new(a.windows()?))),
    ("window_sum", 1, |a| Ok(Arc::new(WindowSum { windows: a.windows()? }))),
    ("convolution", 1, |a| {
        let lists = [a.axes("stride")?, a.axes("padding")?, a.axes("dilation")?];
        Ok(Arc::new(Convolution::decode(a.text("role")?, lists, a.index("groups")?)?))
    }),
    ("sort", 1, |a| {
        let (axis, first) = (a.index("axis")?, usize::try_from(a.int("first")?).ok());
        let (descending, gives) = (a.int("descending")? != 0, Sorted::named(a.text("gives")?)?);
        Ok(Arc::new(Sort { axis, descending, first, gives }))
    }),
    // Without the option it is not said.
    ("cholesky", 1, |a| {
        let nan = a.int("nan").is_ok_and(|nan| nan != 0);
        Ok(Arc::new(Cholesky { upper: a.int("upper")? != 0, nan }))
    }),
    ("solve", 1, |_| Ok(Arc::new(Solve))),
    ("solve_triangular", 1, |a| {
        let (lower, transposed) = (a.int("lower")? != 0, a.int("transposed")? != 0);
        Ok(Arc::new(SolveTriangular { lower, transposed, unit_diagonal: a.int("unit_diagonal")? != 0 }))
    }),
    ("collective", 1, |a| Ok(Arc::new(CollectiveOp::decode(a)?))),
    ("own_part", 1, |a| Ok(Arc::new(OwnPart::decode(a)?))),
    ("equal_parts", 1, |a| Ok(Arc::new(EqualParts::decode(a)?))),
    ("group_rank", 1, |a| Ok(Arc::new(GroupPlace::decode(PlaceKind::Rank, a)?))),
    ("group_size", 1, |a| Ok(Arc::new(GroupPlace::decode(PlaceKind::Size, a)?))),
    ("transfer", 1, |a| Ok(Arc::new(Transfer { to: a.text("to")?.into() }))),
    ("kernel", 1, |a| kernel_op::decode(a, a.kernels)),
    ("scan", 2, |a| loops::decode(a)),
    ("while", 1, |a| WhileOp::decode(a)),
    ("branch", 1, |a| BranchOp::decode(a)),
    ("det", 1, |_| Ok(Arc::new(Det))),
    ("slogdet", 1, |_| Ok(Arc::new(SlogDet))),
    ("cofactors", 1, |_| Ok(Arc::new(Cofactors))),
];

/// The ids of this library's ops.
pub fn ids() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|f| f.0)
}

/// The ops that a file may hold: how each id becomes an op again.
///
/// A file holds an op as id, version and attributes ([`Op::id`], [`Op::version`], [`Op::attributes`]). A
/// Registry knows the ops of this library and the ops that a program registers:
///
/// ```
/// use std::sync::Arc;
/// use workalike::ops::{Attr, Attributes, Gradient, Op, Registry};
/// use workalike::prelude::*;
///
/// #[derive(Debug)]
/// struct Scale(i64);
///
/// impl Op for Scale {
///     fn id(&self) -> &'static str { "example.scale" }
///     fn attributes(&self) -> Attributes { vec![("by".into(), Attr::Int(self.0))] }
///     fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
///         Ok(vec![inputs[0].clone()])
///     }
///     fn grad(&self, _: &Gradient) -> workalike::Result<Vec<Option<Variable>>> { Ok(vec![None]) }
///     fn perform(&self, inputs: &[Value]) -> workalike::Result<Vec<Value>> {
///         let scaled = inputs[0].to_vec::<i64>()?.iter().map(|x| x * self.0).collect();
///         Ok(vec![Value::from_vec(inputs[0].shape(), scaled)?])
///     }
/// }
///
/// let registry = Registry::default().with("example.scale", 1, |op| Ok(Arc::new(Scale(op.int("by")?))))?;
/// let x = vector::<i64>("x");
/// let y = Variable::apply(Scale(3), &[x.clone()])?.remove(0);
/// let bundle = Bundle::new().with("f", &function([&x]).output(&y).compile()?);
/// let bytes = bundle.to_bytes_with(&registry)?;
/// let f = &Bundle::from_bytes_with(&bytes, &registry)?["f"];
/// assert_eq!(f.call(args![vec![1i64, 2]])?[0].to_vec::<i64>()?, [3, 6]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    /// The ops that are not this library's, by id.
    own: HashMap<String, RegistryEntry>,
    /// Whether kernels in C of a file may be compiled.
    kernels: bool,
}

/// What a Registry knows of an id.
#[derive(Clone)]
struct RegistryEntry {
    /// The newest version that `decode` reads.
    newest: u32,
    decode: Arc<Decoder>,
}

type Decoder = dyn Fn(&StoredOp) -> Result<Arc<dyn Op>, String> + Send + Sync;

impl Registry {
    /// This Registry with one more op. See [`Registry::register`].
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn with(
        mut self,
        id: &str,
        newest: u32,
        decode: impl Fn(&StoredOp) -> Result<Arc<dyn Op>, String> + Send + Sync + 'static,
    ) -> Result<Registry> {
        self.register(id, newest, decode)?;
        Ok(self)
    }

    /// Adds an op: `decode` makes it from what a file holds, for versions 1 to `newest`.
    ///
    /// Choose an id that no other program uses, e.g. with your crate's name in front: `mycrate.conv3d`.
    ///
    /// # Errors
    /// If the id is one of this library's, or was registered before.
    pub fn register(
        &mut self,
        id: &str,
        newest: u32,
        decode: impl Fn(&StoredOp) -> Result<Arc<dyn Op>, String> + Send + Sync + 'static,
    ) -> Result<()> {
        let fail = |given: &str| Err(Error::mismatch("Registry::register", "an id of its own", given));
        if ids().any(|known| known == id) {
            return fail(&format!("{id}, which is one of the library's ops"));
        }
        if self.own.contains_key(id) {
            return fail(&format!("{id}, which is registered already"));
        }
        self.own.insert(id.into(), RegistryEntry { newest, decode: Arc::new(decode) });
        Ok(())
    }

    /// The same ops, where kernels in C of a file may be compiled, or may not.
    pub(crate) fn with_kernels(mut self, allowed: bool) -> Registry {
        self.kernels = allowed;
        self
    }

    /// The op that a file describes.
    ///
    /// # Errors
    /// If the id is not known, the version is newer, or the attributes are not the op's.
    pub fn decode(&self, op: &StoredOp) -> Result<Arc<dyn Op>, String> {
        let (id, version) = (op.id, op.version);
        let check = |newest: u32| match version {
            v if (1..=newest).contains(&v) => Ok(()),
            _ => Err(format!("op {id} has version {version}; this program reads up to {newest}")),
        };
        if let Some((_, newest, decode)) = FAMILIES.iter().find(|f| f.0 == id) {
            check(*newest)?;
            op.check_lengths()?;
            let op = StoredOp { kernels: self.kernels, ..*op };
            return decode(&op).map_err(|e| format!("op {id}: {e}"));
        }
        let Some(entry) = self.own.get(id) else {
            return Err(format!(
                "unknown op {id}; a newer workalike may know it, or it is a program's own: load with \
                 Bundle::load_with and a Registry that has it"
            ));
        };
        check(entry.newest)?;
        let decoded = (entry.decode)(op).map_err(|e| format!("op {id}: {e}"))?;
        match decoded.id() {
            same if same == id => Ok(decoded),
            other => Err(format!("op {id}: its decoder gave an op with the id {other}")),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("own", &self.own.keys()).finish_non_exhaustive()
    }
}

impl StoredOp<'_> {
    fn windows(&self) -> Result<Windows, String> {
        let (window, stride) = (self.axes("window")?, self.axes("stride")?);
        Ok(Windows { window, stride, dilation: self.axes("dilation")? })
    }

    pub(super) fn fold(&self) -> Result<workalike_kernels::nest::Fold, String> {
        let name = self.text("fold")?;
        fold_named(name).ok_or_else(|| format!("unknown fold {name}"))
    }
}

#[cfg(test)]
mod tests;
