//! Folds across the items that share a grid point.
//!
//! In CUDA C++, items of one warp exchange registers; one value of each warp then goes through group memory.
//! In OpenCL C, or if the items of a point are not neighbours, all values go through group memory, in a tree
//! whose steps fold eight values into one: a step has a barrier, which costs more than a few loads from group
//! memory.

use super::Dialect;
use super::expr;
use super::kernel::Printer;
use crate::dtype::DType;
use crate::nest::{Fold, FoldOf, Inst, Nest, PhaseKind};
use crate::schedule::group_memory::{array_type, arrays};
use std::collections::BTreeMap;

/// Values that a step of the tree folds into one.
const RADIX: u32 = 8;
/// Items that can exchange registers.
const WARP: u32 = 32;

/// How the items of a group that share a grid point lie in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Team {
    /// Items of the group.
    pub(super) group: u32,
    /// Items of the team.
    pub(super) items: u32,
    /// Distance in the group from one of them to the next.
    pub(super) step: u32,
    /// The group goes on to other grid points.
    pub(super) again: bool,
}

/// Whether any phase other than a Point, which one item computes, uses the results of a phase's folds.
fn all_need(nest: &Nest, phase: usize) -> bool {
    let uses = |inst: &Inst| matches!(inst, Inst::Folded { phase: p, .. } if *p == phase);
    nest.phases.iter().any(|p| p.kind != PhaseKind::Point && p.block.insts.iter().any(uses))
}

