//! Loops that compilers for CPUs turn into vector code: a fixed number of lanes that do not depend on each
//! other. Accumulators are arrays with an element for each lane; values that all lanes share are computed
//! before the loop.

use super::kernel::Printer;
use crate::nest::{Inst, Phase, PhaseKind};
use crate::schedule::access::{Walk, varies};

/// The accumulators of a phase's folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccumulatorLayout {
    /// One for each item.
    Alone,
    /// One for each lane; this number of lanes shares a grid point.
    Inner(u32),
    /// One for each lane; the lanes are this number of neighbouring grid points.
    Grid(u32),
}

impl AccumulatorLayout {
    /// The number of lanes, if there are lanes.
    pub(super) fn width(self) -> Option<u32> {
        match self {
            AccumulatorLayout::Alone => None,
            AccumulatorLayout::Inner(width) | AccumulatorLayout::Grid(width) => Some(width),
        }
    }
}

impl Printer<'_> {
    /// Opens a loop over lanes.
    pub(super) fn open_lanes(&mut self, lanes: impl std::fmt::Display) {
        let index = self.index;
        if self.unroll {
            self.line("#pragma unroll");
        }
        self.open(&format!("for ({index} l = 0; l < {lanes}; ++l)"));
    }

    /// Prints statements on accumulators, in a loop over lanes if there are lanes.
    pub(super) fn each_lane(&mut self, statements: &[String]) {
        let width = self.side.width().filter(|_| !statements.is_empty());
        if let Some(width) = width {
            self.open_lanes(width);
        }
        for statement in statements {
            self.line(statement);
        }
        if width.is_some() {
            self.close();
        }
    }

    /// A Reduce phase of one grid point: lanes are neighbours along the last inner walk.
    pub(super) fn reduce_in_lanes(&mut self, phase: usize, width: u32) {
        let mut walks = self.walks.inner.clone();
        let Some(last) = walks.pop() else { return };
        self.declare_folds(phase, u64::from(width));
        self.open("");
        self.side = AccumulatorLayout::Inner(width);
        let rounds = last.extent.div_ceil(width.into());
        let count = self.folded(rounds.saturating_mul(walks.iter().map(|w| w.extent).product()));
        self.declare_folds(phase, count);
        for walk in &walks {
            self.open_walk(walk);
        }
        let (index, axis, rest) = (self.index, last.axis, last.extent % u64::from(width));
        let whole = self.index_at("whole rounds", last.extent - rest);
        self.open(&format!("for ({index} c{axis} = 0; c{axis} < {whole}; c{axis} += {width})"));
        self.point_in_lanes(phase, axis, &width.to_string(), count);
        self.close();
        if self.any_size {
            // One by one: PoCL's compiler gets a loop over some of the lanes wrong.
            let extent = self.index_at(&format!("extent of {axis}"), last.extent);
            self.open(&format!("for ({index} c{axis} = {whole}; c{axis} < {extent}; ++c{axis})"));
            self.point_in_lanes(phase, axis, "1", count);
            self.close();
        } else if rest > 0 {
            self.open("");
            self.line(&format!("const {index} c{axis} = {whole};"));
            self.point_in_lanes(phase, axis, &rest.to_string(), count);
            self.close();
        }
        for _ in &walks {
            self.close();
        }
        self.finish_folds(phase, count);
        self.side = AccumulatorLayout::Alone;
        self.fold_lanes(phase, width);
        self.close();
    }

    /// All phases of tile number `tile` of neighbouring grid points along the last grid walk, `row`.
    pub(super) fn phases_tiled(&mut self, row: &Walk, tile: &str, width: u32) {
        let (index, axis) = (self.index, row.axis);
        self.line(&format!("const {index} c{axis} = ({index}){tile} * {width};"));
        let lanes = if row.extent.is_multiple_of(width.into()) && !self.sizes.are_arguments() {
            width.to_string()
        } else {
            let extent = self.index_at(&format!("extent of {axis}"), row.extent);
            self.line(&format!(
                "const {index} n = {extent} - c{axis} < {width} ? {extent} - c{axis} : {width};"
            ));
            "n".into()
        };
        self.side = AccumulatorLayout::Grid(width);
        let count = self.folded(self.nest.inner_points());
        for phase in 0..self.nest.phases.len() {
            let kind = self.nest.phases[phase].kind;
            if kind == PhaseKind::Reduce {
                self.declare_folds(phase, count);
            }
            let walks = if kind == PhaseKind::Point { Vec::new() } else { self.walks.inner.clone() };
            // Values of different phases share names.
            if walks.is_empty() {
                self.open("");
            }
            for walk in &walks {
                self.open_walk(walk);
            }
            self.point_in_lanes(phase, axis, &lanes, count);
            for _ in 0..walks.len().max(1) {
                self.close();
            }
            self.finish_folds(phase, count);
        }
        self.side = AccumulatorLayout::Alone;
    }

    /// Prints a phase at neighbouring points along an axis, from the position in `c{axis}` on.
    fn point_in_lanes(&mut self, phase: usize, axis: usize, lanes: &str, count: u64) {
        let varies = self.varies(phase, axis);
        let mut names = vec![String::new(); varies.len()];
        self.block_where(phase, &mut names, |at| !varies[at]);
        let parked = self.declare_parked(phase, &varies);
        let position = format!("const {} a{axis} = c{axis} + l;", self.index);
        self.open_lanes(lanes);
        self.line(&position);
        self.block_where(phase, &mut names, |at| varies[at]);
        self.accumulate(phase, &names, count);
        if parked.is_empty() {
            self.stores(phase, &names);
        }
        for &value in &parked {
            let name = std::mem::replace(&mut names[value], format!("w{value}[l]"));
            self.line(&format!("w{value}[l] = {name};"));
        }
        self.close();
        if !parked.is_empty() {
            self.open_lanes(lanes);
            self.line(&position);
            self.stores(phase, &names);
            self.close();
        }
        self.carry(phase, count);
    }

    /// Declares an array for each value to store, so that all lanes are computed before any is stored:
    /// operands may alias for all the compiler knows, and stores between loads would prevent vectorisation.
    /// If the result is empty, stores are printed in the first loop: without loads there is no such problem,
    /// and stores at computed addresses may coincide and must keep their order.
    fn declare_parked(&mut self, phase: usize, varies: &[bool]) -> Vec<usize> {
        let Phase { block, stores, .. } = &self.nest.phases[phase];
        let Some(width) = self.side.width() else { return Vec::new() };
        let computed = stores.iter().any(|s| s.index.iter().any(|i| i.dynamic.is_some()));
        if computed || !block.insts.iter().any(|inst| matches!(inst, Inst::Load { .. })) {
            return Vec::new();
        }
        let values = stores.iter().flat_map(|s| [s.value].into_iter().chain(s.when));
        let mut parked: Vec<usize> = values.map(|v| v as usize).filter(|&v| varies[v]).collect();
        parked.sort_unstable();
        parked.dedup();
        for &value in &parked {
            self.line(&format!("{} w{value}[{width}];", self.dtypes[phase][value].register().short()));
        }
        parked
    }

    /// Which values of a phase may differ between lanes that lie along an axis.
    pub(super) fn varies(&self, phase: usize, axis: usize) -> Vec<bool> {
        varies(self.nest, &self.nest.phases[phase], &[axis], matches!(self.side, AccumulatorLayout::Grid(_)))
    }
}
