//! Slices and indices with Python's rules, read and written, with bounds known at compile time or at run
//! time.

use crate::data::random;
use crate::golden::Golden;
use crate::group::Group;
use workalike::ops::{Ix, range};
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![slices(), run_time(), writes(), golden()]
}

pub(super) fn by(slice: impl Into<Ix>, step: i64) -> Ix {
    slice.into().step(step)
}

fn between(start: Option<i64>, stop: Option<i64>, step: i64) -> Ix {
    Ix::Slice { start: start.map(constant), stop: stop.map(constant), step }
}

/// Index expressions for a (6, 7, 8) array, and their names: the Python text, as in the golden file.
pub(super) fn expressions() -> Vec<(&'static str, Vec<Ix>)> {
    vec![
        ("2", idx![2].into()),
        ("-1", idx![-1].into()),
        ("1:4", idx![1..4].into()),
        ("::2", idx![by(.., 2)].into()),
        ("::-1", idx![by(.., -1)].into()),
        ("4:1:-1", vec![between(Some(4), Some(1), -1)]),
        ("-2:", vec![between(Some(-2), None, 1)]),
        (":-2", vec![between(None, Some(-2), 1)]),
        ("100:", vec![between(Some(100), None, 1)]),
        (":100", vec![between(None, Some(100), 1)]),
        ("-100:3", vec![between(Some(-100), Some(3), 1)]),
        ("5:2", vec![between(Some(5), Some(2), 1)]),
        ("::-3", idx![by(.., -3)].into()),
        ("3,4,5", idx![3, 4, 5].into()),
        ("-6,-7,-8", idx![-6, -7, -8].into()),
        (":,3", idx![.., 3].into()),
        (":,:,-1", idx![.., .., -1].into()),
        ("1:5:2,::-2,2:7", vec![by(1..5, 2), by(.., -2), Ix::from(2..7)]),
        ("2,::3,-3:", vec![Ix::from(2), by(.., 3), between(Some(-3), None, 1)]),
        ("0:1", idx![0..1].into()),
        ("6:6", idx![6..6].into()),
        (":,5:0:-2,::4", vec![Ix::from(..), between(Some(5), Some(0), -2), by(.., 4)]),
    ]
}

/// All expressions for one dtype, and a few for each of the others, whose kernels differ only in the size of
/// an element.
fn expressions_for(dtype: DType) -> Vec<(&'static str, Vec<Ix>)> {
    let few = ["::-1", "3,4,5", "1:5:2,::-2,2:7", "100:"];
    let mut all = expressions();
    all.retain(|(name, _)| dtype == DType::F32 || few.contains(name));
    all
}

fn slices() -> Result<Group> {
    let mut group = Group::new("subtensor");
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I32, DType::U8, DType::Bool] {
        let x = group.input(random(dtype, &[6, 7, 8], 1)?);
        for (name, entries) in expressions_for(dtype) {
            group.exact(format!("x[{name}]_{}", dtype.short()), x.index(&entries));
        }
        let twice = x.index(idx![by(.., -1), 1..6]).index(idx![1..4, by(.., 2)]);
        group.exact(format!("slice_of_slice_{}", dtype.short()), twice);
        group.exact(format!("slice_of_transposed_{}", dtype.short()), x.t().index(idx![2..5, 3]));
        group.exact(format!("slice_of_product_{}", dtype.short()), (&x * &x).index(idx![1, .., by(.., 3)]));
    }
    Ok(group)
}

