//! Nests that are detected as products, and their tiles.

use super::*;
use crate::nest::{Block, Fold, FoldOf, Index, Operand, Store};
use crate::ops;

fn gpu() -> Target {
    Target {
        dialect: Dialect::OpenClC,
        max_group: 256,
        local_memory: 48 << 10,
        lanes: 132 * 2048,
        cpu: false,
        fast: false,
        sizes: Default::default(),
    }
}

/// `c = a b`, either factor transposed if asked.
fn product([m, n, k]: [u64; 3], transposed: [bool; 2]) -> Nest {
    let load = |operand: usize, mut place: [usize; 2]| {
        if transposed[operand] {
            place.swap(0, 1);
        }
        Inst::Load { operand, index: place.map(Index::axis).to_vec() }
    };
    let shape = |mut shape: [u64; 2], transposed: bool| {
        if transposed {
            shape.swap(0, 1);
        }
        Operand::contiguous(DType::F32, &shape, false)
    };
    let insts = vec![load(0, [0, 2]), load(1, [2, 1]), Inst::Op { op: ops::MUL, args: vec![0, 1] }];
    let folds = vec![FoldOf { fold: Fold::Sum, value: 2, index: None }];
    let block = Block { insts: vec![Inst::Folded { phase: 0, fold: 0 }] };
    let store =
        Store { operand: 2, index: vec![Index::axis(0), Index::axis(1)], value: 0, when: None, add: false };
    Nest {
        name: "dot".into(),
        axes: vec![m, n, k],
        grid: 2,
        operands: vec![
            shape([m, k], transposed[0]),
            shape([k, n], transposed[1]),
            Operand::contiguous(DType::F32, &[m, n], true),
        ],
        phases: vec![
            Phase { kind: PhaseKind::Reduce, block: Block { insts }, folds, stores: vec![] },
            Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store] },
        ],
    }
}

fn choose(nest: &Nest, target: &Target) -> Option<ContractionTile> {
    let dtypes: Vec<_> = (0..2).map(|p| crate::verify::dtypes(nest, p).expect("a sound Nest")).collect();
    ContractionTile::choose(nest, &Walks::new(nest), &dtypes, false, target)
}

/// Tile, results of an item, inner points at a time, slices, and groups.
fn shape(size: [u64; 3]) -> ([u32; 2], [u32; 2], u32, u32, u64) {
    let tile = choose(&product(size, [false; 2]), &gpu()).expect("a tile");
    let TileForm::Group(shape) = tile.form else { panic!("{tile:?}") };
    (shape.tile, shape.each, shape.depth, shape.slices, tile.launch().0)
}

#[test]
fn small_products_fill_the_device_and_large_ones_the_registers() {
    for size in [[20, 500, 784], [784, 500, 20], [32, 256, 256], [512, 500, 784]] {
        let (tile, each, depth, slices, groups) = shape(size);
        assert!(groups >= 64, "{size:?}: {tile:?} {each:?} {depth} {slices} {groups}");
    }
    for size in [[1024, 1024, 1024], [4096, 4096, 4096]] {
        let (tile, each, depth, slices, groups) = shape(size);
        assert!(each[0] * each[1] >= 16, "{size:?}: {tile:?} {each:?} {depth} {slices} {groups}");
        assert!(tile[0] * tile[1] >= 4096, "{size:?}: {tile:?} {each:?} {depth} {slices} {groups}");
    }
    // Few columns and long sums: items share each sum.
    assert_eq!(choose(&product([20, 10, 500], [false; 2]), &gpu()), None);
}

#[test]
fn tiles_fit_the_target() {
    for max_group in [1, 32, 64, 1000] {
        for local_memory in [0, 1 << 10, 4 << 10, 48 << 10] {
            let target = Target { max_group, local_memory, ..gpu() };
            for size in [[20, 500, 784], [1000, 1000, 1000]] {
                let Some(tile) = choose(&product(size, [false; 2]), &target) else { continue };
                assert!(tile.launch().1 <= max_group);
                let TileForm::Group(shape) = tile.form else { panic!("{tile:?}") };
                let slabs = shape.buffers * shape.depth * (shape.stride(0) + shape.stride(1));
                assert!(u64::from(4 * (slabs + shape.sums())) <= local_memory);
            }
        }
    }
}

