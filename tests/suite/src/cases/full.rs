//! The full product: every elementwise op, and every exact op, for every dtype and every layout of the
//! operands. It takes long, and runs only if [`FULL`] is set.

use super::elementwise::add;
use crate::data::random;
use crate::group::Group;
use crate::tolerance::sum;
use workalike::kernels::ops::{ScalarOp, TypeRule};
use workalike::ops::{Ix, concatenate};
use workalike::prelude::*;
use workalike::{Result, idx};

/// Whether the full product is run.
pub(super) const FULL: &str = "CONFORMANCE_FULL";

/// Extents of all operands except the empty ones.
const ROWS: usize = 5;
const COLUMNS: usize = 7;

pub(super) fn groups() -> Vec<Result<Group>> {
    let elementwise = DType::REAL.into_iter().flat_map(|d| (1..=3).map(move |arity| elementwise(d, arity)));
    elementwise.chain(DType::REAL.into_iter().map(other)).collect()
}

/// Operands of one dtype: the name of the layout, and three operands that broadcast together.
fn operands(group: &mut Group, dtype: DType) -> Result<Vec<(&'static str, [Variable; 3])>> {
    let mut seed = 0;
    let mut three = |shape: &[usize], view: &dyn Fn(Variable) -> Variable| -> Result<[Variable; 3]> {
        let mut next = || -> Result<Variable> {
            seed += 1;
            Ok(view(group.input(random(dtype, shape, seed)?)))
        };
        Ok([next()?, next()?, next()?])
    };
    let plain = three(&[ROWS, COLUMNS], &|x| x)?;
    let transposed = three(&[COLUMNS, ROWS], &|x| x.t())?;
    let strided =
        three(&[2 * ROWS, 3 * COLUMNS], &|x| x.index(idx![Ix::from(..).step(2), Ix::from(..).step(-3)]))?;
    let row = three(&[1, COLUMNS], &|x| x.broadcast_to([ROWS, COLUMNS]))?;
    let empty = three(&[0, COLUMNS], &|x| x)?;
    let zero_d = three(&[], &|x| x)?;
    let mixed = [plain[0].clone(), transposed[1].clone(), row[2].clone()];
    Ok(vec![
        ("contiguous", plain),
        ("transposed", transposed),
        ("strided", strided),
        ("broadcast", row),
        ("zero_size", empty),
        ("zero_d", zero_d),
        ("mixed", mixed),
    ])
}

fn elementwise(dtype: DType, arity: usize) -> Result<Group> {
    let mut group = Group::new(&format!("full_{}", ["unary", "binary", "ternary"][arity - 1]));
    let layouts = operands(&mut group, dtype)?;
    for op in ScalarOp::all().filter(|op| op.row().arity == arity) {
        let given = op.arguments_of(dtype);
        // Of raw bits and draws only their own dtypes mean anything.
        let other = match op.row().types {
            TypeRule::Bits => dtype != DType::U64,
            TypeRule::Draw => dtype != DType::F64,
            _ => false,
        };
        if other || op.signature(&given).is_none() {
            continue;
        }
        for (layout, three) in &layouts {
            let mut args = three[..arity].to_vec();
            for (arg, dtype) in args.iter_mut().zip(&given) {
                *arg = arg.cast(*dtype);
            }
            add(&mut group, format!("{}_{}_{layout}", op.row().name, dtype.short()), op, &args);
        }
    }
    Ok(group)
}

/// Exact reductions, running folds, sorts and data movement; and sums.
fn other(dtype: DType) -> Result<Group> {
    let mut group = Group::new("full_axes");
    let layouts = operands(&mut group, dtype)?;
    let positions = group.input(Value::from(vec![3i64, -1, 0, 3]));
    for (layout, [x, y, _]) in layouts.iter().filter(|l| l.0 != "zero_d") {
        let empty = *layout == "zero_size";
        for axis in [0isize, 1] {
            let mut cases = vec![
                ("all", x.all([axis])),
                ("any", x.any([axis])),
                ("count_nonzero", x.count_nonzero([axis])),
                ("cummax", x.cummax([axis])),
                ("cummin", x.cummin([axis])),
                ("sort", x.sort([axis])),
                ("argsort", x.argsort([axis])),
                ("flip", x.flip([axis])),
                ("roll", x.roll(2i64, axis)),
                ("repeat", x.repeat(2, axis)),
                ("concatenate", concatenate([x, y], axis)),
                ("expand_dims", x.expand_dims(axis)),
            ];
            if !(empty && axis == 0) {
                cases.extend([
                    ("max", x.max([axis])),
                    ("min", x.min([axis])),
                    ("argmax", x.argmax([axis])),
                    ("argmin", x.argmin([axis])),
                    ("take", x.take(&positions, axis)),
                ]);
            }
            for (name, output) in cases {
                group.exact(format!("{name}_{}_{layout}_{axis}", dtype.short()), output);
            }
            let total = x.sum([axis]);
            let name = format!("sum_{}_{layout}_{axis}", dtype.short());
            if total.dtype().is_float() {
                let terms = if axis == 0 { ROWS } else { COLUMNS };
                let bound = sum(terms, dtype.register(), dtype, &super::magnitude(x).sum([axis]));
                group.case(name, total, bound);
            } else {
                group.exact(name, total);
            }
        }
        let d = dtype.short();
        group.exact(format!("transpose_{d}_{layout}"), x.t());
        group.exact(format!("reshape_{d}_{layout}"), x.flatten());
        group.exact(format!("tril_{d}_{layout}"), x.tril(0));
        group.exact(format!("diagonal_{d}_{layout}"), x.diagonal(0, 0, 1));
        group.exact(format!("tile_{d}_{layout}"), x.tile([2, 2]));
        if !empty {
            group.exact(format!("set_{d}_{layout}"), x.set_index(idx![1..3], y.index(idx![0])));
        }
    }
    Ok(group)
}