fn run_time() -> Result<Group> {
    let mut group = Group::new("subtensor_run_time");
    let x = group.input(random(DType::F32, &[20, 6], 1)?);
    let cube = group.input(random(DType::I64, &[5, 6, 7], 2)?);
    for at in [0i64, 1, 4] {
        let i = group.input(Value::from(at));
        let batch = range(&i * 4i64, (&i + 1i64) * 4i64);
        group.exact(format!("batch_{at}"), x.index([batch.clone()]));
        group.exact(format!("batch_twice_{at}"), x.index([batch.clone()]) * 2.0);
        group.exact(format!("sum_of_batch_{at}"), x.index([batch.clone()]).max(0));
        group.exact(format!("transposed_batch_{at}"), x.t().index([Ix::from(..), batch]));
        group.exact(format!("row_{at}"), x.index(idx![&i]));
        group.exact(format!("element_{at}"), x.index(idx![&i, 3]));
        group.exact(format!("corner_{at}"), cube.index(idx![&i, &i, &i]));
        group.exact(format!("middle_axis_{at}"), cube.index(idx![.., &i]));
        group.exact(
            format!("part_from_{at}"),
            cube.index([range(&i, &i + 1i64), Ix::from(..), range(0i64, &i)]),
        );
        group.exact(format!("of_reversed_{at}"), x.index([by(.., -1)]).index(idx![&i]));
        group.exact(format!("of_computed_{at}"), (&x + 1.0).index(idx![&i]));
        let downward = Ix::Slice { start: Some(i.clone()), stop: None, step: -1 };
        group.exact(format!("down_from_{at}"), x.index([downward]));
    }
    for at in [-1i64, -5, -20] {
        let i = group.input(Value::from(at));
        group.exact(format!("row_{at}"), x.index(idx![&i]));
        group.exact(
            format!("from_{at}"),
            x.index([Ix::Slice { start: Some(i.clone()), stop: None, step: 1 }]),
        );
        group.exact(format!("to_{at}"), x.index([Ix::Slice { start: None, stop: Some(i), step: 1 }]));
    }
    for dtype in [DType::I8, DType::U8, DType::I32, DType::U64] {
        let i = group.input(Value::from(3i64).cast(dtype)?);
        group.exact(format!("row_by_{}", dtype.short()), x.index(idx![&i]));
        group.exact(format!("range_by_{}", dtype.short()), x.index([range(&i, &i * 2i64)]));
    }
    // Beyond the end: clamped, as in Python.
    let i = group.input(Value::from(18i64));
    group.exact("cut_off", x.index([range(&i, &i + 4i64)]));
    let i = group.input(Value::from(100i64));
    group.exact("beyond_the_end", x.index([range(&i, &i + 4i64)]));
    // Positions from a computed array.
    let best = x.index(idx![.., 0]).argmax(0);
    group.exact("row_of_the_largest", x.index(idx![&best]));
    Ok(group)
}

fn writes() -> Result<Group> {
    let mut group = Group::new("set_inc");
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::Bool] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[6, 7, 8], 1)?);
        for (name, entries) in expressions_for(dtype) {
            let part = x.index(&entries);
            let one = group.input(random(dtype, &[], 2)?);
            group.exact(format!("set[{name}]_{d}"), x.set_index(&entries, &one));
            group.exact(format!("inc[{name}]_{d}"), x.inc_index(&entries, &part));
        }
        let row = group.input(random(dtype, &[8], 3)?);
        group.exact(format!("set_row_{d}"), x.set_index(idx![2, 3], &row));
        group.exact(format!("set_rows_{d}"), x.set_index(idx![1..3], &row));
        group.exact(format!("inc_broadcast_{d}"), x.inc_index(idx![.., by(.., -2)], &row));
        let twice = x.set_index(idx![0], &row).set_index(idx![1], &row).inc_index(idx![0..2], &row);
        group.exact(format!("several_{d}"), twice);
        // The old and the new value are both outputs.
        let y = &x + &x;
        group.exact(format!("kept_{d}"), &y);
        group.exact(format!("changed_{d}"), y.set_index(idx![0], &row));
    }
    let x = group.input(random(DType::F32, &[20, 6], 4)?);
    let y = group.input(random(DType::F32, &[4, 6], 5)?);
    for at in [0i64, 3] {
        let i = group.input(Value::from(at));
        let batch = || [range(&i * 4i64, (&i + 1i64) * 4i64)];
        group.exact(format!("set_batch_{at}"), x.set_index(batch(), &y));
        group.exact(format!("inc_batch_{at}"), x.inc_index(batch(), &y));
        group.exact(format!("set_at_{at}"), x.set_index(idx![&i], 7.0));
        group.exact(format!("inc_element_{at}"), x.inc_index(idx![&i, &i], 1.0));
    }
    Ok(group)
}

fn golden() -> Result<Group> {
    let golden = Golden::index();
    let mut group = Group::new("subtensor_numpy");
    let x = group.input(golden.value("x")?);
    for (name, entries) in expressions() {
        let value = golden.value(&format!("x[{name}]"))?;
        group.golden(format!("x[{name}]"), x.index(&entries), value, crate::tolerance::Tier::Exact);
    }
    Ok(group)
}
