//! Softmax, its logarithm and cross-entropy along every axis, for long rows and extreme numbers.

use super::{FLOATS, magnitude};
use crate::data::{below, normal, numbers, random};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, eps, sum};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![softmaxes(), crossentropy(), picks(), picks_of_long_rows()]
}

/// The parts of softmax, in float64.
struct Wide {
    shifted: Variable,
    total: Variable,
}

fn wide(x: &Variable, axis: isize) -> Wide {
    let axis = if axis < 0 { axis + x.ndim() as isize } else { axis };
    let x = x.cast(DType::F64);
    let shifted = &x - x.max([axis]).expand_dims(axis);
    let total = shifted.exp().sum([axis]).expand_dims(axis);
    Wide { shifted, total }
}

/// The error of `exp(x - max) / sum` in eps: of the shift (which the exponential turns into a relative one),
/// of two exponentials, of the sum and of the division.
fn steps(n: usize) -> f64 {
    4.0 + 4.0 + 2.0 * (n.max(1) as f64).log2() + 4.0
}

/// The bound of a softmax of rows of `n`.
fn softmax_tier(x: &Variable, axis: isize, n: usize) -> Tier {
    let (w, dtype) = (wide(x, axis), x.dtype());
    let y = w.shifted.exp() / &w.total;
    let relative = (-&w.shifted + steps(n)) * eps(dtype.register());
    // The smallest positive number allows for underflow.
    Tier::Within(&y * (relative + eps(dtype)) + least(dtype))
}

/// The bound of a log_softmax of rows of `n`: the shift, the sum's relative error as an absolute one, the
/// logarithm and the last subtraction.
fn log_softmax_tier(x: &Variable, axis: isize, n: usize) -> Tier {
    let (w, dtype) = (wide(x, axis), x.dtype());
    let log = w.total.log();
    let y = &w.shifted - &log;
    let absolute = (-&w.shifted + &log * 4.0 + steps(n)) * eps(dtype.register());
    Tier::Within(absolute + -&y * (eps(dtype) * 2.0))
}

fn least(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-24),
        DType::BF16 => 2f64.powi(-133),
        DType::F32 => 2f64.powi(-149),
        _ => f64::from_bits(1),
    }
}

fn add(group: &mut Group, name: &str, x: &Variable, axis: isize, n: usize) {
    let w = wide(x, axis);
    group.against(
        format!("softmax_{name}"),
        softmax(x, axis),
        &(w.shifted.exp() / &w.total),
        softmax_tier(x, axis, n),
    );
    let log = &w.shifted - &w.total.log();
    group.against(format!("log_softmax_{name}"), log_softmax(x, axis), &log, log_softmax_tier(x, axis, n));
}

/// Rows of large numbers, and rows with minus infinity in them.
fn add_extremes(group: &mut Group, dtype: DType) -> Result<()> {
    let d = dtype.short();
    let large = numbers(dtype, &[4, 10], &normal(40, 4).iter().map(|v| v * 3e4).collect::<Vec<_>>())?;
    let large = group.input(large);
    add(group, &format!("{d}_large"), &large, 1, 10);
    let masked = [0.0, f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY, 0.5, f64::NEG_INFINITY];
    let masked = group.input(numbers(dtype, &[2, 3], &masked)?);
    add(group, &format!("{d}_masked"), &masked, 1, 3);
    Ok(())
}

fn softmaxes() -> Result<Group> {
    let golden = Golden::softmax();
    let mut group = Group::new("softmax");
    for dtype in FLOATS {
        let d = dtype.short();
        let x = group.input(random(dtype, &[7, 13], 1)?);
        let cube = group.input(random(dtype, &[3, 4, 5], 2)?);
        let row = group.input(random(dtype, &[40], 3)?);
        add(&mut group, &format!("{d}_rows_7x13"), &x, -1, 13);
        if dtype.is_half() {
            // Their kernels are those of float32 except for loads and stores.
            add_extremes(&mut group, dtype)?;
            continue;
        }
        add(&mut group, &format!("{d}_columns_7x13"), &x, 0, 7);
        add(&mut group, &format!("{d}_transposed"), &x.t(), 1, 7);
        for (axis, n) in [(0, 3), (1, 4), (2, 5)] {
            add(&mut group, &format!("{d}_cube_axis_{axis}"), &cube, axis, n);
        }
        add(&mut group, &format!("{d}_vector"), &row, 0, 40);
        let long = group.input(random(dtype, &[3, 5000], 5)?);
        add(&mut group, &format!("{d}_long"), &long, 1, 5000);
        add(&mut group, &format!("{d}_long_columns"), &long.t(), 0, 5000);
        add(&mut group, &format!("{d}_of_computed"), &(&x * 2.0), 1, 13);
        let one = group.input(random(dtype, &[6, 1], 6)?);
        add(&mut group, &format!("{d}_rows_of_one"), &one, 1, 1);
        let empty = group.input(random(dtype, &[0, 5], 7)?);
        group.exact(format!("softmax_{d}_no_rows"), softmax(&empty, 1));
        add_extremes(&mut group, dtype)?;
    }
    for dtype in [DType::F32, DType::F64] {
        let x = group.input(golden.value(&format!("x.{dtype}"))?);
        for axis in [0isize, 1] {
            let n = if axis == 0 { 6 } else { 9 };
            let value = |what: &str| golden.value(&format!("{what}.{dtype}.{axis}"));
            let name = format!("numpy_{}_{axis}", dtype.short());
            group.golden(
                format!("softmax_{name}"),
                softmax(&x, axis),
                value("softmax")?,
                softmax_tier(&x, axis, n),
            );
            group.golden(
                format!("log_softmax_{name}"),
                log_softmax(&x, axis),
                value("log_softmax")?,
                log_softmax_tier(&x, axis, n),
            );
        }
    }
    Ok(group)
}

