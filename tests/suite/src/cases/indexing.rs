//! Index expressions of every kind, read and written: arrays and masks at any place among slices, numbers and
//! new axes.

use crate::data::random;
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::Tier;
use std::collections::HashMap;
use workalike::ops::Ix;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![numpy(), dtypes()]
}

/// The arrays of the golden file.
const ARRAYS: [&str; 13] = ["i", "j", "k", "g", "d", "m3", "p3", "n3", "m4", "m5", "m34", "m45", "m345"];

/// Index expressions for a (3, 4, 5) array, and their names: the Python text, as in the golden file.
fn expressions(group: &mut Group, golden: &Golden) -> Result<Vec<(&'static str, Vec<Ix>)>> {
    let mut arrays = HashMap::new();
    for name in ARRAYS {
        arrays.insert(name, group.input(golden.value(name)?));
    }
    let [i, j, k, g, d, m3, p3, n3, m4, m5, m34, m45, m345] = ARRAYS.map(|name| &arrays[name]);
    let (all, back) = (Ix::from(..), Ix::from(..).step(-1));
    Ok(vec![
        (":,i", idx![.., i].into()),
        (":,:,i", idx![.., .., i].into()),
        (":,i,j", idx![.., i, j].into()),
        ("i,:,k", idx![i, .., k].into()),
        ("...,k", idx![ELLIPSIS, k].into()),
        ("i,...,k", idx![i, ELLIPSIS, k].into()),
        (":,i,...,k", idx![.., i, ELLIPSIS, k].into()),
        ("None", idx![NEWAXIS].into()),
        (":,None,1:3", idx![.., NEWAXIS, 1..3].into()),
        ("...,None", idx![ELLIPSIS, NEWAXIS].into()),
        ("0,:,i", idx![0, .., i].into()),
        ("0,i", idx![0, i].into()),
        (":,0,k", idx![.., 0, k].into()),
        (":,i,0", idx![.., i, 0].into()),
        ("i,None,j", idx![i, NEWAXIS, j].into()),
        (":,j,None", idx![.., j, NEWAXIS].into()),
        ("::-1,j,1::2", vec![back, Ix::from(j), Ix::from(1..).step(2)]),
        ("1:3,g,k", idx![1..3, g, k].into()),
        ("g,:,k", idx![g, .., k].into()),
        ("-1,...,None,0", idx![-1, ELLIPSIS, NEWAXIS, 0].into()),
        ("m3", idx![m3].into()),
        (":,m4", idx![.., m4].into()),
        ("...,m5", idx![ELLIPSIS, m5].into()),
        ("m34", idx![m34].into()),
        (":,m45", idx![.., m45].into()),
        ("m3,:,2", idx![m3, .., 2].into()),
        ("p3,d", idx![p3, d].into()),
        ("p3,:,d", idx![p3, .., d].into()),
        ("m345", idx![m345].into()),
        ("n3", idx![n3].into()),
        ("m3,None", idx![m3, NEWAXIS].into()),
        ("1:,m4,::2", vec![Ix::from(1..), Ix::from(m4), all.step(2)]),
        ("d", idx![d].into()),
        (":,d", idx![.., d].into()),
        ("d,d", idx![d, d].into()),
        ("...,d,d", idx![ELLIPSIS, d, d].into()),
        ("d,:,g", idx![d, .., g].into()),
        ("i,j,k", idx![i, j, k].into()),
        ("m3,1:,0", idx![m3, 1.., 0].into()),
        ("...", idx![ELLIPSIS].into()),
        (":,m4,None,1", idx![.., m4, NEWAXIS, 1].into()),
    ])
}

/// The values that `make.py` writes into a part of this shape.
fn written(shape: &[usize]) -> Result<Value> {
    let numbers = (0..shape.iter().product::<usize>()).map(|at| (at * 7 % 1000) as i16 - 300);
    Value::from_vec(shape, numbers.collect())
}

fn numpy() -> Result<Group> {
    let golden = Golden::indexing();
    let mut group = Group::new("indexing_numpy");
    let x = group.input(golden.value("x")?);
    for (name, entries) in expressions(&mut group, &golden)? {
        let part = golden.value(&format!("x[{name}]"))?;
        let y = group.input(written(part.shape())?);
        group.golden(format!("x[{name}]"), x.index(&entries), part, Tier::Exact);
        let results = [
            ("set", x.set_index(&entries, &y)),
            ("scalar", x.set_index(&entries, -7)),
            ("add", x.inc_index(&entries, &y)),
            ("maximum", x.max_index(&entries, &y)),
        ];
        for (what, output) in results {
            let case = format!("{what}[{name}]");
            group.golden(&case, output, golden.value(&case)?, Tier::Exact);
        }
    }
    Ok(group)
}

fn dtypes() -> Result<Group> {
    let golden = Golden::indexing();
    let mut group = Group::new("indexing");
    let all = expressions(&mut group, &golden)?;
    let few = ["i,:,k", ":,i,0", "m34", "1:,m4,::2", "m3,:,2", "d,:,g", "i,None,j"];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::U8, DType::Bool] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[3, 4, 5], 1)?);
        for (name, entries) in all.iter().filter(|e| few.contains(&e.0)) {
            let part = x.index(entries);
            group.exact(format!("x[{name}]_{d}"), &part);
            let one = group.input(random(dtype, &[], 2)?);
            group.exact(format!("set[{name}]_{d}"), x.set_index(entries, part.flip(..)));
            group.exact(format!("scalar[{name}]_{d}"), x.set_index(entries, &one));
            group.exact(format!("inc[{name}]_{d}"), x.inc_index(entries, &one));
            if dtype != DType::Bool {
                group.exact(format!("max[{name}]_{d}"), x.max_index(entries, &one));
                group.exact(format!("min[{name}]_{d}"), x.min_index(entries, part.flip(..)));
            }
        }
        // A computed mask, and its positions.
        let (low, high) = (x.equal(x.index(idx![0, 0, 0])), x.not_equal(x.index(idx![0, 1, 1])));
        group.exact(format!("computed_mask_{d}"), x.index(idx![&high]));
        group.exact(format!("few_{d}"), x.index(idx![&low]));
        group.exact(format!("set_by_computed_mask_{d}"), x.set_index(idx![&high], x.index(idx![1, 1, 1])));
        group.exact(format!("flatnonzero_{d}"), x.flatnonzero());
        group.exact(format!("argwhere_{d}"), x.argwhere());
        group.exact(format!("compress_{d}"), x.compress(constant(vec![true, false, true]), 1));
        group.exact(format!("extract_{d}"), x.extract(&x));
        group.exact(format!("of_transposed_{d}"), x.t().index(idx![x.t().not_equal(x.index(idx![0, 0, 0]))]));
        for (axis, positions) in x.nonzero().iter().enumerate() {
            group.exact(format!("nonzero_{axis}_{d}"), positions);
        }
    }
    // Longer than one block, and not a multiple of a block.
    let long = group.input(random(DType::F32, &[7, 1013], 3)?);
    group.exact("long_nonzero", long.greater(0.3f32).flatnonzero());
    group.exact("long_masked", long.index(idx![long.greater(0.3f32)]));
    group.exact("long_none", long.index(idx![long.greater(1e9f32)]));
    group.exact("masked_then_reduced", long.index(idx![.., long.index(idx![0]).less(0.0)]).max(0));
    let list = group.input(random(DType::F32, &[6], 4)?);
    group.exact("literal", list.index(idx![[0, -1, 3, 3]]));
    group.exact("literal_mask", list.index(idx![[true, false, true, true, false, false]]));
    Ok(group)
}
