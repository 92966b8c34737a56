//! Special functions of several arguments, which only the host computes: values of 60 digits, every dtype,
//! and the gradients that are expressions of them.

use super::apply;
use crate::data::{joined, random, special};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::Tier;
use workalike::Result;
use workalike::kernels::ops::ScalarOp;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![golden(), dtypes(), among_others()]
}

fn all() -> impl Iterator<Item = ScalarOp> {
    ScalarOp::all().filter(|op| op.is_host_only())
}

fn golden() -> Result<Group> {
    let golden = Golden::special();
    let mut group = Group::new("special");
    for dtype in [DType::F32, DType::F64] {
        for op in all() {
            let name = op.row().name;
            let args = (0..op.row().arity).map(|at| golden.value(&format!("{name}.{at}.{dtype}")));
            let args: Vec<Variable> = args.map(|arg| Ok(group.input(arg?))).collect::<Result<_>>()?;
            let value = golden.value(&format!("{name}.{dtype}"))?;
            group.golden(format!("{name}_{}", dtype.short()), apply(op, &args), value, Tier::Op(op));
        }
    }
    Ok(group)
}

/// Every accepted dtype, including halves and the limits of each, with broadcasting, against float64.
fn dtypes() -> Result<Group> {
    let mut group = Group::new("special_dtypes");
    for dtype in DType::REAL {
        let values = joined(&[special(dtype)?, random(dtype, &[6], 2)?])?;
        let n = values.len();
        let step = if dtype.is_float() { 5 } else { 1 };
        let some: Vec<i64> = (0..n as i64).step_by(step).collect();
        let some = group.input(&values).take(constant(some), 0);
        let args = [some.dimshuffle([Some(0), None]), some.dimshuffle([None, Some(0)])];
        let single = [random(dtype, &[1, 1], 3)?, random(dtype, &[1, 1], 4)?].map(|value| group.input(value));
        for op in all() {
            let mut given = single[..op.row().arity - 2].to_vec();
            given.extend(args.clone());
            super::elementwise::add(&mut group, format!("{}_{}", op.row().name, dtype.short()), op, &given);
        }
    }
    Ok(group)
}

/// Between other ops, and in gradients.
fn among_others() -> Result<Group> {
    let mut group = Group::new("special_among_others");
    let x = group.input(random(DType::F64, &[4, 5], 5)?).abs() + 0.1;
    let near = |group: &mut Group, name: &str, y: Variable| {
        let bound = (super::magnitude(&y) + 1.0) * (256.0 * f64::EPSILON);
        group.case(name, y, Tier::Within(bound));
    };
    near(&mut group, "between", (gammainc(1.5, x.exp()) * &x).sum(0));
    near(&mut group, "jv", grad(jv(2.5, &x).sum(..), [&x])?.swap_remove(0));
    near(&mut group, "owens_t", grad(owens_t(&x, &x * 2.0).sum(..), [&x])?.swap_remove(0));
    near(&mut group, "hyp2f1", grad(hyp2f1(0.5, 1.5, 2.5, -&x).sum(..), [&x])?.swap_remove(0));
    Ok(group)
}
