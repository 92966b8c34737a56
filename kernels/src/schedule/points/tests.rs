//! The schedules of some Nests.

use super::*;
use crate::dtype::DType;
use crate::nest::{Block, Fold, FoldOf, Index, Inst, Operand, Phase, PhaseKind};
use crate::target::Dialect;

fn gpu(lanes: u64) -> Target {
    Target {
        dialect: Dialect::CudaCpp,
        max_group: 1024,
        local_memory: 48 << 10,
        lanes,
        cpu: false,
        fast: false,
        sizes: Default::default(),
    }
}

fn nest(axes: &[u64], grid: usize, place: &[usize], kind: PhaseKind) -> Nest {
    let shape: Vec<u64> = place.iter().map(|&a| axes[a]).collect();
    let index = place.iter().map(|&a| Index::axis(a)).collect();
    let block = Block { insts: vec![Inst::Load { operand: 0, index }] };
    let fold = FoldOf { fold: Fold::Sum, value: 0, index: None };
    let folds = if kind == PhaseKind::Reduce { vec![fold] } else { vec![] };
    Nest {
        name: "test".into(),
        axes: axes.to_vec(),
        grid,
        operands: vec![Operand::contiguous(DType::F32, &shape, false)],
        phases: vec![Phase { kind, block, folds, stores: vec![] }],
    }
}

fn choose(nest: &Nest, target: &Target) -> Points {
    Points::choose(nest, &Walks::new(nest), &[], 4, 0, target)
}

fn group(groups: u64, points: u32, items: u32, width: u32) -> Points {
    Points::Group(GroupShape { groups, points, items, across: false, width, keeps: false })
}

fn strided(groups: u64, group: u32, width: u32) -> Points {
    Points::Strided { groups, group, width }
}

#[test]
fn maps_are_strided_and_packed_where_there_is_work_enough() {
    let small = nest(&[10, 100], 2, &[0, 1], PhaseKind::Point);
    assert_eq!(choose(&small, &gpu(1 << 17)), strided(16, 64, 1));
    let large = nest(&[1 << 13, 1 << 13], 2, &[0, 1], PhaseKind::Point);
    assert_eq!(choose(&large, &gpu(1 << 17)), strided(1 << 15, 256, 4));
    // Only the last pack is partial.
    let prime = nest(&[8191 * 8191], 1, &[0], PhaseKind::Point);
    assert_eq!(choose(&prime, &gpu(1 << 17)), strided(1 << 15, 256, 4));
    // Beyond that number of groups, items loop.
    let huge = nest(&[1 << 14, 1 << 16], 2, &[0, 1], PhaseKind::Point);
    assert_eq!(choose(&huge, &gpu(1 << 17)), strided(1 << 15, 256, 4));
    let modest = Target { max_group: 32, ..gpu(1 << 17) };
    assert_eq!(choose(&small, &modest), strided(32, 32, 1));
    // Rows of odd length: no vector would be aligned.
    let mut broadcast = nest(&[1000, 8191], 2, &[0, 1], PhaseKind::Point);
    broadcast.operands.push(Operand::contiguous(DType::F32, &[8191], false));
    broadcast.phases[0].block.insts.push(Inst::Load { operand: 1, index: vec![Index::axis(1)] });
    assert_eq!(choose(&broadcast, &gpu(1 << 17)), strided(31997, 256, 1));
}

#[test]
fn rows_are_folded_by_groups() {
    let few = nest(&[8, 100_000], 1, &[0, 1], PhaseKind::Reduce);
    assert_eq!(choose(&few, &gpu(1 << 17)), group(8, 1, 1024, 4));
    let many = nest(&[100_000, 256], 1, &[0, 1], PhaseKind::Reduce);
    assert_eq!(choose(&many, &gpu(1 << 17)), group(3125, 32, 8, 4));
    let long = nest(&[8192, 8192], 1, &[0, 1], PhaseKind::Reduce);
    assert_eq!(choose(&long, &gpu(1 << 17)), group(8192, 1, 256, 4));
    let awkward = nest(&[8191, 8190], 1, &[0, 1], PhaseKind::Reduce);
    assert_eq!(choose(&awkward, &gpu(1 << 17)), group(8191, 1, 256, 2));
    let short = nest(&[1 << 18, 3], 1, &[0, 1], PhaseKind::Reduce);
    assert_eq!(choose(&short, &gpu(1 << 17)), strided(1024, 256, 1));
}

