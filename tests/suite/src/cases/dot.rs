//! Matrix and vector products, of all sizes, dtypes and layouts.

use super::magnitude;
use crate::data::random;
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, matmul};
use workalike::ops::Ix;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![sizes(), layouts(), deep(), bytes(), golden()]
}

/// A product over `k` elements, within its bound.
fn add(group: &mut Group, name: String, a: &Variable, b: &Variable, k: usize) {
    let output = a.dot(b);
    let dtype = output.dtype();
    let tier = if dtype.is_float() { matmul(k, dtype, &magnitude(a).dot(magnitude(b))) } else { Tier::Exact };
    group.case(name, output, tier);
}

const DTYPES: [DType; 8] =
    [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool];

fn sizes() -> Result<Group> {
    let mut group = Group::new("dot");
    for dtype in DTYPES {
        let d = dtype.short();
        // Sizes with partial tiles, for two dtypes; fewer for the others.
        let all = matches!(dtype, DType::F32 | DType::I64);
        let sizes = [
            (33, 33, 33),
            (7, 130, 5),
            (1, 1, 1),
            (3, 3, 3),
            (1, 33, 3),
            (3, 1, 33),
            (33, 3, 1),
            (130, 130, 130),
        ];
        for &(m, k, n) in if all { &sizes[..] } else { &sizes[..2] } {
            let a = group.input(random(dtype, &[m, k], 1)?);
            let b = group.input(random(dtype, &[k, n], 2)?);
            add(&mut group, format!("{m}x{k}x{n}_{d}"), &a, &b, k);
        }
        for &k in if all { &[1, 3, 33, 130][..] } else { &[33] } {
            let u = group.input(random(dtype, &[k], 3)?);
            let v = group.input(random(dtype, &[k], 4)?);
            let a = group.input(random(dtype, &[5, k], 5)?);
            let b = group.input(random(dtype, &[k, 6], 6)?);
            add(&mut group, format!("inner_{k}_{d}"), &u, &v, k);
            add(&mut group, format!("matrix_vector_{k}_{d}"), &a, &v, k);
            add(&mut group, format!("vector_matrix_{k}_{d}"), &u, &b, k);
        }
    }
    Ok(group)
}

fn layouts() -> Result<Group> {
    let mut group = Group::new("dot_layouts");
    for dtype in [DType::F16, DType::F32, DType::F64, DType::I64] {
        let d = dtype.short();
        let a = group.input(random(dtype, &[33, 20], 1)?);
        let at = group.input(random(dtype, &[20, 33], 2)?);
        let b = group.input(random(dtype, &[20, 17], 3)?);
        let bt = group.input(random(dtype, &[17, 20], 4)?);
        let big = group.input(random(dtype, &[66, 40], 5)?);
        let strided = big.index(idx![Ix::from(..).step(2), Ix::from(1..).step(2)]);
        let reversed = b.index(idx![Ix::from(..).step(-1)]);
        let none = group.input(random(dtype, &[33, 0], 6)?);
        let none_too = group.input(random(dtype, &[0, 17], 7)?);
        let column = group.input(random(dtype, &[20, 1], 8)?);
        add(&mut group, format!("plain_{d}"), &a, &b, 20);
        add(&mut group, format!("left_transposed_{d}"), &at.t(), &b, 20);
        add(&mut group, format!("right_transposed_{d}"), &a, &bt.t(), 20);
        add(&mut group, format!("both_transposed_{d}"), &at.t(), &bt.t(), 20);
        add(&mut group, format!("left_strided_{d}"), &strided, &b, 20);
        add(&mut group, format!("right_reversed_{d}"), &a, &reversed, 20);
        add(&mut group, format!("with_itself_{d}"), &a, &a.t(), 20);
        add(&mut group, format!("itself_transposed_{d}"), &a.t(), &a, 33);
        add(&mut group, format!("part_of_rows_{d}"), &a.index(idx![3..21]), &b.index(idx![.., 2..9]), 20);
        add(&mut group, format!("empty_sum_{d}"), &none, &none_too, 0);
        add(&mut group, format!("empty_result_{d}"), &none.t(), &a, 33);
        add(&mut group, format!("one_column_{d}"), &a, &column, 20);
        add(&mut group, format!("outer_{d}"), &column, &column.t(), 1);
        add(&mut group, format!("broadcast_{d}"), &a, &column.broadcast_to([20, 4]), 20);
    }
    // Two dtypes are promoted.
    let a = group.input(random(DType::F32, &[4, 5], 9)?);
    let b = group.input(random(DType::I8, &[5, 6], 10)?);
    add(&mut group, "f32_i8".into(), &a, &b, 5);
    Ok(group)
}

