//! From a file's (id, version, attributes) back to an op.

use super::reduce::fold_named;
use super::*;
use crate::kernels::ops::ScalarOp;
use std::sync::Arc;

type Decode = fn(&Reader) -> Result<Arc<dyn Op>, String>;

/// Every family: its id, the newest version this library reads, and how.
const FAMILIES: &[(&str, u32, Decode)] = &[
    ("elemwise", 1, |a| {
        let name = a.text("op")?;
        let op = ScalarOp::named(name).ok_or_else(|| format!("unknown elementwise op {name}"))?;
        Ok(Arc::new(Elemwise { op }))
    }),
    ("cast", 1, |a| Ok(Arc::new(Cast { dtype: a.dtype("dtype")? }))),
    ("assert", 1, |a| Ok(Arc::new(Assert { message: a.text("message")?.into() }))),
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
        let count = |name| if a.0.is_empty() { Ok(usize::from(name == "contracted")) } else { a.index(name) };
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
    ("advanced_inc_subtensor", 1, |a| Ok(Arc::new(AdvancedIncSubtensor { set: a.int("set")? != 0 }))),
    ("advanced_fold", 1, |a| Ok(Arc::new(AdvancedFold::decode(a.text("fold")?)?))),
    ("nonzero", 1, |a| Ok(Arc::new(NonZero { axis: usize::try_from(a.int("axis")?).ok() }))),
    ("check_index", 1, |a| Ok(Arc::new(CheckIndex::decode(a.text("caller")?)?))),
    ("searchsorted", 1, |a| Ok(Arc::new(SearchSorted { right: a.int("right")? != 0 }))),
    ("unique", 1, |_| Ok(Arc::new(UniqueOp))),
    ("softmax", 1, |a| Ok(Arc::new(Softmax { axis: a.index("axis")?, log: a.int("log")? != 0 }))),
    ("cumulative", 1, |a| {
        Ok(Arc::new(CumOp { fold: a.fold()?, axis: a.index("axis")?, reverse: a.int("reverse")? != 0 }))
    }),
    ("sort", 1, |a| {
        let (axis, first) = (a.index("axis")?, usize::try_from(a.int("first")?).ok());
        let (descending, gives) = (a.int("descending")? != 0, Sorted::named(a.text("gives")?)?);
        Ok(Arc::new(Sort { axis, descending, first, gives }))
    }),
];

/// The ids of all families.
pub fn ids() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|f| f.0)
}

/// The op of this id, version and attributes.
///
/// # Errors
/// If this library does not know it, or the attributes are not the family's.
pub fn decode(id: &str, version: u32, attributes: &Attributes) -> Result<Arc<dyn Op>, String> {
    let family = FAMILIES.iter().find(|f| f.0 == id);
    let (_, newest, decode) =
        family.ok_or_else(|| format!("unknown op {id}; a newer workalike may know it"))?;
    if version == 0 || version > *newest {
        return Err(format!("op {id} has version {version}; this workalike reads up to {newest}"));
    }
    decode(&Reader(attributes))
}

/// Finds attributes by name and type.
struct Reader<'a>(&'a Attributes);

