//! Every row of the op table, for every dtype it accepts, at special values.

use super::{apply, is_exact, rows};
use crate::data::{joined, numbers, random, special};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::Tier;
use workalike::Result;
use workalike::kernels::ops::ScalarOp;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![
        unary(),
        golden_unary(),
        golden_functions(),
        golden_integers(),
        binary(),
        ternary(),
        mixed(),
        select(),
        bits(),
        draws(),
    ]
}

fn of_arity(arity: usize) -> impl Iterator<Item = ScalarOp> {
    ScalarOp::all().filter(move |op| op.row().arity == arity)
}

/// Adds a case. Ops that are not exact are compared with their float64 results.
pub(super) fn add(group: &mut Group, name: String, op: ScalarOp, args: &[Variable]) {
    let output = apply(op, args);
    let narrow = output.dtype().is_float() && output.dtype() != DType::F64;
    if is_exact(op) || !narrow {
        group.case(name, output, Tier::Op(op));
        return;
    }
    // The rounded argument, as float64.
    let signature = op.signature(&args.iter().map(Variable::dtype).collect::<Vec<_>>());
    let seen = |(i, v): (usize, &Variable)| match signature.as_ref().map(|s| s.args[i]) {
        Some(d) if d.is_float() => v.cast(d).cast(DType::F64),
        _ => v.clone(),
    };
    let wide: Vec<Variable> = args.iter().enumerate().map(seen).collect();
    group.against(name, output, &apply(op, &wide), Tier::Op(op));
}

fn unary() -> Result<Group> {
    let mut group = Group::new("unary");
    for dtype in DType::REAL {
        let x = group.input(joined(&[special(dtype)?, random(dtype, &[200], 1)?])?);
        for op in of_arity(1).filter(|op| op.signature(&[dtype]).is_some()) {
            add(&mut group, format!("{}_{}", op.row().name, dtype.short()), op, std::slice::from_ref(&x));
        }
    }
    Ok(group)
}

/// Against correctly rounded values.
fn golden_unary() -> Result<Group> {
    let golden = Golden::unary();
    let mut group = Group::new("unary_numpy");
    for dtype in super::FLOATS {
        let x = group.input(golden.value(&format!("x.{dtype}"))?);
        for op in of_arity(1).filter(|op| op.signature(&[dtype]).is_some()) {
            let name = op.row().name;
            if let Some(value) = golden.find(&format!("{name}.{dtype}"))? {
                group.golden(
                    format!("{name}_{}", dtype.short()),
                    apply(op, std::slice::from_ref(&x)),
                    value,
                    Tier::Op(op),
                );
            }
        }
    }
    Ok(group)
}

/// Every float function that NumPy, SciPy or mpmath has.
fn golden_functions() -> Result<Group> {
    let golden = Golden::functions();
    let mut group = Group::new("functions");
    for dtype in [DType::F32, DType::F64] {
        let [x, a, b] = ["x", "a", "b"].map(|name| golden.value(&format!("{name}.{dtype}")));
        let [x, a, b] = [group.input(x?), group.input(a?), group.input(b?)];
        for op in ScalarOp::all() {
            let name = op.row().name;
            let Some(value) = golden.find(&format!("{name}.{dtype}"))? else { continue };
            let args = if op.row().arity == 1 { vec![x.clone()] } else { vec![a.clone(), b.clone()] };
            group.golden(format!("{name}_{}", dtype.short()), apply(op, &args), value, Tier::Op(op));
        }
    }
    Ok(group)
}

/// Every op on integers and bools, at their limits.
fn golden_integers() -> Result<Group> {
    let golden = Golden::integers();
    let mut group = Group::new("integers");
    for dtype in DType::REAL.into_iter().filter(|d| !d.is_float()) {
        let [a, b] = ["a", "b"].map(|name| golden.value(&format!("{name}.{dtype}")));
        let [a, b] = [group.input(a?), group.input(b?)];
        for op in ScalarOp::all() {
            let name = op.row().name;
            let Some(value) = golden.find(&format!("{name}.{dtype}"))? else { continue };
            let args = if op.row().arity == 1 { vec![a.clone()] } else { vec![a.clone(), b.clone()] };
            group.golden(format!("{name}_{}", dtype.short()), apply(op, &args), value, Tier::Exact);
        }
    }
    Ok(group)
}

fn binary() -> Result<Group> {
    let mut group = Group::new("binary");
    for dtype in DType::REAL {
        let values = joined(&[special(dtype)?, random(dtype, &[5], 2)?])?;
        let n = values.len();
        let x = group.input(values.reshaped(&[n, 1])?);
        let y = group.input(values.reshaped(&[1, n])?);
        let native = of_arity(2).filter(|op| !op.is_host_only());
        for op in native.filter(|op| op.signature(&[dtype; 2]).is_some()) {
            let name = format!("{}_{}", op.row().name, dtype.short());
            add(&mut group, name, op, &[x.clone(), y.clone()]);
        }
    }
    Ok(group)
}

