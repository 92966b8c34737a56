//! The model of a device by which fusion decides.
//!
//! Costs are in bytes of memory traffic that could be moved meanwhile, so that the model needs no clock. All
//! that is known of a device is in [`CostModel::of`]; passes compare costs, and ask no device.

use crate::engine::cost::Work;
use workalike_device::Properties;

/// Work items that fold together on a wide device.
const GROUP: u64 = 256;
/// Results of a tile on a wide device.
const TILE: u64 = 2048;
/// Columns that fill a sector of memory (`kernels/src/schedule/points/gpu.rs`).
const SECTOR: u64 = 8;

/// What a device costs, and what keeps it busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::engine) struct CostModel {
    /// A launch of a kernel.
    pub(super) launch: f64,
    /// A step of a Segment: a launch, or the dispatch of a step by a device that interprets.
    pub(super) step: f64,
    /// Whether independent steps run concurrently, which hides a part of their [`CostModel::step`].
    pub(super) concurrent: bool,
    /// The dispatch of an instruction at a grid point, by a device that interprets.
    pub(super) dispatch: Option<f64>,
    /// A flop.
    pub(super) flop: f64,
    /// Loading an element at a computed index, beyond its bytes.
    pub(super) gather: f64,
    /// Whether points at edges are computed separately, so that interior points need no choice of part
    /// (`kernels/src/schedule/interior.rs`).
    pub(super) edges_apart: bool,
    /// The number of compute units, each of which runs a group of work items.
    pub(super) units: f64,
    /// The number of points that keep the device busy.
    pub(super) busy: Busy,
    /// How a reduction to few results is cut; `None` if the device divides the work of a Nest by itself.
    pub(super) cut: Option<SplitThresholds>,
    /// An exchange of members of a group, each of which has such a device; `None` if they may share one.
    pub(super) exchange: Option<ExchangeCost>,
}

/// What an exchange of members costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExchangeCost {
    /// However small its arrays are: what waits for it has to be launched after it.
    pub(super) each: f64,
    /// A byte of what a member gives.
    pub(super) byte: f64,
}

/// The number of points that keep a device busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Busy {
    /// The fewest points that run at once.
    pub(super) points: u64,
    /// The most inner points of a grid point that run at once.
    pub(super) inner: u64,
}

/// How a reduction to few results is cut into partial folds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SplitThresholds {
    /// More grid points than this keep the device busy.
    pub(super) busy: u64,
    /// The number of partial folds that fills the device.
    pub(super) parts: u64,
    /// Fewer inner points than this are folded in one step.
    pub(super) small: u64,
    /// The fewest inner points of a part.
    pub(super) group: u64,
    /// The results of a contraction that one group computes as a tile; one where there are no tiles.
    pub(super) tile: u64,
    /// The fewest columns that one group takes, which are neighbours in memory; 1 where columns need not be.
    pub(super) columns: u64,
}

impl CostModel {
    /// The fraction of a step that a device hides if it runs independent steps concurrently.
    pub(super) const HIDDEN: f64 = 0.5;
    /// The relative increase of the time for the bytes of several Nests when they are joined: a work item
    /// uses more registers, and there are fewer work items.
    pub(super) const JOINED_SLOWDOWN: f64 = 0.125;
    /// Nests of fewer points are joined whatever their form: a launch costs more than idle lanes.
    pub(super) const SMALL: u64 = 1 << 14;
    /// Flops of the choice of one of two values, and of the comparison that decides it.
    pub(super) const CHOICE_FLOPS: f64 = 3.0;
    /// Flops of keeping an index within bounds.
    pub(super) const CLAMP_FLOPS: f64 = 3.0;
    /// A part is most of an array, and the others are its edges, if it has at least this much of it.
    pub(super) const MOST: f64 = 0.9;
    /// A copy that makes an operand contiguous pays if each element is read at least this many times: a
    /// transposed element costs about four times as much as one that is read with a stride.
    pub(super) const REUSE: u64 = 16;
    /// One part in this many of an array may be read from a larger array that holds it, which is slower.
    pub(super) const ELSEWHERE: u64 = 8;

    /// Estimated from the device's width: a launch takes as long as moving megabytes on a GPU, and some
    /// kilobytes on a CPU; a flop takes as long as moving a fraction of a byte, by the usual ratio of compute
    /// to bandwidth. A processor loads neighbours as vectors, but not at computed indices; waking its cores
    /// takes time.
    pub(in crate::engine) fn of(properties: &Properties) -> CostModel {
        let units = u64::from(properties.units);
        let groups = properties.lanes / GROUP;
        let cost = if properties.is_wide() {
            CostModel {
                launch: 4e6,
                step: 4e6,
                concurrent: true,
                dispatch: None,
                flop: 0.1,
                gather: 0.0,
                edges_apart: true,
                units: f64::from(properties.units),
                busy: Busy { points: properties.lanes / 4, inner: 1024 },
                cut: Some(SplitThresholds {
                    busy: groups / 4,
                    parts: 2 * groups,
                    small: 8192,
                    group: GROUP,
                    tile: TILE,
                    columns: SECTOR,
                }),
                exchange: Some(ExchangeCost { each: 2.4e7, byte: 20.0 }),
            }
        } else {
            let busy = units.saturating_sub(1);
            let cores =
                SplitThresholds { busy, parts: 4 * units, small: 1 << 15, group: GROUP, tile: 1, columns: 1 };
            CostModel {
                launch: 3e4,
                step: 3e4,
                concurrent: false,
                dispatch: None,
                flop: 0.3,
                gather: 32.0,
                edges_apart: false,
                units: f64::from(properties.units),
                // How an interpreter splits sums depends on the content of a Nest, and must not depend on the
                // number of threads.
                busy: Busy { points: if properties.interprets { 16 } else { 4 * units }, inner: 1 },
                cut: (units > 1 && !properties.interprets).then_some(cores),
                exchange: None,
            }
        };
        if properties.interprets { CostModel { step: 3e3, dispatch: Some(200.0), ..cost } } else { cost }
    }

    /// What work costs, beside its launches.
    pub(in crate::engine) fn work(&self, work: Work) -> f64 {
        work.bytes() as f64 + work.flops * self.flop
    }

    /// An exchange of arrays of which a member gives so many bytes; `None` if members may share a device.
    pub(in crate::engine) fn exchange(&self, bytes: u64) -> Option<f64> {
        self.exchange.map(|cost| cost.each + cost.byte * bytes as f64)
    }

    /// What a group costs that computes so much while the other units are idle. It moves more bytes than its
    /// share: on an H100, of 132 units, a group alone moves a fortieth of what all of them do.
    pub(super) fn alone(&self, (flops, bytes): (f64, f64)) -> f64 {
        const SHARES: f64 = 3.0;
        self.units * (bytes / SHARES + flops * self.flop)
    }

    /// Whether a device of this kind executes instructions one at a time, for many points each.
    pub(super) fn interprets(&self) -> bool {
        self.dispatch.is_some()
    }

    /// Whether a grid with so many inner points at each of its points keeps the device busy.
    pub(super) fn keeps_busy(&self, grid: u64, inner: u64) -> bool {
        grid.saturating_mul(inner.min(self.busy.inner)) >= self.busy.points
    }

    /// The part of a step's cost that joining independent steps saves.
    pub(super) fn saved_by_joining(&self) -> f64 {
        if self.concurrent { self.step * (1.0 - CostModel::HIDDEN) } else { self.step }
    }
}