#[test]
fn rows_are_kept_where_registers_suffice() {
    let kept = |rows: u64, columns: u64| {
        let nest = nest(&[rows, columns], 1, &[0, 1], PhaseKind::Reduce);
        match Points::choose(&nest, &Walks::new(&nest), &[], 4, 1, &gpu(1 << 17)) {
            Points::Group(g) => (g.points, g.items, g.width, g.keeps),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(kept(8192, 8192), (1, 512, 4, true));
    assert_eq!(kept(8191, 8190), (1, 512, 2, true));
    assert_eq!(kept(8192, 32768), (1, 512, 4, true));
    assert_eq!(kept(8192, 40000), (1, 512, 4, false));
    assert_eq!(kept(8192, 1000), (8, 32, 4, true));
    assert_eq!(kept(100, 10), (2, 16, 1, true));
}

#[test]
fn columns_are_folded_across() {
    let across = |groups, points, items| {
        Points::Group(GroupShape { groups, points, items, across: true, width: 1, keeps: false })
    };
    let few = nest(&[64, 4096], 1, &[1, 0], PhaseKind::Reduce);
    assert_eq!(choose(&few, &gpu(1 << 17)), across(8, 8, 128));
    let wide = nest(&[1 << 14, 4096], 1, &[1, 0], PhaseKind::Reduce);
    assert_eq!(choose(&wide, &gpu(1 << 17)), across(512, 32, 8));
    let many = nest(&[1 << 18, 4096], 1, &[1, 0], PhaseKind::Reduce);
    assert_eq!(choose(&many, &gpu(1 << 17)), strided(512, 256, 2));
}

#[test]
fn groups_fit_the_local_memory() {
    let nest = nest(&[8, 100_000], 1, &[0, 1], PhaseKind::Reduce);
    for (local_memory, items) in [(48 << 10, 1024), (3000, 512), (1024, 256), (0, 1)] {
        let target = Target { local_memory, ..gpu(1 << 17) };
        let (_, group) = choose(&nest, &target).launch();
        // Without any local memory, one item walks alone.
        assert!(group == items || items == 1 && matches!(choose(&nest, &target), Points::Strided { .. }));
    }
}

#[test]
fn ordered_phases_and_cpus_walk_alone() {
    let ordered = nest(&[8, 1000], 1, &[0, 1], PhaseKind::Ordered);
    assert_eq!(choose(&ordered, &gpu(1 << 17)), strided(1, 32, 1));
    let cpu = Target { cpu: true, ..gpu(4) };
    let rows = nest(&[100, 70], 2, &[1, 0], PhaseKind::Point);
    assert_eq!(choose(&rows, &cpu), Points::Chunked { groups: 25, run: 4, rows: true, lanes: CpuLanes::One });
    let flat = nest(&[100, 70], 2, &[0, 1], PhaseKind::Point);
    assert_eq!(
        choose(&flat, &cpu),
        Points::Chunked { groups: 32, run: 7, rows: false, lanes: CpuLanes::Grid(32) }
    );
    // Too short for lanes.
    let few = nest(&[100], 1, &[0], PhaseKind::Point);
    assert_eq!(choose(&few, &cpu), Points::Chunked { groups: 25, run: 4, rows: false, lanes: CpuLanes::One });
}

#[test]
fn cpus_have_lanes_where_memory_is_contiguous() {
    let cpu = Target { cpu: true, ..gpu(4) };
    let lanes = |nest: &Nest| match choose(nest, &cpu) {
        Points::Chunked { groups, run, lanes, .. } => (groups, run, lanes),
        other => panic!("{other:?}"),
    };
    let fold = |axes: &[u64], place: &[usize]| nest(axes, 1, place, PhaseKind::Reduce);
    assert_eq!(lanes(&fold(&[64, 1000], &[0, 1])), (32, 2, CpuLanes::Inner(32)));
    assert_eq!(lanes(&fold(&[64, 40], &[0, 1])), (32, 2, CpuLanes::Inner(8)));
    assert_eq!(lanes(&fold(&[64, 10], &[0, 1])), (32, 2, CpuLanes::One));
    assert_eq!(lanes(&fold(&[1, 1000], &[0, 1])), (1, 1, CpuLanes::Inner(32)));
    assert_eq!(lanes(&fold(&[5000, 40], &[1, 0])), (10, 1, CpuLanes::Grid(512)));
    assert_eq!(lanes(&fold(&[100, 40], &[1, 0])), (4, 1, CpuLanes::Grid(32)));
    assert_eq!(lanes(&fold(&[10, 40], &[1, 0])), (1, 1, CpuLanes::Grid(10)));
    // y[i, j] = sum of x[i, k] * w[k, j]
    let mut dot = nest(&[20, 500, 784], 2, &[2, 1], PhaseKind::Reduce);
    dot.operands.push(Operand::contiguous(DType::F32, &[20, 784], false));
    dot.phases[0].block.insts.push(Inst::Load { operand: 1, index: vec![Index::axis(0), Index::axis(2)] });
    assert_eq!(lanes(&dot), (32, 5, CpuLanes::Grid(64)));
}

#[test]
fn an_empty_grid_has_no_groups() {
    for kind in [PhaseKind::Point, PhaseKind::Reduce, PhaseKind::Ordered] {
        let nest = nest(&[0, 10], 2 - usize::from(kind != PhaseKind::Point), &[0, 1], kind);
        for target in [gpu(1000), Target { cpu: true, ..gpu(4) }] {
            assert_eq!(choose(&nest, &target).launch().0, 0);
        }
    }
}