/// Ops of three arguments other than `where`.
fn ternary() -> Result<Group> {
    let mut group = Group::new("ternary");
    for dtype in DType::REAL {
        let x = group.input(joined(&[special(dtype)?, random(dtype, &[30], 4)?])?);
        let [low, high] = [8, 9].map(|seed| random(dtype, &[1], seed));
        let [low, high] = [group.input(low?), group.input(high?)];
        group.exact(
            format!("clip_{}", dtype.short()),
            apply(rows::CLIP, &[x.clone(), low.clone(), high.clone()]),
        );
        group.exact(format!("clip_crossed_{}", dtype.short()), apply(rows::CLIP, &[x, high, low]));
    }
    Ok(group)
}

/// Two dtypes in one op: promotion and conversions.
fn mixed() -> Result<Group> {
    let mut group = Group::new("mixed");
    let inputs: Vec<Variable> =
        DType::REAL.iter().map(|&d| Ok(group.input(random(d, &[37], 3)?))).collect::<Result<_>>()?;
    for (i, x) in inputs.iter().enumerate() {
        for y in &inputs[..i] {
            let name = format!("{}_{}", x.dtype().short(), y.dtype().short());
            group.exact(format!("add_{name}"), x + y);
            group.exact(format!("less_{name}"), x.less(y));
        }
        if x.dtype() != DType::Bool {
            group.exact(format!("times_2_minus_1_{}", x.dtype().short()), x * 2i64 - 1i64);
        }
        group.exact(format!("plus_half_{}", x.dtype().short()), x + 0.5);
    }
    Ok(group)
}

fn select() -> Result<Group> {
    let mut group = Group::new("where");
    for dtype in DType::REAL {
        let values = joined(&[special(dtype)?, random(dtype, &[30], 4)?])?;
        let n = values.len();
        let c = group.input(random(DType::Bool, &[n], 5)?);
        let x = group.input(&values);
        let y = group.input(random(dtype, &[n], 6)?);
        group.exact(format!("arrays_{}", dtype.short()), where_(&c, &x, &y));
        group.exact(format!("by_value_{}", dtype.short()), where_(&x, &y, &x));
        let one = group.input(random(dtype, &[], 7)?);
        group.exact(format!("scalar_{}", dtype.short()), where_(&c, &x, &one));
        if dtype != DType::Bool {
            group.exact(format!("weak_{}", dtype.short()), where_(x.greater(1i64), &x, 1i64));
        }
    }
    Ok(group)
}

/// Draws as ops: of every parameter where their methods change, and of wrong ones.
fn draws() -> Result<Group> {
    let mut group = Group::new("draws");
    let key = group.input(Value::from(7u64).reshaped(&[1, 1, 1])?);
    let counters = group.input(Value::from((0..64u64).collect::<Vec<_>>()).reshaped(&[1, 1, 64])?);
    let means = [-1.0, f64::NAN, 0.0, 1e-4, 0.3, 1.0, 9.99, 10.0, 55.5, 1e6];
    let means = group.input(numbers(DType::F64, &[1, 10, 1], &means)?);
    let at = [key, counters, means];
    add(&mut group, "log_gamma".into(), rows::DRAW_LOG_GAMMA, &at);
    add(&mut group, "poisson".into(), rows::DRAW_POISSON, &at);
    let probabilities = group.input(numbers(DType::F64, &[6, 1, 1], &[-0.1, 0.0, 0.01, 0.4, 0.97, 1.0])?);
    let [key, counters, trials] = at;
    add(&mut group, "binomial".into(), rows::DRAW_BINOMIAL, &[key, counters, trials.floor(), probabilities]);
    Ok(group)
}

/// The random generator as an op.
fn bits() -> Result<Group> {
    let mut group = Group::new("bits");
    let key = group.input(Value::from(vec![0u64, 1, u64::MAX, 0x0123_4567_89ab_cdef]).reshaped(&[4, 1, 1])?);
    let counter =
        group.input(Value::from(vec![0u64, 1, 2, u64::MAX, 1 << 32, 12_345_678_901]).reshaped(&[1, 6, 1])?);
    let lane = group.input(Value::from(vec![0u64, 1]).reshaped(&[1, 1, 2])?);
    group.exact("philox", apply(rows::PHILOX, &[key.clone(), counter, lane]));
    let by = group.input(numbers(DType::U64, &[1, 1, 6], &[0.0, 1.0, 11.0, 40.0, 63.0, 64.0])?);
    group.exact("shift_right", apply(rows::RIGHT_SHIFT, &[key, by]));
    Ok(group)
}
