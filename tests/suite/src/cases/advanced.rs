//! Indexing by integer arrays: gathers, scatters, repeated and negative indices.

use super::magnitude;
use crate::data::{below, random};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, sum};
use workalike::ops::range;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![gathers(), wide_gathers(), scatters(), in_order(), wide_rows(), runs()]
}

fn gathers() -> Result<Group> {
    let golden = Golden::index();
    let mut group = Group::new("gather");
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I64, DType::I8, DType::Bool] {
        let d = dtype.short();
        let lp = group.input(random(dtype, &[9, 5], 1)?);
        let cube = group.input(random(dtype, &[4, 5, 6], 2)?);
        for index in [DType::I64, DType::I32, DType::U8, DType::I8] {
            let y = group.input(below(5, index, &[9], 3)?);
            group.exact(format!("one_a_row_{d}_{}", index.short()), lp.index(idx![arange(9i64), &y]));
        }
        let y = group.input(below(5, DType::I64, &[9], 3)?);
        group.exact(format!("one_a_row_by_extent_{d}"), lp.index(idx![arange(lp.extent(0)), &y]));
        let rows = group.input(below(9, DType::I64, &[20], 4)?);
        group.exact(format!("rows_{d}"), lp.index(idx![&rows]));
        group.exact(format!("rows_then_axes_{d}"), lp.index(idx![&rows, ..]));
        group.exact(
            format!("rows_of_transposed_{d}"),
            lp.t().index(idx![&rows.cast(DType::I64).minimum(4i64)]),
        );
        group.exact(format!("rows_of_computed_{d}"), lp.maximum(&lp).index(idx![&rows]));
        let negative = group.input(Value::from(vec![-1i64, -9, 0, 8, -1]));
        group.exact(format!("negative_{d}"), lp.index(idx![&negative]));
        let grid = group.input(below(4, DType::I64, &[3, 2], 5)?);
        group.exact(format!("grid_{d}"), cube.index(idx![&grid]));
        let (column, row) =
            (group.input(below(4, DType::I64, &[3, 1], 6)?), group.input(below(5, DType::I64, &[1, 7], 7)?));
        group.exact(format!("outer_{d}"), cube.index(idx![&column, &row]));
        let k = group.input(below(6, DType::I64, &[7], 8)?);
        group.exact(format!("three_{d}"), cube.index(idx![&column, &row, &k]));
        let none = group.input(Value::zeros(DType::I64, &[0])?);
        group.exact(format!("none_{d}"), lp.index(idx![&none]));
        group.exact(format!("gathered_then_reduced_{d}"), lp.index(idx![&rows]).max(0));
    }
    let x = group.input(golden.value("x")?);
    for name in ["rows", "pairs", "grid"] {
        let i = group.input(golden.value(&format!("{name}.i"))?);
        let entries = match name {
            "pairs" => idx![&i, group.input(golden.value("pairs.j")?)].to_vec(),
            _ => idx![&i].to_vec(),
        };
        group.golden(format!("numpy_{name}"), x.index(entries), golden.value(name)?, Tier::Exact);
    }
    Ok(group)
}

/// Rows that are long enough for devices to copy them whole.
fn wide_gathers() -> Result<Group> {
    let mut group = Group::new("gather_wide");
    for dtype in
        [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::U16, DType::I8, DType::Bool]
    {
        let d = dtype.short();
        let x = group.input(random(dtype, &[11, 67], 1)?);
        let cube = group.input(random(dtype, &[3, 11, 40], 2)?);
        let rows = group.input(below(11, DType::I64, &[29], 3)?);
        let columns = group.input(below(40, DType::I32, &[23], 4)?);
        group.exact(format!("rows_{d}"), x.index(idx![&rows]));
        group.exact(format!("rows_backwards_{d}"), x.flip(1).index(idx![&rows]));
        group.exact(format!("rows_of_planes_{d}"), cube.index(idx![.., &rows]));
        group.exact(format!("columns_{d}"), cube.index(idx![.., .., &columns]));
        group.exact(format!("planes_swapped_{d}"), cube.swapaxes(0, 1).index(idx![&rows]));
        let start = group.input(Value::from(4i64));
        group.exact(format!("some_rows_{d}"), x.index(idx![range(&start, &start + 5i64)]));
        group.exact(format!("one_row_{d}"), cube.index(idx![.., &start]));
    }
    Ok(group)
}

