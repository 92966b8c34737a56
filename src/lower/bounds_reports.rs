//! Reports at the points of a Nest that computes something else: indices out of range
//! ([`IndexMode::Report`](workalike_kernels::nest::IndexMode::Report)), and conditions that fail (conditional
//! stores to the status word).
//!
//! The result may be needed at some points only, or have no elements at all; an index out of range is an
//! error in any case.

use super::dead_code::tidy;
use super::program::{BufferId, Program, Role};
use workalike_kernels::nest::{Index, Inst, Nest, Phase, Store};

fn is_report(program: &Program, buffers: &[BufferId], store: &Store) -> bool {
    program.buffers[buffers[store.operand]].role == Role::Status
}

/// The axes along which the reports of a Nest may differ. `None` if it reports nothing.
pub(crate) fn axes(program: &Program, nest: &Nest, buffers: &[BufferId]) -> Option<Vec<bool>> {
    let stores_report = |phase: &Phase| phase.stores.iter().any(|s| is_report(program, buffers, s));
    if !nest.phases.iter().any(|phase| phase.reports() || stores_report(phase)) {
        return None;
    }
    let mut asked = vec![false; nest.axes.len()];
    for phase in &nest.phases {
        let insts = &phase.block.insts;
        let mut used = vec![false; insts.len()];
        for store in phase.stores.iter().filter(|s| is_report(program, buffers, s)) {
            let values = store.when.into_iter().chain([store.value]);
            values.for_each(|v| used[v as usize] = true);
        }
        for (at, inst) in insts.iter().enumerate().rev() {
            if !used[at] && inst.status().is_none() {
                continue;
            }
            inst.for_each_value(|value| used[value as usize] = true);
            match inst {
                Inst::Axis(axis) => asked[*axis] = true,
                Inst::Load { index, .. } => {
                    index.iter().flat_map(|i| &i.terms).for_each(|(axis, _)| asked[*axis] = true);
                }
                // A fold has seen all of the inner axes.
                Inst::Folded { .. } => asked[..nest.grid].fill(true),
                _ => {}
            }
        }
    }
    Some(asked)
}

/// Whether points over `extents` visit every combination of positions along the `asked` ones of `axes`; `at`
/// is the index along each of `axes`.
pub(crate) fn visits_all(extents: &[u64], at: &[Index], axes: &[u64], asked: &[bool]) -> bool {
    let mut taken = vec![false; extents.len()];
    let mut covers = |index: &Index, extent: u64| {
        let mut terms: Vec<(usize, i64)> = index.terms.clone();
        terms.sort_by_key(|(_, step)| step.unsigned_abs());
        // Positions from `low` on, `reach` of them without a gap.
        let (mut low, mut reach) = (i128::from(index.offset), 1i128);
        for (axis, step) in terms {
            let more = i128::from(step) * (i128::from(extents[axis]) - 1);
            if more == 0 {
                continue;
            }
            if std::mem::replace(&mut taken[axis], true) || i128::from(step.unsigned_abs()) > reach {
                return false;
            }
            low += more.min(0);
            reach += more.abs();
        }
        index.dynamic.is_none() && low == 0 && reach == i128::from(extent)
    };
    let mut needed = at.iter().zip(axes).zip(asked).filter(|(_, asked)| **asked);
    !extents.contains(&0) && needed.all(|((index, &extent), _)| covers(index, extent))
}