/// Products that wide devices compute by a library, with few results and many terms: split along k where
/// possible.
fn deep() -> Result<Group> {
    let mut group = Group::new("dot_deep");
    for (dtype, k) in [(DType::F32, 4096), (DType::F32, 4099), (DType::F64, 4090), (DType::F16, 4096)] {
        let d = dtype.short();
        let a = group.input(random(dtype, &[96, k], 1)?);
        let at = group.input(random(dtype, &[k, 96], 2)?);
        let b = group.input(random(dtype, &[k, 100], 3)?);
        add(&mut group, format!("plain_{k}_{d}"), &a, &b, k);
        add(&mut group, format!("left_transposed_{k}_{d}"), &at.t(), &b, k);
        add(&mut group, format!("both_transposed_{k}_{d}"), &at.t(), &a.t(), k);
    }
    Ok(group)
}

/// Products of int8 numbers as int32, which wide devices compute by a library that reads bytes.
fn bytes() -> Result<Group> {
    let mut group = Group::new("dot_bytes");
    let a = group.input(random(DType::I8, &[132, 1024], 1)?);
    let b = group.input(random(DType::I8, &[1024, 512], 2)?);
    let bt = group.input(random(DType::I8, &[512, 1024], 3)?);
    let odd = group.input(random(DType::I8, &[1024, 510], 4)?);
    let wide = |x: &Variable| x.cast(DType::I32);
    add(&mut group, "plain".into(), &wide(&a), &wide(&b), 1024);
    add(&mut group, "right_transposed".into(), &wide(&a), &wide(&bt).t(), 1024);
    add(&mut group, "both_transposed".into(), &wide(&b).t(), &wide(&a).t(), 1024);
    add(&mut group, "odd".into(), &wide(&a), &wide(&odd), 1024);
    add(&mut group, "part".into(), &wide(&a).index(idx![4..]), &wide(&b).index(idx![.., 16..]), 1024);
    let scaled = wide(&a).dot(wide(&bt).t()).cast(DType::F32) * 0.01;
    group.case("scaled", scaled, Tier::Exact);
    Ok(group)
}

fn golden() -> Result<Group> {
    let golden = Golden::dot();
    let mut group = Group::new("dot_numpy");
    for dtype in [DType::F16, DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool] {
        let a = group.input(golden.value(&format!("a.{dtype}"))?);
        let b = group.input(golden.value(&format!("b.{dtype}"))?);
        let k = 11;
        let tier = |x: Variable, y: Variable| {
            if dtype.is_float() { matmul(k, dtype, &magnitude(&x).dot(magnitude(&y))) } else { Tier::Exact }
        };
        let (row, column) = (a.index(idx![0]), b.index(idx![.., 0]));
        for (what, left, right) in [
            ("matrix", &a, &b),
            ("matrix_vector", &a, &column),
            ("vector_matrix", &row, &b),
            ("inner", &row, &column),
        ] {
            let value = golden.value(&format!("{what}.{dtype}"))?;
            let tier = tier(left.clone(), right.clone());
            group.golden(format!("{what}_{}", dtype.short()), left.dot(right), value, tier);
        }
    }
    Ok(group)
}
