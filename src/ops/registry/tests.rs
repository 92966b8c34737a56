//! Every op of the library comes back from its attributes.

use super::index_routines::CALLERS;
use super::*;
use crate::op::OpGroup;
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

fn decode(id: &str, version: u32, attributes: &Attributes) -> Result<Arc<dyn Op>, String> {
    Registry::default().decode(&StoredOp::new(id, version, attributes))
}

#[test]
fn every_family_comes_back_from_its_attributes() {
    let slots =
        vec![Slot::Index(Bound::Input(0)), Slot::Slice { start: Bound::At(-3), stop: Bound::Open, step: -2 }];
    let windows = Windows { window: vec![3, 2], stride: vec![1, 2], dilation: vec![2, 1] };
    let ops: Vec<Arc<dyn Op>> = vec![
        Arc::new(Elemwise { op: workalike_kernels::ops::TANH }),
        Arc::new(Cast { dtype: DType::BF16 }),
        Arc::new(ComplexOf),
        Arc::new(RealPart),
        Arc::new(ImagPart),
        Arc::new(ViewAsReal),
        Arc::new(ViewAsComplex),
        Arc::new(Assert { message: "positive".into() }),
        Arc::new(InBounds),
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
        Arc::new(Compress),
        Arc::new(AdvancedIncSubtensor { set: false }),
        Arc::new(AdvancedFold { fold: Fold::Min }),
        Arc::new(NonZero { axis: Some(2), counted: true }),
        Arc::new(CheckIndex { caller: CALLERS[1] }),
        Arc::new(SearchSorted { right: true }),
        Arc::new(UniqueOp),
        Arc::new(Softmax { axis: 1, log: true }),
        Arc::new(CumOp { fold: Fold::Product, axis: 2, reverse: true }),
        Arc::new(windows.clone()),
        Arc::new(WindowSum { windows }),
        Arc::new(Convolution {
            role: ConvolutionRole::FilterGradient,
            stride: vec![2, 1],
            padding: vec![(0, 1), (2, 3)],
            dilation: vec![1, 3],
            groups: 4,
        }),
        Arc::new(FourierOp { transform: Transform::RealInverse(Extent::Fixed(5)), axes: 1 }),
        Arc::new(Sort { axis: 1, descending: true, first: Some(3), gives: Sorted::Both }),
        Arc::new(Cholesky { upper: true, nan: true }),
        Arc::new(Solve),
        Arc::new(SolveTriangular::LOWER.transposed().unit_diagonal()),
        Arc::new(Det),
        Arc::new(SlogDet),
        Arc::new(Cofactors),
        Arc::new(Transfer { to: "dev1".into() }),
        Arc::new(CollectiveOp::new(CollectiveKind::Permute(Route::Pairs(vec![(0, 3), (2, 1)])), "workers")),
        Arc::new(OwnPart::new(1, "workers")),
        Arc::new(EqualParts { axis: 1, group: OpGroup::new("workers") }),
        Arc::new(GroupPlace::new(PlaceKind::Rank, "workers")),
        Arc::new(GroupPlace::new(PlaceKind::Size, "workers")),
    ];
    // Kernels are in `kernel_op/tests.rs`, loops and branches in `loops`.
    assert_eq!(ops.len() + 4, ids().count(), "every family is here");
    for op in ops {
        let back = decode(op.id(), op.version(), &op.attributes()).unwrap();
        assert_eq!(format!("{op:?}"), format!("{back:?}"));
    }
    let kinds = [
        CollectiveKind::AllReduce(Fold::Max),
        CollectiveKind::ReduceScatter(Fold::Sum),
        CollectiveKind::AllGather,
        CollectiveKind::Broadcast { root: 2 },
        CollectiveKind::Permute(Route::Shift(-1)),
    ];
    for kind in kinds {
        let op = CollectiveOp::new(kind, "workers");
        let back = decode("collective", 1, &op.attributes()).unwrap();
        assert_eq!(format!("{op:?}"), format!("{back:?}"));
    }
    let odd = |name: &str, value| {
        let text = |key: &str, value: &str| (key.to_string(), Attr::Text(value.into()));
        let attributes = vec![text("kind", name), text("group", "g"), value];
        decode("collective", 1, &attributes).unwrap_err().to_string()
    };
    assert!(odd("permute", ("pairs".into(), Attr::Ints(vec![0, 1, 2]))).contains("two members each"));
    assert!(odd("broadcast", ("root".into(), Attr::Int(-1))).contains("no member's rank"));
    assert!(odd("gossip", ("root".into(), Attr::Int(0))).contains("unknown collective"));
    // An attribute that files from before it do not have.
    let old = vec![("upper".into(), Attr::Int(1))];
    assert_eq!(
        format!("{:?}", decode("cholesky", 1, &old).unwrap()),
        format!("{:?}", Cholesky { upper: true, nan: false })
    );
    assert!(decode("warp_drive", 1, &vec![]).is_err());
    assert!(decode("dot", 99, &vec![]).is_err());
    assert_eq!(format!("{:?}", decode("dot", 1, &vec![]).unwrap()), format!("{:?}", Dot::PLAIN));
}
