//! Positions: along axes, in sorted vectors, flat and unravelled, choices, counts and segments.

use super::magnitude;
use crate::data::{below, random, special};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, sum};
use workalike::Result;
use workalike::ops::{Bins, Mode, Side, ravel_multi_index, unravel_index};
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![numpy(), dtypes()]
}

const MODES: [(&str, Mode); 3] = [("raise", Mode::Raise), ("wrap", Mode::Wrap), ("clip", Mode::Clip)];

fn numpy() -> Result<Group> {
    let golden = Golden::positions();
    let mut group = Group::new("positions_numpy");
    let mut input = |name: &str| -> Result<Variable> { Ok(group.input(golden.value(name)?)) };
    let (x, sorted, shuffled, sorter, asked) =
        (input("x")?, input("sorted")?, input("shuffled")?, input("sorter")?, input("asked")?);
    let (i0, i1, y0, y1, w, wild) =
        (input("i0")?, input("i1")?, input("y0")?, input("y1")?, input("weights")?, input("wild")?);
    let (flat, words, which) = (input("flat")?, input("words")?, input("which")?);
    let mut list = vec![
        ("take_along_0".to_string(), x.take_along_axis(&i0, 0)),
        ("take_along_1".into(), x.take_along_axis(&i1, -1)),
        ("put_along_0".into(), x.put_along_axis(&i0, &y0, 0)),
        ("put_along_1".into(), x.put_along_axis(&i1, &y1, 1)),
        ("put_along_scalar".into(), x.put_along_axis(&i1, 9.5, 1)),
        ("left".into(), sorted.searchsorted(&asked, Side::Left)),
        ("right".into(), sorted.searchsorted(&asked, Side::Right)),
        ("by_sorter".into(), shuffled.searchsorted_by(&asked, Side::Left, &sorter)),
        ("digitize".into(), asked.digitize(&sorted, false)),
        ("digitize_right".into(), asked.digitize(&sorted, true)),
        ("bincount".into(), words.bincount(None, Bins::AtLeast(0))),
        ("bincount_least".into(), words.bincount(None, Bins::AtLeast(20))),
        ("bincount_weights".into(), words.bincount(Some(&w), Bins::AtLeast(0))),
        ("bincount_least".into(), words.bincount(None, Bins::Exactly(20))),
    ];
    for (axis, along) in unravel_index(&flat, [3, 4, 5]).into_iter().enumerate() {
        list.push((format!("unravel_{axis}"), along));
    }
    for (name, mode) in MODES {
        let positions = if mode == Mode::Raise { [&i1 % 3, &i1 % 4] } else { [wild.clone(), &wild + 1] };
        list.push((format!("ravel_{name}"), ravel_multi_index(positions, [3, 4], mode)));
        let which = if mode == Mode::Raise { which.clone() } else { &which * 5 - 4 };
        let choices = [x.clone(), &x * 2.0, constant(7f64)];
        list.push((format!("choose_{name}"), which.choose(choices, mode)));
        if mode != Mode::Raise {
            list.push((format!("take_{name}"), x.take_mode(&wild, 1, mode)));
        }
    }
    for (at, (name, output)) in list.into_iter().enumerate() {
        group.golden(format!("{name}_{at}"), output, golden.value(&name)?, Tier::Exact);
    }
    Ok(group)
}

/// A vector sorted, as the dtype it has.
fn in_order(vector: &Value) -> Result<Value> {
    let mut numbers = vector.to_f64s();
    numbers.sort_by(f64::total_cmp);
    crate::data::numbers(vector.dtype(), vector.shape(), &numbers)
}