impl Reader<'_> {
    fn find(&self, name: &str) -> Result<&Attr, String> {
        self.0
            .iter()
            .find(|a| a.0 == name)
            .map(|a| &a.1)
            .ok_or_else(|| format!("attribute {name} is missing"))
    }

    fn int(&self, name: &str) -> Result<i64, String> {
        match self.find(name)? {
            Attr::Int(n) => Ok(*n),
            other => Err(format!("attribute {name} is {other:?}")),
        }
    }

    fn index(&self, name: &str) -> Result<usize, String> {
        usize::try_from(self.int(name)?).map_err(|e| format!("attribute {name}: {e}"))
    }

    fn ints(&self, name: &str) -> Result<&[i64], String> {
        match self.find(name)? {
            Attr::Ints(list) => Ok(list),
            other => Err(format!("attribute {name} is {other:?}")),
        }
    }

    fn axes(&self, name: &str) -> Result<Vec<usize>, String> {
        let axes = self.ints(name)?.iter().map(|&n| usize::try_from(n));
        axes.collect::<Result<_, _>>().map_err(|e| format!("attribute {name}: {e}"))
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        match self.find(name)? {
            Attr::Text(text) => Ok(text),
            other => Err(format!("attribute {name} is {other:?}")),
        }
    }

    fn dtype(&self, name: &str) -> Result<DType, String> {
        match self.find(name)? {
            Attr::Type(dtype) => Ok(*dtype),
            other => Err(format!("attribute {name} is {other:?}")),
        }
    }

    fn fold(&self) -> Result<crate::kernels::nest::Fold, String> {
        let name = self.text("fold")?;
        fold_named(name).ok_or_else(|| format!("unknown fold {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::positions::CALLERS;
    use super::*;
    use crate::kernels::nest::Fold;

    #[test]
    fn every_family_comes_back_from_its_attributes() {
        let slots = vec![
            Slot::Index(Bound::Input(0)),
            Slot::Slice { start: Bound::At(-3), stop: Bound::Open, step: -2 },
        ];
        let ops: Vec<Arc<dyn Op>> = vec![
            Arc::new(Elemwise { op: crate::kernels::ops::TANH }),
            Arc::new(Cast { dtype: DType::BF16 }),
            Arc::new(Assert { message: "positive".into() }),
            Arc::new(Print { label: "x".into() }),
            Arc::new(WithGradient { passes: Passes::Clipped { low: -0.5, high: 1e300 } }),
            Arc::new(Reduce {
                fold: Fold::Max,
                axes: vec![0, 2],
                acc_dtype: DType::F32,
                dtype: DType::F16,
                over_nothing: true,
            }),
            Arc::new(ArgReduce { fold: Fold::ArgMin, axes: vec![1] }),
            Arc::new(Dot { batch: 2, contracted: 3 }),
            Arc::new(DimShuffle { order: vec![Some(1), None, Some(0)] }),
            Arc::new(Reshape { extents: vec![Extent::Infer, Extent::Fixed(3), Extent::Input(1)] }),
            Arc::new(BroadcastTo { extents: vec![Extent::Input(0), Extent::Fixed(0)] }),
            Arc::new(BroadcastLike),
            Arc::new(ShapeOf { axis: 2 }),
            Arc::new(Join { axis: 3 }),
            Arc::new(SpecifyShape { extents: vec![None, Some(7)] }),
            Arc::new(EqualExtents::decode("einsum", 2, 1).unwrap()),
            Arc::new(SumLike),
            Arc::new(ARange { dtype: DType::I64 }),
            Arc::new(Subtensor { slots: slots.clone() }),
            Arc::new(IncSubtensor { slots, set: true }),
            Arc::new(AdvancedSubtensor),
            Arc::new(AdvancedIncSubtensor { set: false }),
            Arc::new(AdvancedFold { fold: Fold::Min }),
            Arc::new(NonZero { axis: Some(2) }),
            Arc::new(CheckIndex { caller: CALLERS[1] }),
            Arc::new(SearchSorted { right: true }),
            Arc::new(UniqueOp),
            Arc::new(Softmax { axis: 1, log: true }),
            Arc::new(CumOp { fold: Fold::Product, axis: 2, reverse: true }),
            Arc::new(Sort { axis: 1, descending: true, first: Some(3), gives: Sorted::Both }),
        ];
        assert_eq!(ops.len(), ids().count(), "every family is here");
        for op in ops {
            let back = decode(op.id(), op.version(), &op.attributes()).unwrap();
            assert_eq!(format!("{op:?}"), format!("{back:?}"));
        }
        assert!(decode("warp_drive", 1, &vec![]).is_err());
        assert!(decode("dot", 99, &vec![]).is_err());
        assert_eq!(format!("{:?}", decode("dot", 1, &vec![]).unwrap()), format!("{:?}", Dot::PLAIN));
    }
}