#[test]
fn rows_and_columns_are_seen() {
    let seen = |nest: &Nest| {
        let dtypes = vec![crate::verify::dtypes(nest, 0).expect("a sound Nest")];
        Contraction::of(nest, &Walks::new(nest), &dtypes)
    };
    let sizes = |nest: &Nest| {
        seen(nest).map(|c| {
            let along = c.sides.each_ref().map(|side| side.parts[0].along_inner);
            (c.sides.map(|side| side.extent), c.inner, along)
        })
    };
    assert_eq!(sizes(&product([30, 20, 10], [false; 2])), Some(([30, 20], 10, [true, false])));
    assert_eq!(sizes(&product([30, 20, 10], [true; 2])), Some(([30, 20], 10, [false, true])));
    // The contiguous axis of the result is the column axis.
    let mut turned = product([30, 20, 10], [false; 2]);
    turned.operands[2].shape.swap(0, 1);
    turned.phases[1].stores[0].index.swap(0, 1);
    turned.operands[2].strides = vec![30, 1];
    assert_eq!(sizes(&turned), Some(([20, 30], 10, [false, true])));
    // Both factors vary with the rows.
    let mut both = product([30, 20, 10], [false; 2]);
    both.operands[1].shape[0] = 40;
    let Inst::Load { index, .. } = &mut both.phases[0].block.insts[1] else { panic!() };
    index[0] = Index { offset: 0, terms: vec![(0, 1), (2, 1)], dynamic: None };
    assert_eq!(sizes(&both), None);
    // A product over another semiring; no product of all terms, and no sum beside an extreme, which differ in
    // what is beyond the inner points.
    let folded = |folds: &[Fold]| {
        let mut nest = product([30, 20, 10], [false; 2]);
        let of = |&fold: &Fold| FoldOf { fold, value: 2, index: None };
        nest.phases[0].folds = folds.iter().map(of).collect();
        sizes(&nest)
    };
    assert_eq!(folded(&[Fold::Max, Fold::Min]), Some(([30, 20], 10, [true, false])));
    assert_eq!(folded(&[Fold::Product]), None);
    assert_eq!(folded(&[Fold::Sum, Fold::Max]), None);
    // A place is that along the only inner axis.
    for (inst, found) in [(Inst::Axis(2), true), (Inst::Axis(1), false)] {
        let mut place = product([30, 20, 10], [false; 2]);
        place.phases[0].block.insts.push(inst);
        place.phases[0].folds[0] = FoldOf { fold: Fold::ArgMax, value: 2, index: Some(3) };
        assert_eq!(sizes(&place).is_some(), found);
    }
    // Another function of the factors, if it is 0 of zeros.
    for (op, found) in [(ops::SUB, Some(([30, 20], 10, [true, false]))), (ops::DIV, None)] {
        let mut other = product([30, 20, 10], [false; 2]);
        other.phases[0].block.insts[2] = Inst::Op { op, args: vec![0, 1] };
        assert_eq!(sizes(&other), found);
    }
    // Beside a product, one whose left factor is the same for all rows.
    let mut beside = product([30, 20, 10], [false; 2]);
    let row = Inst::Load { operand: 0, index: vec![Index::constant(0), Index::axis(2)] };
    beside.phases[0].block.insts.extend([row, Inst::Op { op: ops::MUL, args: vec![3, 1] }]);
    beside.phases[0].folds.push(FoldOf { fold: Fold::Sum, value: 4, index: None });
    assert_eq!(sizes(&beside), Some(([30, 20], 10, [true, false])));
    // An operand that is read is also written.
    let mut written = product([30, 20, 10], [false; 2]);
    written.operands[0].written = true;
    assert_eq!(sizes(&written), None);
}

/// `product` of bytes in int32.
fn bytes(size: [u64; 3], [left, right]: [DType; 2]) -> Nest {
    let mut nest = product(size, [false; 2]);
    (nest.operands[0].dtype, nest.operands[1].dtype) = (left, right);
    nest.operands[2].dtype = DType::I32;
    let insts = &mut nest.phases[0].block.insts;
    insts.truncate(2);
    insts.extend([0, 1].map(|value| Inst::Cast { to: DType::I32, value }));
    insts.push(Inst::Op { op: ops::MUL, args: vec![2, 3] });
    nest.phases[0].folds[0].value = 4;
    nest
}

#[test]
fn bytes_are_packed_where_a_device_multiplies_four() {
    let cuda = Target { dialect: Dialect::CudaCpp, ..gpu() };
    let packed = |nest: &Nest, target: &Target| {
        let contraction = choose(nest, target).expect("a tile").contraction;
        (contraction.packed, contraction.inner)
    };
    for dtype in [DType::I8, DType::U8] {
        let nest = bytes([64, 64, 128], [dtype; 2]);
        assert_eq!(packed(&nest, &cuda), (Some(dtype), 32));
        assert_eq!(packed(&nest, &gpu()), (None, 128));
        assert_eq!(packed(&bytes([64, 64, 130], [dtype; 2]), &cuda), (None, 130));
    }
    assert_eq!(packed(&bytes([64, 64, 128], [DType::I8, DType::U8]), &cuda), (None, 128));
    assert_eq!(packed(&bytes([64, 64, 128], [DType::I16; 2]), &cuda), (None, 128));
}

#[test]
fn small_and_empty_ones_are_left_alone() {
    for size in [[3, 500, 784], [500, 3, 784], [20, 20, 7], [0, 20, 20], [20, 20, 0]] {
        assert_eq!(choose(&product(size, [false; 2]), &gpu()), None, "{size:?}");
    }
}

#[test]
fn cpus_have_tiles_for_all_cores() {
    let blocks = |size, lanes| {
        let target = Target { cpu: true, lanes, local_memory: 1 << 20, ..gpu() };
        let tile = choose(&product(size, [false; 2]), &target).expect("a tile");
        let TileForm::Cpu(blocks) = tile.form else { panic!("{tile:?}") };
        (blocks.tile, blocks.rows, blocks.depth, tile.launch())
    };
    assert_eq!(blocks([512, 512, 512], 2), ([126, 128], 6, 256, (20, 1)));
    assert_eq!(blocks([20, 500, 784], 2), ([20, 64], 5, 256, (8, 1)));
    assert_eq!(blocks([512, 512, 512], 64), ([36, 64], 6, 256, (120, 1)));
    // Few columns become rows.
    assert_eq!(blocks([500, 5, 20], 2), ([5, 64], 5, 20, (8, 1)));
}
