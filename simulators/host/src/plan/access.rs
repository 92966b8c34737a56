//! The loads and stores of a phase: index maps over its lanes, rows that are copied as a whole, and loads
//! that go to the memory of a store.

use super::super::affine::{LanePattern, Map, Strides};
use super::super::plan::{AccessPlan, Dynamic, LaneAxes};
use super::analysis::{DynamicIndex, Planned, Touch};
use super::compile::{NestCompiler, PhaseScope};
use super::lane_rows::{Through, differing};
use crate::uniform_rows::Runs;
use workalike_kernels::nest::Affine;

/// Elements of a row from which it is copied as a whole.
const RUN: u64 = 8;

impl NestCompiler<'_> {
    /// Adds a load or store.
    pub(crate) fn access(&mut self, scope: &mut PhaseScope<'_>, touch: &Touch, store: bool) -> Planned<u32> {
        let map = self.map(scope, &touch.affine)?;
        let runs = match &scope.rows {
            Some(rows) if !store && !scope.by_row && rows.found_by_row(touch) => Runs::Rows(rows.lanes),
            None if !store && !touch.dynamic.is_empty() => {
                self.in_runs(scope, touch, &map).map_or(Runs::Not, Runs::Lanes)
            }
            _ => Runs::Not,
        };
        let row = match runs {
            Runs::Not => u64::MAX,
            Runs::Lanes(row) | Runs::Rows(row) => row,
        };
        let steps = |a: &usize| (self.nest.axes[*a], touch.affine.coefficients[*a]);
        let strides = Strides::to_lanes(self.lanes(scope).iter().map(steps), row).ok_or("too many axes")?;
        let by_row = scope.by_row;
        scope.by_row |= matches!(runs, Runs::Rows(_));
        let mut dynamic = Vec::new();
        for d in &touch.dynamic {
            let (map, value) = (self.map(scope, &d.affine)?, scope.arg(d.value)?);
            dynamic.push(Dynamic { value, map, wraps: d.wraps, extent: d.extent, stride: d.stride });
        }
        scope.by_row = by_row;
        self.accesses.push(AccessPlan {
            runs,
            through: None,
            few: false,
            map,
            strides: if store { strides.swapped() } else { strides },
            touch: touch.clone(),
            dynamic,
            reg: 0,
            phase: scope.at,
            store,
            updates: false,
            visited: scope.facts.visits,
        });
        Ok(self.accesses.len() as u32 - 1)
    }

    /// The axes that are lanes.
    fn lanes<'s>(&'s self, scope: &'s PhaseScope<'_>) -> &'s [usize] {
        match (scope.lane_axes, &scope.rows) {
            (_, Some(rows)) if scope.by_row => &rows.axes,
            (Some(LaneAxes::Grid), _) => self.grid,
            (Some(LaneAxes::Inner), _) => self.inner,
            (None, _) => &[],
        }
    }

    /// An index map over the lanes.
    pub(crate) fn map(&self, scope: &PhaseScope<'_>, affine: &Affine) -> Planned<Map> {
        Map::new(affine, &self.nest.axes, self.lanes(scope)).ok_or_else(|| "too many axes".into())
    }

    /// The lanes of a row, if the computed indices of a load are uniform in rows. See [`AccessPlan::runs`].
    fn in_runs(&self, scope: &PhaseScope<'_>, touch: &Touch, map: &Map) -> Option<u64> {
        let lanes = self.lanes(scope);
        let extents = &self.nest.axes;
        // One row, or whole rows in sequence: the map merged no axes into a longer one.
        let along: &[usize] = match (&map.lanes, lanes.iter().rfind(|a| extents[**a] != 1)) {
            (LanePattern::Line(_), _) => lanes,
            (LanePattern::Rows(strides), Some(axis))
                if extents[*axis] >= RUN && extents[*axis] == strides.innermost().0 =>
            {
                std::slice::from_ref(axis)
            }
            _ => return None,
        };
        let along: Vec<usize> = along.iter().copied().filter(|a| extents[*a] > 1).collect();
        let moves = |affine: &Affine| along.iter().any(|&a| affine.coefficients[a] != 0);
        let differs = differing(self.nest, &scope.phase.block, scope.facts, &along);
        let same = touch.dynamic.iter().all(|d| !moves(&d.affine) && !differs[d.value as usize]);
        // An index may depend on the axes only if it is uniform over the lanes.
        let fixed = |d: &DynamicIndex| lanes.iter().all(|&a| d.affine.coefficients[a] == 0);
        let row = along.iter().map(|a| extents[*a]).product::<u64>();
        (same && touch.dynamic.iter().all(fixed)).then_some(row)
    }

    /// The copy from a load to its only user, a store.
    pub(crate) fn through(
        &self,
        scope: &PhaseScope<'_>,
        load: u32,
        store: &Touch,
        position: usize,
    ) -> Option<Through> {
        let access = &self.accesses[load as usize];
        let touch = &access.touch;
        if scope.lane_axes != Some(LaneAxes::Grid)
            || touch.dtype.is_half()
            || touch.dtype.size() != store.dtype.size()
        {
            return None;
        }
        let row = match access.runs {
            Runs::Not if touch.dynamic.is_empty() => u64::MAX,
            Runs::Rows(row) => row,
            _ => return None,
        };
        let steps =
            |a: &usize| (self.nest.axes[*a], touch.affine.coefficients[*a], store.affine.coefficients[*a]);
        let strides = Strides::new(self.grid.iter().map(steps), row)?;
        Some(Through { store: position as u32, strides })
    }
}
