//! The loops of a Group: several items share a grid point, and fold together.

use super::folds;
use super::kernel::Printer;
use crate::nest::PhaseKind;

impl Printer<'_> {
    pub(super) fn group(&mut self, groups: u64, points: u32, items: u32, across: bool) {
        let (all, inner) = (self.nest.grid_points(), self.nest.inner_points());
        let (group, step) = (points * items, if across { points } else { 1 });
        for (dtype, number) in folds::group_arrays(self.nest, &self.dtypes) {
            for at in 0..number {
                self.line(&format!("{} {dtype} l_{dtype}_{at}[{group}];", self.dialect.local()));
            }
        }
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
        let at_once = groups * u64::from(points);
        if at_once >= all {
            self.open("");
            self.line(&format!("const {count} {base} = {first};"));
        } else {
            let (all, step) = (self.number(all), self.number(at_once));
            self.open(&format!("for ({count} {base} = {first}; {base} < {all}; {base} += {step})"));
        }
        if points > 1 {
            self.line(&format!("const {count} p = p0 + x;"));
        }
        // Items beyond the last grid point do nothing but meet the others.
        let ragged = all % u64::from(points) != 0;
        if ragged {
            self.line(&format!("const bool live = p < {};", self.number(all)));
        }
        self.positions(&self.walks.grid.clone(), "p");
        let walked = inner.div_ceil(items.into());
        for phase in 0..self.nest.phases.len() {
            let now = &self.nest.phases[phase];
            let (point, stores) = (now.kind == PhaseKind::Point, !now.stores.is_empty());
            let folds = !now.folds.is_empty();
            self.declare_folds(phase, walked);
            if point {
                self.open(if ragged { "if (live && y == 0u)" } else { "if (y == 0u)" });
            } else {
                if ragged {
                    self.open("if (live)");
                }
                let (last, items) = (self.number(inner), self.number(items.into()));
                self.open(&format!("for ({count} q = y; q < {last}; q += {items})"));
                self.positions(&self.walks.inner.clone(), "q");
            }
            self.point(phase, walked);
            self.close();
            if !point && ragged {
                self.close();
            }
            self.finish_folds(phase, walked);
            self.fold_group(phase, items, step, stores);
            if stores && !folds && phase + 1 < self.nest.phases.len() {
                self.line(self.dialect.barrier(true));
            }
        }
        self.close();
    }
}