/// The reports of a Nest without points, each as a Nest over the axes that it depends on. A single Nest could
/// have very many points.
pub(crate) fn alone(program: &Program, nest: &Nest, buffers: &[BufferId]) -> Vec<(Nest, Vec<BufferId>)> {
    let mut silent = nest.clone();
    for phase in &mut silent.phases {
        phase.stores.clear();
        // There are no grid points to fold at.
        phase.folds.clear();
        phase.block.insts.iter_mut().for_each(Inst::silence);
    }
    let mut left = Vec::new();
    for (number, phase) in nest.phases.iter().enumerate() {
        let stores = phase.stores.iter().filter(|s| is_report(program, buffers, s)).map(|store| {
            let mut nest = silent.clone();
            nest.phases[number].stores.push(store.clone());
            nest
        });
        let reporting = phase.block.insts.iter().enumerate().filter(|(_, inst)| inst.status().is_some());
        let indices = reporting.map(|(at, inst)| {
            let mut nest = silent.clone();
            nest.phases[number].block.insts[at] = inst.clone();
            nest
        });
        for mut nest in indices.chain(stores) {
            let mut buffers = buffers.to_vec();
            let Some(asked) = axes(program, &nest, &buffers) else { continue };
            for (extent, _) in nest.axes.iter_mut().zip(asked).filter(|(_, asked)| !asked) {
                *extent = 1;
            }
            // A report that reads a fold depends on the whole grid, which has no points, so it is dropped.
            if !nest.axes[..nest.grid].contains(&0) {
                tidy(&mut nest, &mut buffers);
                left.push((nest, buffers));
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;
    use workalike_kernels::nest::{Block, IndexMode, Operand, PhaseKind};

    fn index(offset: i64, terms: &[(usize, i64)]) -> Index {
        Index { offset, terms: terms.to_vec(), dynamic: None }
    }

    #[test]
    fn indices_are_reported_where_there_are_no_points() {
        let mut program = Program::default();
        let at = program.buffer(DType::I64, &[5], Role::Input(0));
        let x = program.buffer(DType::F32, &[3], Role::Input(1));
        let out = program.buffer(DType::F32, &[5, 0], Role::Temp);
        let status = program.buffer(DType::I64, &[], Role::Status);
        let report =
            |status| Inst::Position { value: 0, extent: 3, mode: IndexMode::Report { status, node: 7 } };
        let insts = vec![
            Inst::Load { operand: 0, index: vec![Index::axis(0)] },
            report(3),
            Inst::Load { operand: 1, index: vec![Index { dynamic: Some(1), ..Index::default() }] },
        ];
        let index_of_store = vec![Index::axis(0), Index::axis(1)];
        let stores = vec![Store { operand: 2, index: index_of_store, value: 2, when: None, add: false }];
        let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
        let operands = vec![
            Operand::contiguous(DType::I64, &[5], false),
            Operand::contiguous(DType::F32, &[3], false),
            Operand::contiguous(DType::F32, &[5, 0], true),
            Operand::contiguous(DType::I64, &[], true),
        ];
        let nest = Nest { name: "gather".into(), axes: vec![5, 0], grid: 2, operands, phases };
        let buffers = [at, x, out, status];
        assert_eq!(axes(&program, &nest, &buffers), Some(vec![true, false]));
        let left = alone(&program, &nest, &buffers);
        assert_eq!(left.len(), 1);
        let (check, buffers) = &left[0];
        assert_eq!((&check.axes[..], &buffers[..]), (&[5, 1][..], &[at, status][..]));
        assert_eq!(check.phases[0].block.insts[1..], [report(1)]);
    }

    #[test]
    fn only_whole_axes_are_visited_at_all_positions() {
        let line = |extent: u64, from: Index, of: u64| visits_all(&[extent], &[from], &[of], &[true]);
        assert!(line(5, index(0, &[(0, 1)]), 5));
        assert!(line(5, index(4, &[(0, -1)]), 5), "turned around");
        assert!(!line(2, index(0, &[(0, 1)]), 5), "a part");
        assert!(!line(4, index(1, &[(0, 1)]), 5), "without the first");
        assert!(!line(3, index(0, &[(0, 2)]), 5), "every second");
        assert!(!line(5, Index { dynamic: Some(0), ..index(0, &[(0, 1)]) }, 5));
        let grid = |extents: &[u64], at: &[Index], asked: &[bool]| visits_all(extents, at, &[3, 4], asked);
        assert!(grid(&[4, 3], &[index(0, &[(1, 1)]), index(0, &[(0, 1)])], &[true, true]), "transposed");
        assert!(
            !visits_all(&[3], &[index(0, &[(0, 1)]), index(0, &[(0, 1)])], &[3, 3], &[true, true]),
            "the diagonal"
        );
        assert!(grid(&[3, 2], &[index(0, &[(0, 1)]), index(0, &[(1, 1)])], &[true, false]), "not asked for");
        assert!(!grid(&[3, 0], &[index(0, &[(0, 1)]), index(0, &[(1, 1)])], &[true, false]), "no points");
        assert!(visits_all(&[3, 4], &[index(0, &[(0, 4), (1, 1)])], &[12], &[true]), "reshaped");
        assert!(visits_all(&[9, 3], &[index(0, &[(0, 1), (1, 1)])], &[11], &[true]), "windows");
    }
}
