//! The memory of a plan's operands: which accesses overlap, and what follows for threads and for loads in
//! place.

use super::super::plan::{AccessPlan, NestPlan, PhasePlan, TileInst, TileOperand, ValueLocation};
use workalike_device::{DeviceError, DeviceResult, HostMemory, Region};
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind;

/// A conditional store of a number to one int64 that only such stores of the Nest touch. Several points may
/// make it at once: whatever their order, the report that comes last in the Nest stays.
pub(crate) struct Report {
    pub(crate) number: i64,
    /// Numbers that it does not replace.
    pub(crate) above: Vec<i64>,
}

/// The operands of a plan.
pub(super) struct BoundOperands<'a> {
    plan: &'a NestPlan,
    /// First byte of each; null for a product that is not stored.
    pub(super) bases: Vec<*mut u8>,
    /// Bytes of each.
    sizes: Vec<u64>,
}

impl<'a> BoundOperands<'a> {
    /// Checks that all accesses are within these regions.
    pub(super) fn new(plan: &'a NestPlan, args: &[Option<&Region>]) -> DeviceResult<BoundOperands<'a>> {
        let (mut bases, mut sizes) = (Vec::new(), Vec::new());
        for (region, (dtype, _)) in args.iter().zip(&plan.operands) {
            let product = plan.grid_points.saturating_mul(dtype.size() as u64);
            sizes.push(region.map_or(product, |r| r.bytes));
            let base = region
                .map(|r| HostMemory::of_region(r, "record")?.part(r.offset, r.bytes, "record"))
                .transpose()?;
            bases.push(base.unwrap_or(std::ptr::null_mut()));
        }
        // The commands were checked against the Nest; this checks the planner's index maps.
        for access in plan.accesses.iter().filter(|a| a.visited) {
            let (low, high) = access.touch.range;
            let operand = access.touch.operand;
            let bytes = sizes[operand];
            if low < 0 || (high + 1).saturating_mul(access.touch.dtype.size() as i128) > bytes as i128 {
                let message = format!(
                    "{}: operand {operand}: elements {low} to {high} do not fit in {bytes} bytes",
                    plan.name
                );
                return Err(DeviceError::driver("host", "record", message));
            }
        }
        Ok(BoundOperands { plan, bases, sizes })
    }

    /// Bytes of an operand in memory.
    pub(super) fn bytes(&self, operand: usize) -> u64 {
        if self.bases[operand].is_null() { 0 } else { self.sizes[operand] }
    }

    /// Whether two accesses touch operands that overlap.
    fn overlap(&self, a: &AccessPlan, b: &AccessPlan) -> bool {
        let (a, b) = (a.touch.operand, b.touch.operand);
        let span = |o: usize| (self.bases[o].addr(), self.bases[o].addr() + self.sizes[o] as usize);
        let ((from, to), (other, end)) = (span(a), span(b));
        // A product that is not stored has no address.
        from < end && other < to && self.bases[a].is_null() == self.bases[b].is_null()
    }

    /// Whether points of Ordered phases run one at a time, since one may load what another stores.
    pub(super) fn one_by_one(&self) -> bool {
        let ordered = |a: &&AccessPlan| self.plan.phases[a.phase].kind == PhaseKind::Ordered;
        self.plan.accesses.iter().filter(ordered).filter(|a| a.store).any(|store| {
            let mut loads = self.plan.accesses.iter().filter(|a| !a.store && a.phase == store.phase);
            loads.any(|load| self.overlap(load, store))
        })
    }

    /// Whether instructions may use the memory of an access in place of a register.
    pub(super) fn in_place(&self, access: &AccessPlan) -> bool {
        let mut others = self.plan.accesses.iter().filter(|a| !std::ptr::eq(*a, access));
        access.dynamic.is_empty()
            && !access.touch.dtype.is_half()
            && (!others.any(|a| (access.store || a.store) && self.overlap(a, access))
                || self.is_rewritten(access))
    }

    /// Whether a load may read its written operand in place: only the same lanes are written, by stores of
    /// the same phase that copy from registers, so all instructions on a tile are done before its memory
    /// changes. Not if a store uses the loaded value, for another store may have changed that by then.
    fn is_rewritten(&self, load: &AccessPlan) -> bool {
        let touch = &load.touch;
        let is_load = |id: u32| std::ptr::eq(&self.plan.accesses[id as usize], load);
        let is_it = |arg: &TileOperand| matches!(arg.slot, ValueLocation::Load(id) if is_load(id));
        let PhasePlan { stores, body, .. } = &self.plan.phases[load.phase];
        // Not for a load that is hoisted out of the loop.
        let each_time = body.iter().any(|work| matches!(work, TileInst::Load { access } if is_load(*access)));
        let used = stores.iter().any(|store| {
            let dynamic = &self.plan.accesses[store.access as usize].dynamic;
            is_it(&store.value) || store.when.iter().any(is_it) || dynamic.iter().any(|d| is_it(&d.value))
        });
        let mut writers = self.plan.accesses.iter().filter(|a| a.store && self.overlap(a, load));
        !load.store
            && each_time
            && !used
            && writers.all(|writer| {
                writer.phase == load.phase
                    && writer.touch.dynamic.is_empty()
                    && self.bases[writer.touch.operand] == self.bases[touch.operand]
                    && touch.shift_to(&writer.touch) == Some(0)
            })
    }

    /// The stores that only report an error, per access.
    pub(super) fn reports(&self) -> Vec<Option<Report>> {
        let plan = self.plan;
        let number = |at: usize| {
            let access = plan.accesses.get(at).filter(|a| a.store)?;
            let touch = &access.touch;
            let store = plan.phases[access.phase].stores.iter().find(|s| s.access as usize == at)?;
            let ValueLocation::Const(constant) = store.value.slot else { return None };
            let (low, high) = touch.affine.range(&plan.extents);
            let fixed = touch.dynamic.is_empty() && low == high;
            (store.when.is_some() && fixed && touch.dtype == DType::I64)
                .then(|| plan.consts[constant as usize][0] as i64)
        };
        let place = |access: &AccessPlan| (self.bases[access.touch.operand], access.touch.affine.offset);
        let report = |at: usize| {
            let (number_here, access) = (number(at)?, &plan.accesses[at]);
            // The numbers that are stored to the same word, in order.
            let mut there: Vec<i64> = Vec::new();
            for (at, other) in plan.accesses.iter().enumerate().filter(|(_, a)| self.overlap(a, access)) {
                there.push(number(at).filter(|_| place(other) == place(access))?);
            }
            let last = there.iter().rposition(|n| *n == number_here)?;
            Some(Report { number: number_here, above: there.split_off(last + 1) })
        };
        (0..plan.accesses.len()).map(report).collect()
    }

    /// Whether threads may take different grid points (`phase: None`), or different inner points of one phase
    /// at one grid tile: except for reports, no point stores to what another loads or stores.
    pub(super) fn may_share(&self, reports: &[Option<Report>], phase: Option<usize>) -> bool {
        let plan = self.plan;
        if phase.is_some_and(|p| !matches!(plan.phases[p].kind, PhaseKind::Map | PhaseKind::Reduce)) {
            return false;
        }
        let considered = plan.accesses.iter().zip(reports).filter(|(_, report)| report.is_none());
        let considered =
            considered.map(|(a, _)| a).filter(|a| a.visited && phase.is_none_or(|p| a.phase == p));
        let inner = phase.is_some();
        considered.clone().filter(|a| a.store).all(|store| {
            let touch = &store.touch;
            let others = considered.clone().filter(|a| !std::ptr::eq(*a, store));
            let mut others = others.filter(|a| self.overlap(a, store));
            if !touch.apart(plan.grid, &plan.extents, inner, 0) {
                // Stores at computed addresses may coincide if no other access touches the operand.
                return !touch.dynamic.is_empty() && !store.updates && others.next().is_none();
            }
            others.all(|other| {
                let size = touch.dtype.size() as i128;
                let (from, to) = (self.bases[touch.operand].addr(), self.bases[other.touch.operand].addr());
                let bytes = to as i128 - from as i128;
                let Some(shift) = touch.shift_to(&other.touch) else { return false };
                if bytes % size != 0 {
                    return false;
                }
                let shift = shift + bytes / size;
                if inner {
                    shift == 0 && touch.dynamic.is_empty()
                } else {
                    touch.apart(plan.grid, &plan.extents, false, shift)
                }
            })
        })
    }
}