fn crossentropy() -> Result<Group> {
    let mut group = Group::new("crossentropy");
    let (rows, classes) = (9, 10);
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let d = dtype.short();
        let y = group.input(below(classes, DType::I64, &[rows], 2)?);
        let scale = if dtype == DType::F16 { 100.0 } else { 1e4 };
        let wild: Vec<f64> = normal(rows * classes, 3).iter().map(|v| v * scale).collect();
        let inputs = [
            ("plain", random(dtype, &[rows, classes], 1)?),
            ("extreme", numbers(dtype, &[rows, classes], &wild)?),
        ];
        for (name, value) in inputs {
            let x = group.input(value);
            let cost = categorical_crossentropy(softmax(&x, -1), &y);
            let w = wide(&x, 1);
            let picked = |v: &Variable| v.index(workalike::idx![arange(rows as i64), &y]);
            let exact = -picked(&(&w.shifted - w.total.log()));
            let Tier::Within(bound) = log_softmax_tier(&x, 1, classes) else { continue };
            let tier = Tier::Within(picked(&bound));
            group.against(format!("integer_labels_{name}_{d}"), &cost, &exact, tier);
            // The gradient is softmax(x) minus 1 at the label, and finite for all logits.
            let g = grad(cost.sum(..), [&x])?;
            let p = w.shifted.exp() / &w.total;
            let wanted = p.inc_index(workalike::idx![arange(rows as i64), &y], -1.0);
            // The gradient is computed from exp(log_softmax), so the bound is that of log_softmax, relative
            // to p, plus one eps.
            let bound = &p * &bound * 2.0 + (&p + 1.0) * (8.0 * eps(dtype));
            group.against(format!("gradient_{name}_{d}"), &g[0], &wanted, Tier::Within(bound));
            let targets = group.input(softmax_of_random(dtype, rows, classes)?);
            let soft = categorical_crossentropy(softmax(&x, -1), &targets);
            let exact = -(targets.cast(DType::F64) * (&w.shifted - w.total.log())).sum(1);
            let Tier::Within(bound) = log_softmax_tier(&x, 1, classes) else { continue };
            let sums = (&bound + super::magnitude(&(&w.shifted - w.total.log())) * (8.0 * eps(dtype)))
                * targets.cast(DType::F64);
            group.against(format!("distributions_{name}_{d}"), &soft, &exact, Tier::Within(sums.sum(1)));
        }
    }
    Ok(group)
}

fn softmax_of_random(dtype: DType, rows: usize, classes: usize) -> Result<Value> {
    let weights: Vec<f64> = normal(rows * classes, 4).iter().map(|v| v.abs() + 0.01).collect();
    let sums: Vec<f64> = weights.chunks(classes).map(|row| row.iter().sum()).collect();
    let normed: Vec<f64> = weights.iter().enumerate().map(|(i, w)| w / sums[i / classes]).collect();
    numbers(dtype, &[rows, classes], &normed)
}

/// One entry of each row, and rows that are folded in another shape than they are stored in.
fn picks() -> Result<Group> {
    let mut group = Group::new("picked_rows");
    for dtype in FLOATS {
        let d = dtype.short();
        let x = group.input(numbers(dtype, &[24, 160], &normal(24 * 160, 5))?);
        let labels = group.input(below(160, DType::I32, &[24], 3)?);
        let pick = |rows: &Variable| rows.index(idx![arange(labels.extent(0)), &labels]);
        for (name, y, tier) in [
            ("softmax", softmax(&x, 1), softmax_tier(&x, 1, 160)),
            ("log_softmax", log_softmax(&x, 1), log_softmax_tier(&x, 1, 160)),
        ] {
            let Tier::Within(bound) = tier else { continue };
            group.case(format!("{name}_{d}"), pick(&y), Tier::Within(pick(&bound)));
            // All entries are needed too.
            let both = pick(&y) + y.max(1) * 0.0;
            group.case(format!("{name}_{d}_and_folded"), both, Tier::Within(pick(&bound)));
        }
        let halves = x.cast(DType::F64) * 0.5;
        let sums = (&x * 0.5).reshape([-1, 32]).sum(1);
        group.case(
            format!("sums_{d}"),
            sums,
            sum(32, dtype.register(), dtype, &magnitude(&halves).reshape([-1, 32]).sum(1)),
        );
        group.case(format!("stored_{d}"), &x * 0.5, Tier::Exact);
    }
    Ok(group)
}

/// Arrays so large that no device stores them for the few entries that are read.
fn picks_of_long_rows() -> Result<Group> {
    const ROWS: usize = 80;
    const CLASSES: usize = 8192;
    let mut group = Group::new("picked_long_rows");
    for dtype in [DType::F16, DType::F32] {
        let d = dtype.short();
        let x = group.input(numbers(dtype, &[ROWS, CLASSES], &normal(ROWS * CLASSES, 6))?);
        let labels = group.input(below(CLASSES, DType::I32, &[ROWS], 4)?);
        let pick = |rows: &Variable| rows.index(idx![arange(labels.extent(0)), &labels]);
        let Tier::Within(bound) = log_softmax_tier(&x, 1, CLASSES) else { continue };
        group.case(format!("log_softmax_{d}"), pick(&log_softmax(&x, 1)), Tier::Within(pick(&bound)));
    }
    Ok(group)
}
