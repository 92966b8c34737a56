//! Half-precision values are kept in 32-bit registers and rounded when they are stored, so a register may
//! have digits that no half has. At a discontinuity these digits would decide: in float16 `floor(tanh(9))` is
//! 1, but 0 for the 0.99999997 in a register; and of two scores that are equal halves, `argmax` would find
//! the second. So the arguments of a discontinuous instruction are rounded first, as if each op had stored
//! its result.

use super::{Program, Step};
use workalike_kernels::nest::{Block, Inst, Nest, Value};
use workalike_kernels::{DType, verify};

/// Inserts the roundings into all Nests of a Program.
pub(super) fn run(program: &mut Program) {
    for step in &mut program.steps {
        if let Step::Nest { nest, .. } = step {
            (0..nest.phases.len()).for_each(|phase| round_arguments(nest, phase));
        }
    }
}

fn round_arguments(nest: &mut Nest, at: usize) {
    let phase = &nest.phases[at];
    let jumps = phase.block.insts.iter().any(jumps) || phase.folds.iter().any(|f| f.fold.has_index());
    // Devices verify what they compile, and refuse an ill-typed Nest.
    let Some(dtypes) = verify::dtypes(nest, at).ok().filter(|all| jumps && all.iter().any(|d| d.is_half()))
    else {
        return;
    };
    let phase = &mut nest.phases[at];
    let mut new = Rounded { dtypes, ..Rounded::default() };
    for inst in std::mem::take(&mut phase.block.insts) {
        new.push(inst);
    }
    for fold in &mut phase.folds {
        fold.value = match fold.fold.has_index() {
            true => new.rounded(fold.value),
            false => new.values[fold.value as usize],
        };
        fold.index = fold.index.map(|v| new.values[v as usize]);
    }
    phase.stores.iter_mut().for_each(|store| store.map_values(|value| new.values[value as usize]));
    phase.block = new.block;
}

/// Whether an instruction is discontinuous in an argument.
fn jumps(inst: &Inst) -> bool {
    match inst {
        Inst::Op { op, .. } => op.row().jumps,
        // It may.
        Inst::Call { .. } => true,
        Inst::Cast { to, .. } => !to.is_float(),
        _ => false,
    }
}

/// A block that is rewritten with roundings.
#[derive(Default)]
struct Rounded {
    block: Block,
    /// Dtypes of the old values.
    dtypes: Vec<DType>,
    /// The new number of each old value.
    values: Vec<Value>,
    /// The rounded value of each; the value itself, if it is a half already.
    halves: Vec<Option<Value>>,
}

impl Rounded {
    fn push(&mut self, mut inst: Inst) {
        let exact = matches!(inst, Inst::Const(_) | Inst::Load { .. } | Inst::Cast { .. });
        let jumps = jumps(&inst);
        inst.map_values(|value| if jumps { self.rounded(value) } else { self.values[value as usize] });
        let place = self.append(inst);
        let is_half = self.dtypes[self.values.len()].is_half();
        self.values.push(place);
        self.halves.push((exact || !is_half).then_some(place));
    }

    fn append(&mut self, inst: Inst) -> Value {
        self.block.insts.push(inst);
        self.block.insts.len() as Value - 1
    }

    /// The value as it would be stored in memory.
    fn rounded(&mut self, value: Value) -> Value {
        let at = value as usize;
        if let Some(place) = self.halves[at] {
            return place;
        }
        let wide = self.append(Inst::Cast { to: DType::F32, value: self.values[at] });
        let place = self.append(Inst::Cast { to: self.dtypes[at], value: wide });
        self.halves[at] = Some(place);
        place
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::prelude::*;

    /// The results of a Function on the host device with fusion, and of its reference.
    fn both(f: &Function, x: &[f32]) -> [Vec<f64>; 2] {
        let x = Value::from(x.to_vec()).cast(DType::F16).unwrap();
        let values = |outputs: Outputs| outputs.iter().flat_map(|(_, v)| v.to_f64s()).collect();
        let mut simulator = f.optimize(Host::threads(1)).unwrap();
        [values(simulator.call(args![x.clone()]).unwrap()), values(f.call_reference(args![x]).unwrap())]
    }

    #[test]
    fn jumps_look_at_halves() {
        let x = vector::<half::f16>("x");
        let y = x.tanh();
        let f = function([&x]).output(y.floor()).output(y.equal(1.0)).output(y.cast(DType::I32));
        let f = f.output(y % 1.0).compile().unwrap();
        let [got, expected] = both(&f, &[9.0, -9.0, 0.5, 6.0]);
        assert_eq!(got, expected);
        assert_eq!(got[..4], [1.0, -1.0, 0.0, 1.0]);
    }

    #[test]
    fn equal_halves_are_ties() {
        let x = vector::<half::f16>("x");
        let f = function([&x]).output(x.tanh().argmax(0)).compile().unwrap();
        let [got, expected] = both(&f, &[0.0, 6.0, 8.0]);
        assert_eq!((got, expected), (vec![1.0], vec![1.0]));
    }

    #[test]
    fn the_gradient_of_a_maximum_finds_what_was_chosen() {
        let x = vector::<half::f16>("x");
        let y = x.tanh().maximum((&x * 0.5).sin());
        let gradient = grad(y.sum(0), [&x]).unwrap().remove(0);
        let f = function([&x]).output(&y).output(gradient).compile().unwrap();
        let [got, expected] = both(&f, &[0.1, 0.7, -0.3, 1.3]);
        assert!(got.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 2e-3), "{got:?} {expected:?}");
    }
}
