//! Blocks of scalar SSA as statements.

use super::cpu_lanes::AccumulatorLayout;
use super::expr;
use super::kernel::Printer;
use crate::nest::{Inst, Value};
use crate::schedule::access::{Address, roots};
use crate::schedule::packs::store_runs;

impl Printer<'_> {
    /// Prints the used values of a phase's block, and returns each value's name (or its text, if that is
    /// short); the text of an unused value is empty.
    pub(super) fn block(&mut self, phase: usize) -> Vec<String> {
        let mut names = Vec::new();
        names.resize(self.nest.phases[phase].block.insts.len(), String::new());
        self.block_where(phase, &mut names, |_| true);
        names
    }

    /// Prints only the values for which `wanted` is true, and sets their names. The other values that they
    /// use must have names already.
    pub(super) fn block_where(&mut self, phase: usize, names: &mut [String], wanted: impl Fn(usize) -> bool) {
        let nest = self.nest;
        let (used, dtypes) = (self.used_values(phase), self.dtypes[phase].clone());
        for (at, inst) in nest.phases[phase].block.insts.iter().enumerate() {
            if !used[at] || !wanted(at) {
                continue;
            }
            if let Some(array) = self.kept.reads[phase].get(&at) {
                names[at] = self.kept_element(*array);
                continue;
            }
            let text = match inst {
                Inst::Const(scalar) => {
                    let argument = self.constant_at(phase, at, *scalar);
                    names[at] = argument.unwrap_or_else(|| expr::literal(self.dialect, *scalar));
                    continue;
                }
                Inst::Axis(axis) => {
                    // An axis of extent 1 has no loop.
                    names[at] = match nest.axes[*axis] {
                        1 => "(i64)0".into(),
                        _ => format!("(i64){}", self.position(*axis)),
                    };
                    continue;
                }
                Inst::Folded { phase, fold } => {
                    let lane = if matches!(self.side, AccumulatorLayout::Grid(_)) { "[l]" } else { "" };
                    names[at] = format!("f{phase}_{fold}{lane}");
                    continue;
                }
                Inst::Load { operand, index } => {
                    let dtype = nest.operands[*operand].dtype;
                    self.picked(at, dtype).unwrap_or_else(|| {
                        let index = self.address(*operand, &Address::new(nest, *operand, index), names);
                        self.dialect.load(dtype, &format!("b{operand}"), &index)
                    })
                }
                Inst::Cast { to, value } => expr::cast(dtypes[*value as usize], *to, &names[*value as usize]),
                // `explicit_bounds` has removed these.
                Inst::Position { value, .. } => {
                    names[at] = names[*value as usize].clone();
                    continue;
                }
                Inst::Op { op, args } => {
                    let computing = args.last().map_or(dtypes[at], |&a| dtypes[a as usize]);
                    expr::op(self.dialect, *op, computing, dtypes[at], &named(names, args))
                }
                Inst::Call { function, args } => {
                    format!("{}({})", function.symbol(), named(names, args).join(", "))
                }
            };
            let name = format!("v{at}");
            self.line(&format!("const {} {name} = {text};", dtypes[at].register().short()));
            if let Some(array) = self.kept.writes[phase].get(&at) {
                self.line(&format!("{} = {name};", self.kept_element(*array)));
            }
            names[at] = name;
        }
    }

    /// Which values of a phase's block a store, a fold or an address depends on, other than through values
    /// kept from an earlier phase.
    pub(super) fn used_values(&self, phase: usize) -> Vec<bool> {
        let now = &self.nest.phases[phase];
        let mut used = roots(now);
        for (at, inst) in now.block.insts.iter().enumerate().rev() {
            if used[at] && !self.kept.reads[phase].contains_key(&at) {
                inst.for_each_value(|v| used[v as usize] = true);
            }
        }
        used
    }

    /// The current point's element of a kept array.
    fn kept_element(&self, array: usize) -> String {
        let lane = if self.pack.is_some() { " + l" } else { "" };
        format!("k{array}[{}{lane}]", self.slot)
    }

    /// The position along an axis.
    fn position(&self, axis: usize) -> String {
        match &self.pack {
            Some(pack) if pack.inside && pack.axis == axis => format!("(a{axis} + l)"),
            _ => format!("a{axis}"),
        }
    }

    /// Prints the stores of a phase.
    pub(super) fn stores(&mut self, phase: usize, names: &[String]) {
        let nest = self.nest;
        // Elements of processors' vectors, and alignments that other sizes may not have, go one by one.
        let alone = self.pack.is_some() || self.any_size || !self.unroll;
        let runs = if alone { vec![] } else { store_runs(nest, &nest.phases[phase]) };
        runs.iter().for_each(|run| self.store_run(phase, run, names));
        for (at, store) in nest.phases[phase].stores.iter().enumerate() {
            if runs.iter().any(|run| run.contains(&at)) {
                continue;
            }
            let dtype = nest.operands[store.operand].dtype;
            let value = &names[store.value as usize];
            if self.pack.as_ref().is_some_and(|pack| pack.stores.contains(&at)) {
                let vector = self.elements(dtype, &format!("y{at}"));
                self.line(&self.dialect.store(dtype, &vector, "l", value));
                continue;
            }
            let index = self.address(store.operand, &Address::new(nest, store.operand, &store.index), names);
            let pointer = format!("b{}", store.operand);
            let text = match store.add {
                false => self.dialect.store(dtype, &pointer, &index, value),
                true => self.dialect.add(dtype, &pointer, &index, value),
            };
            match store.when {
                Some(when) => self.line(&format!("if ({}) {text}", names[when as usize])),
                None => self.line(&text),
            }
        }
    }

    /// The linear index of an element of an operand.
    pub(super) fn address(&self, operand: usize, address: &Address, names: &[String]) -> String {
        let times = |factor: String, step: i64, along: &str| match step {
            1 => factor,
            _ => format!("{factor} * {}", self.index_at(&format!("step of {operand} along {along}"), step)),
        };
        let mut terms = Vec::new();
        for walk in self.walks.grid.iter().chain(&self.walks.inner) {
            if address.steps[walk.axis] != 0 {
                let along = walk.axis.to_string();
                terms.push(times(self.position(walk.axis), address.steps[walk.axis], &along));
            }
        }
        for &(value, step) in &address.dynamic {
            let along = format!("value {value}");
            terms.push(times(format!("({}){}", self.index, names[value as usize]), step, &along));
        }
        if address.base != 0 || terms.is_empty() {
            terms.push(self.index_at(&format!("base of {operand}"), address.base));
        }
        terms.join(" + ")
    }
}

/// The names of values.
fn named<'n>(names: &'n [String], values: &[Value]) -> Vec<&'n str> {
    values.iter().map(|&value| names[value as usize].as_str()).collect()
}
