//! The loops of a `GroupShape`: several items share a grid point, divide its inner points, and fold together.

use super::cpu_lanes::AccumulatorLayout;
use super::group_reduce::Team;
use super::kernel::Printer;
use crate::nest::{Index, Inst, Nest, Phase, PhaseKind};
use crate::schedule::access::varies;
use crate::schedule::points::GroupShape;

/// Maximum number of rounds through the inner points that are unrolled, so that their loads overlap.
const UNROLLED: u64 = 8;

impl Printer<'_> {
    /// Prints a whole kernel.
    pub(super) fn group(&mut self, of: GroupShape) {
        let GroupShape { groups, points, items, across, .. } = of;
        let any_size = self.sizes.are_arguments();
        let all = self.nest.grid_points();
        let at_once = groups * u64::from(points);
        let step = if across { points } else { 1 };
        let team = Team { group: points * items, items, step, again: at_once < all || any_size };
        self.group_memory(team);
        self.line(&format!("const u32 t = {};", self.dialect.item_index("u32")));
        self.line(&match (points, across) {
            (1, _) => "const u32 y = t;".to_string(),
            (_, true) => format!("const u32 x = t % {points}u, y = t / {points}u;"),
            (_, false) => format!("const u32 x = t / {items}u, y = t % {items}u;"),
        });
        let count = self.count;
        let mut first = self.dialect.group_index(count);
        if points > 1 {
            first = format!("{first} * {}", self.number(points.into()));
        }
        let base = if points == 1 { "p" } else { "p0" };
        if team.again {
            let (all, step) = (self.count_at("points", all), self.count_at("points at once", at_once));
            self.open(&format!("for ({count} {base} = {first}; {base} < {all}; {base} += {step})"));
        } else {
            self.open("");
            self.line(&format!("const {count} {base} = {first};"));
        }
        if points > 1 {
            self.line(&format!("const {count} p = p0 + x;"));
        }
        // Items beyond the last grid point only take part in barriers.
        let ragged = !all.is_multiple_of(points.into());
        if ragged {
            self.line(&format!("const bool live = p < {};", self.number(all)));
        }
        self.positions(&self.walks.grid.clone(), "p");
        for (array, dtype) in self.kept.arrays.clone().iter().enumerate() {
            self.line(&format!("{} k{array}[{}];", dtype.short(), of.values(self.nest)));
        }
        for phase in 0..self.nest.phases.len() {
            if self.nest.phases[phase].kind == PhaseKind::Point {
                self.open(if ragged { "if (live && y == 0u)" } else { "if (y == 0u)" });
                self.point(phase, 1);
                self.close();
            } else {
                self.rounds(phase, of, ragged);
                self.fold_team(phase, team);
            }
            if needs_barrier(self.nest, phase) {
                self.line(self.dialect.barrier(true));
            }
        }
        self.close();
    }

    /// The inner points of one phase, `items` packs at a time.
    fn rounds(&mut self, phase: usize, of: GroupShape, ragged: bool) {
        let width = of.width;
        let walks = self.walks.inner.clone();
        let inner = self.nest.inner_points();
        let rounds = self.folded(inner.div_ceil(of.at_once()));
        let folds = !self.nest.phases[phase].folds.is_empty();
        let lanes = folds && width > 1;
        self.declare_folds(phase, if lanes { width.into() } else { rounds });
        if inner == 0 {
            return;
        }
        self.open(if ragged { "if (live)" } else { "" });
        if lanes {
            self.side = AccumulatorLayout::Inner(width);
            self.declare_folds(phase, rounds);
        }
        // Values that the whole row shares are computed before the loops.
        let axes: Vec<usize> = walks.iter().map(|w| w.axis).collect();
        let moves = varies(self.nest, &self.nest.phases[phase], &axes, false);
        let mut names = vec![String::new(); moves.len()];
        self.block_where(phase, &mut names, |at| !moves[at]);
        // One inner point has no walk, and no packs.
        let axis = walks.last().map_or(0, |w| w.axis);
        self.start_packs(phase, axis, width);
        self.rounds_of_packs(phase, &names, of, rounds);
        self.pack = None;
        let rest = inner % u64::from(width);
        if rest > 0 {
            // Only a single walk leaves a rest.
            self.open(&format!("if (y < {rest}u)"));
            if lanes {
                self.line("const u32 l = 0u;");
            }
            self.line(&format!("const {} a{axis} = {} + ({})y;", self.index, inner - rest, self.index));
            self.pack_point(phase, names, 1);
            self.close();
        }
        self.finish_folds(phase, rounds);
        self.side = AccumulatorLayout::Alone;
        if lanes {
            self.fold_lanes(phase, width);
        }
        self.close();
    }

    /// The rounds in which every item has a pack, then one in which only the first items have.
    fn rounds_of_packs(&mut self, phase: usize, names: &[String], of: GroupShape, rounds: u64) {
        let GroupShape { items, width, .. } = of;
        let packs = self.nest.inner_points() / u64::from(width);
        if self.sizes.are_arguments() {
            let (count, packs) = (self.count, self.count_at("inner points", packs));
            self.open(&format!("for ({count} r = y; r < {packs}; r += {})", self.number(items.into())));
            self.round(phase, names, "r", "0", width, rounds);
            self.close();
            return;
        }
        let (whole, partial) = (packs / u64::from(items), packs % u64::from(items));
        let step = self.number(items.into());
        if whole > 1 {
            let all = !self.kept.arrays.is_empty() || whole <= UNROLLED;
            self.line(&if all { "#pragma unroll".to_string() } else { format!("#pragma unroll {UNROLLED}") });
            let (count, whole) = (self.count, self.number(whole));
            self.open(&format!("for ({count} r = {}; r < {whole}; ++r)", self.number(0)));
            self.round(phase, names, &format!("r * {step} + y"), &times("r", width), width, rounds);
            self.close();
        } else if whole == 1 {
            self.open("");
            self.round(phase, names, "y", "0", width, rounds);
            self.close();
        }
        if partial > 0 {
            let first = self.number(whole * u64::from(items));
            let pack = if whole == 0 { "y".to_string() } else { format!("{first} + y") };
            self.open(&format!("if (y < {partial}u)"));
            self.round(phase, names, &pack, &(whole * u64::from(width)).to_string(), width, rounds);
            self.close();
        }
    }

    fn round(&mut self, phase: usize, names: &[String], pack: &str, slot: &str, width: u32, count: u64) {
        let walks = self.walks.inner.clone();
        self.line(&format!("const {} q = {pack};", self.count));
        self.positions_of_pack(&walks, "q", width);
        self.slot = slot.into();
        self.pack_point(phase, names.to_vec(), count);
    }
}