impl Printer<'_> {
    fn exchanges(&self, team: Team) -> bool {
        self.dialect == Dialect::CudaCpp && team.step == 1
    }

    /// Declares the arrays of group memory that the folds of a Nest need.
    pub(super) fn group_memory(&mut self, team: Team) {
        let local = self.dialect.local();
        if !self.exchanges(team) {
            for (dtype, number) in arrays(self.nest, &self.dtypes) {
                for at in 0..number {
                    self.line(&format!("{local} {dtype} l_{dtype}_{at}[{}];", team.group));
                }
            }
            return;
        }
        // Each phase has arrays of its own, which saves a barrier after the reads of the phase before.
        if team.items > WARP {
            for phase in 0..self.nest.phases.len() {
                for at in 0..self.nest.phases[phase].folds.len() {
                    for (dtype, register) in self.registers(phase, at) {
                        let array = array_type(dtype);
                        self.line(&format!("{local} {array} l{register}[{}];", team.group / WARP));
                    }
                }
            }
        }
    }

    /// The registers of a fold and their dtypes: the best value before its index.
    fn registers(&self, phase: usize, at: usize) -> Vec<(DType, String)> {
        let fold = &self.nest.phases[phase].folds[at];
        let dtype = self.dtypes[phase][fold.value as usize];
        let name = format!("f{phase}_{at}");
        match fold.fold.has_index() {
            true => vec![(dtype, format!("{name}v")), (DType::I64, name)],
            false => vec![(dtype, name)],
        }
    }

    /// Folds the accumulators of a team. Each item gets the result if a later phase needs that, else only the
    /// first.
    ///
    /// `y` is the item's number in the team.
    pub(super) fn fold_team(&mut self, phase: usize, team: Team) {
        if self.nest.phases[phase].folds.is_empty() || team.items == 1 {
            return;
        }
        if self.exchanges(team) {
            self.fold_by_exchange(phase, team);
        } else {
            self.fold_by_tree(phase, team);
        }
    }

    /// Folds values into the accumulators of a phase; `other` gives the text of the value for each register.
    fn combine_all(&mut self, phase: usize, other: impl Fn(&str, DType) -> String) {
        let nest = self.nest;
        for (at, fold) in nest.phases[phase].folds.iter().enumerate() {
            let dtype = self.dtypes[phase][fold.value as usize];
            let name = format!("f{phase}_{at}");
            let best = format!("{name}v");
            let value = other(if fold.fold.has_index() { &best } else { &name }, dtype);
            self.line(&format!("const {} o{at} = {value};", dtype.register().short()));
            let index = fold.fold.has_index().then(|| {
                let index = other(&name, DType::I64);
                self.line(&format!("const i64 i{at} = {index};"));
                format!("i{at}")
            });
            self.combine(fold, dtype, (&name, &best), &format!("o{at}"), index.as_deref());
        }
    }

    /// A butterfly reduction of a team's registers: each is folded with that of the item at distance `s`, for
    /// halving `s`.
    fn butterfly(&mut self, phase: usize, items: u32, mask: &str) {
        self.line("#pragma unroll");
        self.open(&format!("for (u32 s = {}u; s > 0u; s >>= 1)", items / 2));
        self.combine_all(phase, |register, dtype| exchanged("__shfl_xor_sync", mask, register, dtype, "s"));
        self.close();
    }

    fn fold_by_exchange(&mut self, phase: usize, team: Team) {
        let nest = self.nest;
        let folds = &nest.phases[phase].folds;
        let mask = match team.group {
            few @ 0..WARP => format!("0x{:x}u", (1u32 << few) - 1),
            _ => "0xffffffffu".into(),
        };
        self.butterfly(phase, team.items.min(WARP), &mask);
        let warps = team.items / WARP;
        if warps > 1 {
            let registers: Vec<_> = (0..folds.len()).flat_map(|at| self.registers(phase, at)).collect();
            self.open("if ((t & 31u) == 0u)");
            for (_, register) in &registers {
                self.line(&format!("l{register}[t >> 5] = {register};"));
            }
            self.close();
            self.line(self.dialect.barrier(false));
            let index = match (team.items == team.group, warps - 1) {
                (true, mask) => format!("y & {mask}u"),
                (false, mask) => format!("((t - y) >> 5) + (y & {mask}u)"),
            };
            for (dtype, register) in &registers {
                let nonzero = if *dtype == DType::Bool { " != 0" } else { "" };
                self.line(&format!("{register} = l{register}[{index}]{nonzero};"));
            }
            self.butterfly(phase, warps, &mask);
        }
        // The items may have zeros of different signs.
        let signed = |f: &FoldOf| matches!(f.fold, Fold::Max | Fold::Min);
        if all_need(nest, phase) {
            for (at, fold) in folds.iter().enumerate().filter(|(_, f)| signed(f)) {
                let dtype = self.dtypes[phase][fold.value as usize];
                if dtype.is_float() {
                    let name = format!("f{phase}_{at}");
                    let lane = format!("0, {}", team.items.min(WARP));
                    let first = exchanged("__shfl_sync", &mask, &name, dtype, &lane);
                    self.line(&format!("{name} = {first};"));
                }
            }
        }
        // The next grid point overwrites what is read here, unless another phase has a barrier in between.
        let folding = nest.phases.iter().filter(|p| !p.folds.is_empty()).count();
        if warps > 1 && team.again && folding == 1 {
            self.line(self.dialect.barrier(false));
        }
    }

    fn fold_by_tree(&mut self, phase: usize, team: Team) {
        let nest = self.nest;
        let arrays = self.tree_arrays(phase);
        let barrier = self.dialect.barrier(false);
        self.put_registers(&arrays);
        let mut left = team.items;
        let all = all_need(nest, phase);
        while left > 1 {
            let radix = left.min(RADIX);
            left /= radix;
            self.line(barrier);
            self.open(&if left == 1 { "if (y == 0u)".to_string() } else { format!("if (y < {left}u)") });
            self.tree_step(phase, team, &arrays, (radix, left));
            if left > 1 || all {
                self.put_registers(&arrays);
            }
            self.close();
        }
        let later = nest.phases.iter().skip(phase + 1).any(|p| !p.folds.is_empty());
        if all {
            self.line(barrier);
            let home = if team.step == 1 { "t - y".to_string() } else { format!("t - y * {}u", team.step) };
            for (at, fold) in nest.phases[phase].folds.iter().enumerate() {
                // Later phases use only the index of ArgMax and ArgMin.
                let register = format!("f{phase}_{at}");
                let bool = self.dtypes[phase][fold.value as usize] == DType::Bool && !fold.fold.has_index();
                let nonzero = if bool { " != 0" } else { "" };
                self.line(&format!("{register} = {}[{home}]{nonzero};", arrays[&register]));
            }
        }
        if team.again || later {
            self.line(barrier);
        }
    }

    /// The array in group memory of each register of a phase's folds.
    fn tree_arrays(&self, phase: usize) -> BTreeMap<String, String> {
        let mut taken: BTreeMap<&'static str, usize> = BTreeMap::new();
        let mut arrays: BTreeMap<String, String> = BTreeMap::new();
        for at in 0..self.nest.phases[phase].folds.len() {
            for (dtype, register) in self.registers(phase, at) {
                let number = taken.entry(array_type(dtype)).or_insert(0);
                arrays.insert(register, format!("l_{}_{number}", array_type(dtype)));
                *number += 1;
            }
        }
        arrays
    }

    /// Stores an item's registers to group memory.
    fn put_registers(&mut self, arrays: &BTreeMap<String, String>) {
        for (register, array) in arrays {
            self.line(&format!("{array}[t] = {register};"));
        }
    }

    /// Folds into an item's registers the values of `radix - 1` other items, which are `left` items apart.
    fn tree_step(
        &mut self,
        phase: usize,
        team: Team,
        arrays: &BTreeMap<String, String>,
        (radix, left): (u32, u32),
    ) {
        let place = if radix == 2 {
            self.open("");
            format!("t + {}u", left * team.step)
        } else {
            self.line("#pragma unroll");
            self.open(&format!("for (u32 s = 1u; s < {radix}u; ++s)"));
            let distance = if left == 1 { "s".into() } else { format!("s * {left}u") };
            match team.step {
                1 => format!("t + {distance}"),
                step => format!("t + {distance} * {step}u"),
            }
        };
        self.combine_all(phase, |register, dtype| {
            let nonzero = if dtype == DType::Bool { " != 0" } else { "" };
            format!("{}[{place}]{nonzero}", arrays[register])
        });
        self.close();
    }
}

/// A register of another item of the warp.
fn exchanged(function: &str, mask: &str, register: &str, dtype: DType, from: &str) -> String {
    let call = |value: &str| format!("{function}({mask}, {value}, {from})");
    match dtype {
        DType::Bool => format!("{} != 0", call(&format!("(i32){register}"))),
        // There are exchanges of 32 and 64 bits only.
        d if d.is_integer() && d.size() < 4 => expr::cast(DType::I32, d, &call(&format!("(i32){register}"))),
        _ => call(register),
    }
}
