//! Plans of one instruction from memory to memory: long contiguous runs of lanes, without the overhead per
//! tile.
//!
//! Elements that memory holds in their register form are read and written in place. Halves are widened and
//! rounded, and constants repeated, a piece at a time, in the plan's registers.

use super::affine::Lanes;
use super::exec::{Frame, Run, view, view_mut};
use super::halves;
use super::plan::{Access, Arg, MAX_ARITY, Out, PhasePlan, Plan, Side, Slot, Work};
use super::rows::only_moves;
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::ops::lanes;

/// The number of parts of a run, and the least and most lanes of a part.
const PARTS: (u64, u64, u64) = (16, 1 << 13, 1 << 17);
/// Lanes of a piece where halves are widened: the temporaries stay in the L1 cache.
const PIECE: usize = 512;

/// Lanes of a part of a contiguous run, at most `most`, if that is more than a tile.
fn parts(plan: &Plan, most: u64) -> Option<u64> {
    let lanes = plan.grid_points.div_ceil(PARTS.0).next_multiple_of(64);
    Some(lanes.clamp(PARTS.1, PARTS.2).min(most)).filter(|lanes| *lanes > plan.width as u64)
}

/// Lanes done at once, if that is more than a tile. `in_memory`: the accesses that may use memory in place;
/// `direct`: those in their register form as well. `hinted`: those with a cache hint.
pub(super) fn run_lanes(
    plan: &Plan,
    bases: &[*mut u8],
    (in_memory, direct): (&[bool], &[bool]),
    hinted: &[bool],
) -> Option<u64> {
    if let Some(most) = only_moves(plan, direct, bases) {
        return parts(plan, most);
    }
    let [phase] = &plan.phases[..] else { return None };
    let [store] = &phase.stores[..] else { return None };
    let (last, loads) = phase.body.split_last()?;
    let given = |arg: &Arg| matches!(arg.slot, Slot::Load(_) | Slot::Const(_));
    let in_place = |arg: &Arg| matches!(arg.slot, Slot::Load(id) if direct[id as usize]);
    let (known, out) = match last {
        Work::Cast { arg, out, .. } => (given(arg), out),
        Work::Tile { args, arity, out, .. } => (args[..*arity as usize].iter().all(given), out),
        Work::Chain(chain) => {
            let [out] = &chain.outs[..] else { return None };
            let known = |(arg, same): &(Arg, bool)| match arg.slot {
                Slot::Const(_) => *same,
                _ => !same && in_place(arg),
            };
            (chain.args.iter().all(known) && direct[store.access as usize], out)
        }
        _ => return None,
    };
    let all = |(at, access): (usize, &Access)| {
        let there = !bases[access.touch.operand].is_null();
        in_memory[at] && there && access.map.lanes == Lanes::Line(1) && !(access.store && hinted[at])
    };
    let half = plan.accesses[store.access as usize].touch.dtype.is_half();
    let from_register = matches!(store.value.slot, Slot::Reg(reg) if reg == out.reg) && !out.kept;
    let stored = out.store == Some(0) || half && from_register;
    let plain = phase.kind == PhaseKind::Point && store.when.is_none() && phase.before.is_empty();
    let loads = loads.iter().all(|w| matches!(w, Work::Load { .. }));
    let contiguous = plain && loads && known && stored && plan.side == Side::Grid;
    if contiguous && plan.accesses.iter().enumerate().all(all) { parts(plan, u64::MAX) } else { None }
}

impl Run<'_> {
    /// Whether an instruction of a contiguous plan runs in pieces: some of its operands are not in memory in
    /// their register form.
    pub(super) fn by_pieces(&self, phase: &PhasePlan, args: &[Arg], n: usize) -> bool {
        let half = |access: u32| self.plan.accesses[access as usize].touch.dtype.is_half();
        let made = |arg: &Arg| match arg.slot {
            Slot::Load(access) => half(access),
            _ => true,
        };
        n > self.plan.width && (args.iter().any(made) || half(phase.stores[0].access))
    }

    /// Runs `each(arguments, result, lanes)` over all pieces of lanes `start..start + n`.
    #[inline(never)]
    pub(super) fn pieces(
        &self,
        frame: &mut Frame,
        phase: &PhasePlan,
        (args, out): (&[Arg], Out),
        (start, n): (u64, usize),
        each: impl Fn(&[&[u8]], &mut [u8], usize),
    ) {
        let plan = self.plan;
        let dtype_of = |access: u32| plan.accesses[access as usize].touch.dtype;
        let mut most = n;
        for arg in args {
            most = most.min(match arg.slot {
                Slot::Const(at) => plan.consts[at as usize].len() * 8 / arg.size as usize,
                Slot::Load(access) if dtype_of(access).is_half() => PIECE.min(plan.width),
                _ => n,
            });
        }
        let store = &plan.accesses[phase.stores[0].access as usize];
        let dtype = store.touch.dtype;
        if dtype.is_half() {
            most = most.min(PIECE).min(plan.width);
        }
        let to = self.address(frame, store, start);
        frame.stored[0] = true;
        for from in (0..n).step_by(most) {
            let n = most.min(n - from);
            let mut values: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
            for (at, arg) in args.iter().enumerate() {
                let bytes = n * arg.size as usize;
                // An argument that occurs twice is widened once.
                let same =
                    |other: &Arg| matches!((other.slot, arg.slot), (Slot::Load(a), Slot::Load(b)) if a == b);
                if let Some(before) = args[..at].iter().position(same) {
                    values[at] = values[before];
                    continue;
                }
                values[at] = match arg.slot {
                    Slot::Const(at) => &bytemuck::cast_slice(&plan.consts[at as usize])[..bytes],
                    Slot::Load(id) => {
                        let dtype = dtype_of(id);
                        let at = frame.loaded(id).wrapping_add(from * dtype.size());
                        if !dtype.is_half() {
                            // SAFETY: elements of the operand, whose range `bind` checked; no access of this
                            // Nest writes them.
                            unsafe { view(at, bytes) }
                        } else {
                            let register = frame.at(plan.regs[plan.accesses[id as usize].reg as usize]);
                            // SAFETY: elements of the operand, whose range `bind` checked, and which no
                            // access of this Nest writes. The register is a tile of this thread's frame with
                            // room for a piece, and holds no other value.
                            unsafe {
                                let wide = view_mut(register.cast::<f32>(), n);
                                halves::widen(dtype, view(at.cast::<u16>(), n), wide);
                                view(register.cast_const().cast(), bytes)
                            }
                        }
                    }
                    // SAFETY: the other arguments of a contiguous plan are constants, or loads that ran
                    // before.
                    _ => unsafe { self.value(frame, *arg, n) },
                };
            }
            let (values, bytes) = (&values[..args.len()], n * out.size as usize);
            let to = to.wrapping_add(from * dtype.size());
            // SAFETY: elements of the stored operand, whose range `bind` checked, and which no other access
            // of this Nest touches; and a register of this thread's frame that liveness gave to no argument.
            unsafe {
                if dtype.is_half() {
                    let result = view_mut(frame.at(plan.regs[out.reg as usize]).cast::<u8>(), bytes);
                    each(values, result, n);
                    halves::narrow(dtype, lanes::<f32>(result), view_mut(to.cast::<u16>(), n));
                } else {
                    each(values, view_mut(to, bytes), n);
                }
            }
        }
    }
}