fn scatters() -> Result<Group> {
    let mut group = Group::new("scatter");
    for dtype in
        [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::U8, DType::Bool]
    {
        let d = dtype.short();
        let x = group.input(random(dtype, &[9, 5], 1)?);
        let rows = group.input(below(9, DType::I64, &[40], 2)?);
        let distinct = group.input(Value::from(vec![3i64, -1, 0, 5]));
        let part = group.input(random(dtype, &[4, 5], 3)?);
        let many = group.input(random(dtype, &[40, 5], 4)?);
        let columns = group.input(below(5, DType::I32, &[9], 5)?);
        let one_each = group.input(random(dtype, &[9], 6)?);
        group.exact(format!("set_rows_{d}"), x.set_index(idx![&distinct], &part));
        group.exact(format!("inc_rows_{d}"), x.inc_index(idx![&distinct], &part));
        group.exact(format!("set_repeated_{d}"), x.set_index(idx![&rows], &many));
        // At most 40 additions to an element, each rounded; the order is deterministic but unspecified.
        let total = magnitude(&x) + zeros_like(magnitude(&x)).inc_index(idx![&rows], magnitude(&many));
        let tier = if dtype.is_float() { sum(41, dtype, dtype, &(total * 8.0)) } else { Tier::Exact };
        group.case(format!("inc_repeated_{d}"), x.inc_index(idx![&rows], &many), tier);
        group.exact(format!("set_one_a_row_{d}"), x.set_index(idx![arange(9i64), &columns], &one_each));
        group.exact(format!("inc_one_a_row_{d}"), x.inc_index(idx![arange(9i64), &columns], &one_each));
        let scalar = group.input(random(dtype, &[], 7)?);
        group.exact(format!("set_scalar_{d}"), x.set_index(idx![&rows], &scalar));
    }
    for dtype in [DType::F32, DType::F64] {
        // Small integers, so that every order gives the same sum: the gradient of an embedding counts its
        // uses.
        let table = group.input(random(dtype, &[50, 8], 8)?);
        let words = group.input(below(50, DType::I64, &[6, 30], 9)?);
        let weights = group.input(below(9, dtype, &[6, 30, 8], 10)?);
        let picked = table.index(idx![&words]);
        group.exact(format!("embedding_{}", dtype.short()), &picked);
        let g = grad((&picked * &weights).sum(..), [&table])?;
        group.exact(format!("embedding_gradient_{}", dtype.short()), &g[0]);
    }
    Ok(group)
}

/// Rows replaced at positions that are known to be in order, and at some that look so but wrap around or
/// descend.
fn in_order() -> Result<Group> {
    let mut group = Group::new("scatter_in_order");
    let n = 300;
    let marks = group.input(below(2, DType::Bool, &[n], 1)?);
    let sorted = group.input(below(100, DType::I8, &[n], 2)?).sort(0);
    let some = group.input(below(50, DType::I64, &[n], 3)?);
    let all_but_first = group.input(Value::from((0..n).map(|i| i > 0).collect::<Vec<_>>()));
    let x = group.input(random(DType::F32, &[n], 4)?);
    let table = group.input(random(DType::I64, &[n, 5], 5)?);
    for (name, at, places) in [
        ("counted", marks.cumsum(0) - 1i64, n),
        ("counted_by_twos", (marks.cumsum(0) * 2i64).floor_divide(3i64), n),
        // The first point and the last one both mean the last row, or not.
        ("around", all_but_first.cumsum(0) - 1i64, n - 1),
        ("nearly_around", all_but_first.cumsum(0) - 1i64, n),
        ("sorted", sorted.clone(), n),
        ("wrapped", &sorted + 60i8, n),
        ("descending", -&sorted + 99i8, 100),
        ("from_the_end", sorted.cast(DType::I32) - 100i32, 100),
        ("places", marks.flatnonzero(), n),
        ("clipped", sorted.cast(DType::I32).maximum(20i32).minimum(70i32), 71),
        ("range", arange(n as i64).floor_divide(7i64), 43),
        ("greatest", some.cummax(0), 50),
        ("backward", marks.flip(0).cumsum(0).flip(0) - 1i64, n),
        ("one", some.index(idx![..1]).cummax(0), 50),
        ("none", some.index(idx![..0]).cummax(0), 50),
    ] {
        let point = arange(at.extent(0));
        let (x, table) = (x.index(idx![..places as i64]), table.index(idx![..places as i64]));
        group.exact(format!("numbers_{name}"), x.set_index(idx![&at], point.cast(DType::F32)));
        let rows = point.expand_dims(1) * 5i64 + arange(5i64);
        group.exact(format!("rows_{name}"), table.set_index(idx![&at], rows));
        group.exact(format!("row_{name}"), table.set_index(idx![&at], arange(5i64)));
        group.exact(format!("column_{name}"), table.set_index(idx![&at], point.expand_dims(1)));
    }
    Ok(group)
}