fn dtypes() -> Result<Group> {
    let mut group = Group::new("positions");
    for dtype in
        [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8, DType::Bool]
    {
        let d = dtype.short();
        let x = group.input(random(dtype, &[5, 7], 1)?);
        let at = group.input(below(5, DType::I64, &[3, 7], 2)?);
        let back = group.input(below(7, DType::I32, &[5, 2], 3)?);
        let y = group.input(random(dtype, &[3, 7], 4)?);
        group.exact(format!("take_along_{d}"), x.take_along_axis(&at, 0));
        group.exact(format!("take_along_last_{d}"), x.take_along_axis(&back - 7, 1));
        group.exact(format!("put_along_{d}"), x.put_along_axis(&at, &y, 0));
        group.exact(format!("largest_{d}"), x.take_along_axis(x.argmax(1).expand_dims(1), 1));
        let vector = random(dtype, &[40], 5)?;
        let sorted = group.input(in_order(&vector)?);
        let vector = group.input(vector);
        group.exact(format!("searchsorted_left_{d}"), sorted.searchsorted(&x, Side::Left));
        group.exact(format!("searchsorted_right_{d}"), sorted.searchsorted(&x, Side::Right));
        let ids = group.input(below(6, DType::I64, &[5], 6)?);
        let many = group.input(below(4, DType::I32, &[40], 7)?);
        group.exact(format!("segment_max_{d}"), x.segment_max(&ids, 6));
        group.exact(format!("segment_min_{d}"), x.segment_min(&ids, 6));
        group.exact(format!("segment_max_of_many_{d}"), vector.segment_max(&many, 5));
        let total = magnitude(&vector).segment_sum(&many, 4);
        let tier = if dtype.is_float() { sum(41, dtype, dtype, &(total * 8.0)) } else { Tier::Exact };
        group.case(format!("segment_sum_of_many_{d}"), vector.segment_sum(&many, 4), tier);
        if dtype != DType::Bool {
            group.exact(format!("segment_sum_{d}"), x.segment_sum(&ids, 6));
            group.exact(format!("segment_prod_{d}"), x.segment_prod(&ids, 6));
        }
        if !dtype.is_float() || dtype == DType::F64 {
            group.exact(format!("segment_mean_{d}"), x.segment_mean(&ids, 6));
        }
        if dtype.is_integer() {
            let small = vector.remainder(9).abs();
            group.exact(format!("bincount_{d}"), small.bincount(None, Bins::Exactly(300)));
            group.exact(format!("bincount_by_values_{d}"), small.bincount(None, Bins::AtLeast(3)));
        }
    }
    // Enough numbers for atomic adds.
    let words = group.input(below(10, DType::I64, &[5000], 8)?);
    group.exact("bincount_many", words.bincount(None, Bins::AtLeast(12)));
    many_meet(&mut group)?;
    let nothing = group.input(Value::zeros(DType::I64, &[0])?);
    group.exact("bincount_nothing", nothing.bincount(None, Bins::AtLeast(2)));
    group.exact("searchsorted_nothing", nothing.searchsorted(&words, Side::Left));
    Ok(group)
}

/// Many points at few positions and at many, sorted and not. Exact folds may run in any order.
fn many_meet(group: &mut Group) -> Result<()> {
    for (name, count, places) in [("few", 70_000, 7), ("some", 40_000, 900), ("many", 9_000, 20_000)] {
        let mixed = below(places, DType::I32, &[count], 9)?;
        for (how, ids) in [("sorted", in_order(&mixed)?), ("mixed", mixed)] {
            let ids = group.input(ids);
            group.exact(format!("count_{name}_{how}"), ids.bincount(None, Bins::Exactly(places + 3)));
            for dtype in [DType::I32, DType::F32, DType::F64, DType::I64, DType::U32] {
                let x = group.input(random(dtype, &[count], 10)?);
                let label = |fold: &str| format!("{fold}_{name}_{how}_{}", dtype.short());
                group.exact(label("max"), x.segment_max(&ids, places as i64 + 3));
                group.exact(label("min"), x.segment_min(&ids, places as i64 + 3));
                if !dtype.is_float() {
                    group.exact(label("sum"), x.segment_sum(&ids, places as i64 + 3));
                }
            }
            // Rows, and a table that is not empty.
            let x = group.input(random(DType::I32, &[count, 3], 11)?);
            let t = group.input(random(DType::I32, &[places, 3], 12)?);
            group.exact(format!("rows_{name}_{how}"), t.inc_index(idx![&ids], &x));
        }
    }
    let odd = group.input(special(DType::F32)?);
    let all = concatenate((0..40).map(|_| &odd), 0);
    let ids = arange(all.extent(0)) % 11;
    group.exact("max_of_special", all.segment_max(&ids, 11));
    group.exact("min_of_special", all.segment_min(&ids, 11));
    Ok(())
}