/// Whether a later phase reads or overwrites elements that a phase stores, or overwrites elements that it
/// reads.
///
/// If two operands share memory, the item that stores an element is the only one that reads it. The exception
/// is an element that all items of a grid point read and a Point phase overwrites: see
/// [`overwritten_by_one`].
fn needs_barrier(nest: &Nest, phase: usize) -> bool {
    let loads = |phase: &Phase, operand: usize| {
        phase.block.insts.iter().any(|i| matches!(i, Inst::Load { operand: o, .. } if *o == operand))
    };
    let stores = |phase: &Phase, operand: usize| phase.stores.iter().any(|s| s.operand == operand);
    let (now, later) = (&nest.phases[phase], &nest.phases[phase + 1..]);
    (0..nest.operands.len()).filter(|&o| nest.operands[o].written).any(|o| {
        later.iter().any(|p| stores(now, o) && (loads(p, o) || stores(p, o)) || loads(now, o) && stores(p, o))
    }) || overwritten_by_one(nest, phase)
}

/// Whether an element that all items of a grid point load in a phase may be overwritten by one of them in a
/// later Point phase, through another operand. If there are several grid points, such an element does not
/// vary along the inner axes. A phase with folds has a barrier already.
fn overwritten_by_one(nest: &Nest, phase: usize) -> bool {
    let (now, later) = (&nest.phases[phase], &nest.phases[phase + 1..]);
    let alone = nest.grid_points() == 1;
    let shared = |index: &[Index]| index.iter().all(|i| i.terms.iter().all(|(axis, _)| *axis < nest.grid));
    let loads = |i: &Inst| matches!(i, Inst::Load { index, .. } if alone || shared(index));
    now.kind != PhaseKind::Point
        && now.folds.is_empty()
        && now.block.insts.iter().any(loads)
        && later
            .iter()
            .take_while(|p| p.folds.is_empty())
            .any(|p| p.kind == PhaseKind::Point && p.stores.iter().any(|s| !s.add))
}

fn times(text: &str, factor: u32) -> String {
    if factor == 1 { text.into() } else { format!("{text} * {factor}u") }
}