/// Wide rows of some thousands of points, which a GPU groups: none, a few and many of them with one position.
/// Every order of additions gives the same sums.
fn wide_rows() -> Result<Group> {
    let mut group = Group::new("scatter_wide_rows");
    for (dtype, width) in [(DType::F32, 8), (DType::F16, 12), (DType::F64, 3)] {
        let d = dtype.short();
        let table = group.input(below(3, dtype, &[4000, width], 21)?);
        for (name, points, places) in
            [("spread", 3000, 4000), ("nine_each", 2700, 300), ("few", 2000, 5), ("sparse", 100, 4000)]
        {
            let at = group.input(below(places, DType::I64, &[points], 22)?);
            let y = group.input(below(3, dtype, &[points, width], 23)?);
            group.exact(format!("inc_{name}_{d}"), table.inc_index(idx![&at], &y));
            group.exact(format!("max_{name}_{d}"), table.max_index(idx![&at], &y));
            group.exact(format!("inc_by_row_{name}_{d}"), table.inc_index(idx![&at], y.index(idx![0])));
        }
    }
    Ok(group)
}

/// Enough points for library scatters: runs of equal positions within, across and beyond the parts of the
/// work, with whole and broadcast rows. Every order of additions gives the same sums.
fn runs() -> Result<Group> {
    let mut group = Group::new("scatter_runs");
    for (dtype, width) in [(DType::F32, 6), (DType::F64, 1), (DType::F16, 8), (DType::I32, 4), (DType::U8, 5)]
    {
        let d = dtype.short();
        let x = group.input(below(3, dtype, &[40, width], 11)?);
        for (kind, places) in [("many", 40), ("few", 3), ("one", 1)] {
            let at = group.input(below(places, DType::I64, &[500], 12)?);
            for (form, shape) in [
                ("rows", vec![500, width]),
                ("row", vec![width]),
                ("column", vec![500, 1]),
                ("number", vec![]),
            ] {
                let y = group.input(below(3, dtype, &shape, 13)?);
                let name = |op: &str| format!("{op}_{kind}_{form}_{d}");
                group.exact(name("set"), x.set_index(idx![&at], &y));
                group.exact(name("max"), x.max_index(idx![&at], &y));
                group.exact(name("inc"), x.inc_index(idx![&at], &y));
            }
        }
    }
    // The product of the factors overflows float32 until the element of the table brings it back into range.
    let x = group.input(Value::from(vec![1e30f32, 1.0]));
    let at = group.input(Value::from((0..64).map(|i| i64::from(i >= 4)).collect::<Vec<_>>()));
    let factor = |i: usize| [1e-30f32, 1e-30, 1e30, 1e-10].get(i).copied().unwrap_or(1.0);
    let y = group.input(Value::from((0..64).map(factor).collect::<Vec<_>>()));
    group.case("mul_far", x.mul_index(idx![&at], &y), Tier::Within(constant(vec![1e-16, 0.0])));
    let zeros = group.input(Value::from(vec![-0.0f32; 64]));
    let bits = zeros.index(idx![..1]).inc_index(idx![zeros.cast(DType::I64)], &zeros).signbit();
    group.exact("inc_negative_zeros", bits);
    let wide = group.input(below(3, DType::F32, &[50, 1040], 14)?);
    let rows = group.input(below(3, DType::F32, &[4200, 1040], 15)?);
    let at = group.input(below(50, DType::I64, &[4200], 16)?);
    group.exact("inc_wide", wide.inc_index(idx![&at], &rows));
    Ok(group)
}
