//! How the points of a Nest are computed: tiles, lanes, packs, and the values that stay in registers.
//!
//! A [`Schedule`] is data, a pure function of a Nest and a [`Target`]. It may be chosen and compared without
//! printing anything; [`print`](crate::print::print) prints a Nest as its schedule says, and decides nothing.
//!
//! - `access`: linear addresses from index maps, and merged axes.
//! - `points`: the assignment of points to work items.
//! - `packs`: neighbouring points that an item of a GPU computes together. `interior`: where these need no
//!   comparisons of positions.
//! - `tile`: products of matrices. `transpose`: maps with transposed operands.
//! - `group_memory`: arrays through which the items of a group fold.
//! - `register_cache`: values that stay in registers from one phase to the next.

pub(crate) mod access;
pub(crate) mod group_memory;
pub(crate) mod interior;
pub(crate) mod packs;
pub(crate) mod points;
pub(crate) mod register_cache;
pub(crate) mod tile;
pub(crate) mod transpose;

use crate::dtype::DType;
use crate::nest::Nest;
use crate::target::Target;
use crate::verify::{VerifyError, all_dtypes};
use access::Walks;
use interior::Interior;
use points::Points;
use register_cache::RegisterCache;
use tile::ContractionTile;
use transpose::TransposeTile;

/// How a Nest is computed on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) form: ScheduleKind,
    /// The loops.
    pub(crate) walks: Walks,
    /// Values that phases keep in registers for later ones.
    pub(crate) kept: RegisterCache,
    /// Loops are those of a kernel for any size.
    pub(crate) any_size: bool,
    /// Boxes in which packs are computed by a simpler Nest.
    pub(crate) interiors: Vec<Interior>,
}

/// The division of the points among groups and items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleKind {
    Tile(ContractionTile),
    Transpose(TransposeTile),
    Points(Points),
}

impl Schedule {
    /// The schedule of a Nest whose bounds are [explicit](crate::bounds::explicit_bounds).
    ///
    /// # Errors
    /// If the Nest is ill-typed.
    pub fn of(nest: &Nest, target: &Target) -> Result<Schedule, VerifyError> {
        Ok(Schedule::choose(nest, &all_dtypes(nest)?, target))
    }

    /// The schedule of a Nest; `dtypes` are those of the values of each phase.
    pub(crate) fn choose(nest: &Nest, dtypes: &[Vec<DType>], target: &Target) -> Schedule {
        let walks = Walks::new(nest);
        let any_size = target.sizes.loops_for_any(nest);
        let none = RegisterCache::none(nest);
        let mut interiors = if any_size || target.cpu { vec![] } else { Interior::all(nest, &walks) };
        interiors.retain(|inside| packs::width(&inside.nest, &walks.grid, false, true) > 1);
        let (form, kept) = if let Some(tile) = ContractionTile::choose(nest, &walks, dtypes, any_size, target)
        {
            (ScheduleKind::Tile(tile), none)
        } else if any_size {
            let bytes = group_memory::bytes(nest, dtypes);
            (ScheduleKind::Points(Points::choose_for_any_size(nest, &walks, bytes, target)), none)
        } else {
            let bytes = group_memory::bytes(nest, dtypes);
            let plans = RegisterCache::plans(nest, &walks, dtypes)
                .map(|plan| (Points::choose(nest, &walks, &interiors, bytes, plan.words, target), plan));
            let fits = plans.iter().position(|(points, _)| matches!(points, Points::Group(g) if g.keeps));
            let [first, second] = plans;
            let (points, kept) = match fits {
                Some(0) => first,
                Some(_) => second,
                None => (first.0, none),
            };
            let transpose = TransposeTile::choose(nest, &walks, dtypes, target);
            (transpose.map_or(ScheduleKind::Points(points), ScheduleKind::Transpose), kept)
        };
        if !matches!(form, ScheduleKind::Points(Points::Strided { width: 2.., .. })) {
            interiors.clear();
        }
        Schedule { form, walks, kept, any_size, interiors }
    }

    /// Number of groups, and items per group.
    pub fn launch(&self) -> (u64, u32) {
        match &self.form {
            ScheduleKind::Tile(tile) => tile.launch(),
            ScheduleKind::Transpose(transpose) => transpose.launch(),
            ScheduleKind::Points(points) => points.launch(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::nest::{Block, Index, Inst, Operand, Phase, PhaseKind, Store};
    use crate::print::{Dialect, print};
    use crate::verify::Verified;

    /// A copy of a matrix, perhaps transposed.
    fn copy([rows, columns]: [u64; 2], transposed: bool) -> Nest {
        let (own, turned) = ([0, 1].map(Index::axis).to_vec(), [1, 0].map(Index::axis).to_vec());
        let (shape, index) =
            if transposed { ([columns, rows], turned) } else { ([rows, columns], own.clone()) };
        let load = Inst::Load { operand: 0, index };
        let store = Store { operand: 1, index: own, value: 0, when: None, add: false };
        Nest {
            name: "copy".into(),
            axes: vec![rows, columns],
            grid: 2,
            operands: vec![
                Operand::contiguous(DType::F32, &shape, false),
                Operand::contiguous(DType::F32, &[rows, columns], true),
            ],
            phases: vec![Phase {
                kind: PhaseKind::Point,
                block: Block { insts: vec![load] },
                folds: vec![],
                stores: vec![store],
            }],
        }
    }

    #[test]
    fn a_schedule_is_what_is_printed() {
        let target = Target {
            dialect: Dialect::CudaCpp,
            max_group: 1024,
            local_memory: 48 << 10,
            lanes: 1 << 17,
            cpu: false,
            fast: false,
            sizes: Default::default(),
        };
        let of = |nest: &Nest, target: &Target| Schedule::of(nest, target).unwrap();
        for nest in [copy([512, 512], false), copy([512, 512], true), copy([3, 5], true)] {
            let schedule = of(&nest, &target);
            assert_eq!(schedule, of(&nest.clone(), &target));
            let entry = print(&[Verified::new(nest).unwrap()], &target).entries.remove(0);
            assert_eq!(schedule.launch(), (entry.groups, entry.group));
        }
        let [plain, turned] = [false, true].map(|transposed| of(&copy([512, 512], transposed), &target));
        assert!(matches!((plain.form, turned.form), (ScheduleKind::Points(_), ScheduleKind::Transpose(_))));
        let narrow = Target { max_group: 32, ..target.clone() };
        assert_ne!(of(&copy([512, 512], false), &narrow), of(&copy([512, 512], false), &target));
    }
}
