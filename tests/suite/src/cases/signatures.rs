//! One Simulator, many shapes: one Program per signature, the cache of Programs, and values that do not
//! change the signature.

use super::family;
use crate::data::{below, random};
use crate::stage::{Scenario, Stage, equal, near};
use workalike::Result;
use workalike::ops::range;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "signatures",
        &[
            ("varying_shapes", varying),
            ("forty", forty),
            ("offsets_share_a_program", offsets),
            ("two_methods", methods),
            ("many_small_arrays", many),
        ],
    )
}

fn expression(x: &Variable, y: &Variable) -> Variable {
    (x * 2.0 + y).max(0)
}

fn varying(stage: &Stage) -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), vector::<f32>("y"));
    let f = stage.function(&function([&x, &y]).output(expression(&x, &y)).output(&x + &y).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    for (rows, columns) in [(3, 4), (5, 4), (3, 4), (1, 1), (200, 300), (3, 4), (7, 0), (5, 4)] {
        let (a, b) = (random(DType::F32, &[rows, columns], 1)?, random(DType::F32, &[columns], 2)?);
        let (got, want) = (simulator.call(args![&a, &b])?, f.call_reference(args![&a, &b])?);
        for i in 0..2 {
            equal(&format!("{rows}x{columns}, output {i}"), &got[i], &want[i])?;
        }
    }
    Ok(())
}

/// More signatures than the cache keeps.
fn forty(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let state = shared("state", 0f32);
    let f = function([&x]).output(&x + 1.0).update(&state, &state + x.max(..)).compile()?;
    let reference = f.fork()?;
    let mut simulator = stage.simulator(&stage.function(&f.fork()?)?)?;
    for n in (1..=40usize).chain([40, 1, 39, 2]) {
        let x = random(DType::F32, &[n], n as u32)?;
        let want = reference.call_reference(args![&x])?;
        equal(&format!("of {n}"), &simulator.call(args![&x])?[0], &want[0])?;
    }
    equal("state", &simulator.get_value("state")?, reference.cells()[0].get_value()?)
}

/// Slices at run-time offsets share one Program: only extents are part of the signature.
fn offsets(stage: &Stage) -> Result<()> {
    let (i, b) = (scalar::<i64>("i"), scalar::<i64>("b"));
    let data = shared("data", random(DType::F32, &[60, 5], 1)?);
    let f = function([&i, &b]).output(data.index([range(&i * &b, (&i + 1i64) * &b)]).max(1)).compile()?;
    let f = stage.function(&f)?;
    let mut simulator = stage.simulator(&f)?;
    for (at, size) in [(0i64, 10i64), (5, 10), (3, 10), (2, 20), (11, 5), (1, 10), (4, 13), (9, 100)] {
        let (got, want) = (simulator.call(args![at, size])?, f.call_reference(args![at, size])?);
        equal(&format!("batch {at} of {size}"), &got[0], &want[0])?;
    }
    let programs = simulator.explain().lines().filter(|l| l.contains("bytes of arena")).count();
    // Extents 10, 20 and 5 (whole), 8 of 13, and 0.
    crate::stage::ensure(programs == 5, || format!("{programs} Programs for five extents"))
}

fn methods(stage: &Stage) -> Result<()> {
    let x = matrix::<f64>("x");
    let w = shared("w", random(DType::F64, &[6, 3], 1)?);
    let f = function([&x]).output(x.dot(&w)).update(&w, &w * 0.5).compile()?;
    let g = function([&x]).output(x.t().sum(0)).output(w.sum(0)).compile()?;
    let bundle = stage.bundle(&[("f", &f), ("g", &g)])?;
    let mut simulator = stage.simulator(&bundle["f"])?;
    simulator.add_method("g", &bundle["g"])?;
    let reference = [f.fork()?, g.fork()?];
    for n in [2usize, 500, 3, 2, 1000] {
        let a = random(DType::F64, &[n, 6], 2)?;
        let want = reference[0].call_reference(args![&a])?;
        let bound = crate::stage::relative(&want[0], 1e-9);
        near(&format!("f of {n}"), &simulator.call(args![&a])?[0], &want[0], &bound)?;
        reference[1].cells()[0].set_value(reference[0].cells()[0].get_value()?)?;
        let want = reference[1].call_reference(args![&a])?;
        let got = simulator.method("g")?.call(args![&a])?;
        for i in 0..2 {
            near(
                &format!("g of {n}, output {i}"),
                &got[i],
                &want[i],
                &crate::stage::relative(&want[i], 1e-9),
            )?;
        }
    }
    Ok(())
}

/// Small inputs and outputs of every kind between large and empty ones, which may share transfers: some given
/// as device arrays, some not contiguous, an output twice, an input and a shared variable as outputs.
fn many(stage: &Stage) -> Result<()> {
    let (flag, number) = (vector::<bool>("flag"), scalar::<f32>("number"));
    let (ids, half, byte) = (vector::<i64>("ids"), vector::<half::f16>("half"), vector::<u8>("byte"));
    let (none, large, turned) = (vector::<f32>("none"), vector::<f32>("large"), matrix::<f32>("turned"));
    let state = shared("state", random(DType::F32, &[3], 9)?);
    let sum = &number + turned.sum(..);
    let f = function([&flag, &number, &ids, &half, &none, &large, &byte, &turned])
        .output(flag.not())
        .output(&sum)
        .output(&ids * 2i64)
        .output(&number)
        .output(&half + &half)
        .output(&large * &number)
        .output(&none * 2.0)
        .output(&sum)
        .output(&byte + 1u8)
        .output(&turned.t() + 1.0)
        .output(&state)
        .output(turned.index(idx![0, 0]).greater(0.0))
        .update(&state, &state + 1.0)
        .compile()?;
    let reference = f.fork()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    for round in 0..4u32 {
        let whole = random(DType::F32, &[4, 3], round)?;
        let values = [
            below(2, DType::Bool, &[3], round)?,
            random(DType::F32, &[], round + 1)?,
            below(100, DType::I64, &[5], round)?,
            random(DType::F16, &[7], round)?,
            Value::zeros(DType::F32, &[0])?,
            random(DType::F32, &[10_000], round)?,
            below(200, DType::U8, &[1], round)?,
            whole.view_as(&[3, 4], &[1, 3], 0)?,
        ];
        let args = || values.iter().fold(Args::new(), Args::with);
        let want = reference.call_reference(args())?;
        let got = match round {
            2 => {
                // Two of the small ones are on the device.
                let lent = [1, 3].map(|at: usize| simulator.upload(&values[at]));
                let [number, half] = lent;
                let (number, half) = (number?, half?);
                let [flag, _, ids, _, none, large, byte, turned] = &values;
                simulator.call(args![flag, &number, ids, &half, none, large, byte, turned])?
            }
            3 => simulator.call_trusted(&values)?,
            _ => simulator.call(args())?,
        };
        for i in 0..12 {
            let bound = crate::stage::relative(&want[i], 1e-5);
            near(&format!("round {round}, output {i}"), &got[i], &want[i], &bound)?;
        }
    }
    Ok(())
}
