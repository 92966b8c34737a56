//! The parts of a folded value: two factors, or the two arguments of a function. Each part depends on fewer
//! axes than the fold.

use crate::dtype::DType;
use crate::nest::{Fold, FoldOf, Inst, Nest, Phase, Value};
use crate::ops;
use crate::schedule::access::Address;
use std::collections::BTreeSet;

/// The axes that each value of a phase depends on, as bits.
pub(crate) fn dependences(nest: &Nest, phase: &Phase) -> Vec<u64> {
    let mut depends: Vec<u64> = Vec::new();
    for inst in &phase.block.insts {
        let mut bits = match inst {
            Inst::Axis(axis) => 1 << axis,
            Inst::Load { operand, index } => {
                let address = Address::new(nest, *operand, index);
                let moves = (0..nest.axes.len()).filter(|&axis| address.steps[axis] != 0);
                moves.fold(0, |bits, axis| bits | 1 << axis)
            }
            _ => 0,
        };
        inst.for_each_value(|value| bits |= depends[value as usize]);
        depends.push(bits);
    }
    depends
}

/// The two parts of a fold, and the values between them and what it sums.
type Parts = ([Value; 2], Vec<Value>);

/// The two parts of each fold, and the values computed from them up to the folded one: empty for a product.
pub(crate) fn parts(
    nest: &Nest,
    phase: &Phase,
    dtypes: &[DType],
    depends: &[u64],
    grid: u64,
) -> Option<Vec<Parts>> {
    let apart = |values: &[Value; 2]| {
        let [left, right] = values.map(|value| depends[value as usize] & grid);
        left & !right != 0 && right & !left != 0
    };
    // Beyond the inner points a sum takes zeros, an extreme takes the last point again.
    let is_sum = |fold: &FoldOf| fold.fold == Fold::Sum;
    let alike = phase.folds.iter().all(is_sum) || !phase.folds.iter().any(is_sum);
    if !alike || !phase.folds.iter().all(|fold| is_tiled(nest, phase, fold)) {
        return None;
    }
    let of = |fold| {
        let product = product(phase, dtypes, fold);
        let plain = |parts| (parts, Vec::new());
        let apart = product.filter(apart).map(plain);
        let function = || function_of_two(phase, dtypes, depends, grid, fold);
        // Beside other folds, a factor may be the same for all rows or columns.
        apart.or_else(function).or_else(|| product.map(plain))
    };
    phase.folds.iter().map(of).collect()
}

/// The two factors of a summed product. Conversions that do not change the register are skipped.
fn product(phase: &Phase, dtypes: &[DType], fold: &FoldOf) -> Option<[Value; 2]> {
    let mut value = fold.value;
    let register = dtypes[value as usize].register();
    while let Inst::Cast { value: from, to } = phase.block.insts[value as usize]
        && to.register() == register
        && dtypes[from as usize].register() == register
        && !to.is_half()
    {
        value = from;
    }
    match &phase.block.insts[value as usize] {
        Inst::Op { op, args } if *op == ops::MUL && fold.fold == Fold::Sum => Some([args[0], args[1]]),
        _ => None,
    }
}

/// Functions that are 0 where all their arguments are. A tile's last round sums zeros beyond the inner
/// points.
const OF_ZEROS: [ops::ScalarOp; 7] =
    [ops::ADD, ops::SUB, ops::MUL, ops::SQR, ops::ABS, ops::MAXIMUM, ops::MINIMUM];

/// Whether tiles can fold it: with an index, only the position along the only inner axis.
fn is_tiled(nest: &Nest, phase: &Phase, fold: &FoldOf) -> bool {
    let along = Inst::Axis(nest.grid);
    let is_position = |at: Value| nest.axes.len() == nest.grid + 1 && phase.block.insts[at as usize] == along;
    fold.fold != Fold::Product && fold.index.is_none_or(is_position)
}

/// The two values of which a folded value is a function, each of which depends on fewer axes; and the values
/// between, in order. A summed function is 0 where both are.
fn function_of_two(
    phase: &Phase,
    dtypes: &[DType],
    depends: &[u64],
    grid: u64,
    fold: &FoldOf,
) -> Option<Parts> {
    let (all, dtype) = (depends[fold.value as usize] & grid, dtypes[fold.value as usize]);
    if !dtype.is_float() || dtype.is_half() {
        return None;
    }
    let (mut parts, mut between) = (BTreeSet::new(), BTreeSet::new());
    let mut left = vec![fold.value];
    while let Some(value) = left.pop() {
        if !between.insert(value) {
            continue;
        }
        let Inst::Op { op, args } = &phase.block.insts[value as usize] else { return None };
        if !OF_ZEROS.contains(op) {
            return None;
        }
        for &arg in args {
            let constant = matches!(phase.block.insts[arg as usize], Inst::Const(_));
            match depends[arg as usize] & grid {
                _ if dtypes[arg as usize] != dtype || constant => return None,
                axes if axes == all => left.push(arg),
                _ => _ = parts.insert(arg),
            }
        }
    }
    let parts: Vec<Value> = parts.into_iter().collect();
    Some((parts.try_into().ok()?, between.into_iter().collect()))
}

/// Which values of a phase's block a value is computed from, itself included.
pub(crate) fn needs(phase: &Phase, value: Value) -> Vec<bool> {
    let mut needed = vec![false; phase.block.insts.len()];
    needed[value as usize] = true;
    for (at, inst) in phase.block.insts.iter().enumerate().rev() {
        if needed[at] {
            inst.for_each_value(|value| needed[value as usize] = true);
        }
    }
    needed
}
