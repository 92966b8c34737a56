//! Products of batches and tensors: NumPy's functions, and larger products by libraries, in all layouts.

use super::magnitude;
use crate::data::{below, random};
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::{Tier, matmul};
use workalike::ops::TensordotAxes;
use workalike::prelude::*;
use workalike::{Error, Result, idx};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![golden(), batches(), einsums(), distances()]
}

/// The function of a golden line.
fn apply(function: &str, x: &[Variable]) -> Result<Variable> {
    if let Some(subscripts) = function.strip_prefix("einsum:") {
        return Ok(einsum(subscripts, x));
    }
    let vectors = |x: &Variable, elements: usize| {
        let mut extents = vec![None; x.ndim()];
        extents[x.ndim() - 1] = Some(elements);
        x.specify_shape(extents)
    };
    Ok(match function {
        "dot" => x[0].dot(&x[1]),
        "matmul" => x[0].matmul(&x[1]),
        "tensordot_0" => x[0].tensordot(&x[1], 0),
        "tensordot_1" => x[0].tensordot(&x[1], 1),
        "tensordot_2" => x[0].tensordot(x[1].t(), 2),
        "tensordot_swapped" => x[0].tensordot(&x[1], ([2, 1], [0, 1])),
        "tensordot_0_1" => x[0].tensordot(&x[1], TensordotAxes::Lists(vec![0], vec![-3])),
        "outer" => x[0].outer(&x[1]),
        "inner" => x[0].inner(&x[1]),
        "kron" => x[0].kron(&x[1]),
        "vdot" => x[0].vdot(&x[1]),
        "vecdot_last" => x[0].vecdot(&x[1], -1),
        "vecdot_0" => x[0].vecdot(&x[1], 0),
        // An unknown extent counts as 3.
        "cross_3" => x[0].cross(&x[1], -1),
        "cross_first" => x[0].cross(x[1].flip(1), 0),
        "cross_2" => vectors(&x[0], 2).cross(vectors(&x[1], 2), 1),
        "cross_23" => vectors(&x[0], 2).cross(&x[1], -1),
        "cross_32" => x[0].cross(vectors(&x[1], 2), 1),
        "multi_dot" => multi_dot(x),
        other => return Err(Error::Internal(format!("no function {other}"))),
    })
}

/// The bound for a number of terms per element; products of several factors are rounded in between.
fn tier(function: &str, x: &[Variable], terms: usize) -> Result<Tier> {
    if !x[0].dtype().is_float() {
        return Ok(Tier::Exact);
    }
    let wide: Vec<Variable> = x.iter().map(magnitude).collect();
    // The terms of a cross product are subtracted; here they are added. The last component does not bound the
    // others.
    let bound = if function.starts_with("cross") {
        let largest = |v: &Variable| v.max(..);
        apply(function, &wide)?.abs() * 0.0 + largest(&wide[0]) * largest(&wide[1]) * 2.0
    } else {
        apply(function, &wide)?
    };
    Ok(matmul(terms + 2, x[0].dtype(), &(bound * x.len() as f64)))
}

fn golden() -> Result<Group> {
    let golden = Golden::products();
    let mut group = Group::new("products_numpy");
    let mut inputs = std::collections::HashMap::new();
    for name in golden.names() {
        let Some((case, dtype)) = name.rsplit_once('.') else { continue };
        let parts: Vec<&str> = case.split('|').collect();
        let [function, operands, terms] = parts[..] else { continue };
        let mut x = Vec::new();
        for operand in operands.split(',') {
            let operand = format!("{operand}.{dtype}");
            if !inputs.contains_key(&operand) {
                inputs.insert(operand.clone(), group.input(golden.value(&operand)?));
            }
            x.push(inputs[&operand].clone());
        }
        let terms = terms.parse().map_err(|_| Error::Internal(format!("{name}: {terms} terms")))?;
        let value = golden.value(name)?;
        group.golden(name, apply(function, &x)?, value.clone(), tier(function, &x, terms)?);
        if function.starts_with("einsum") && dtype == "float32" {
            // Static extents determine the order.
            let shapes = operands.split(',').map(|o| golden.value(&format!("{o}.{dtype}")));
            let shapes: Vec<Value> = shapes.collect::<Result<_>>()?;
            let of = |(x, v): (&Variable, &Value)| {
                x.specify_shape(v.shape().iter().map(|&e| Some(e)).collect::<Vec<_>>())
            };
            let known: Vec<Variable> = x.iter().zip(&shapes).map(of).collect();
            group.golden(
                format!("{name}_known"),
                apply(function, &known)?,
                value,
                tier(function, &x, terms)?,
            );
        }
    }
    Ok(group)
}

/// Batches for one library call, batches in layouts that need several, and batches that are rows of one
/// product.
fn batches() -> Result<Group> {
    let mut group = Group::new("matmul_batches");
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I64, DType::U8, DType::Bool] {
        let d = dtype.short();
        let add = |group: &mut Group, name: &str, a: &Variable, b: &Variable, k: usize| {
            let tier = if dtype.is_float() {
                matmul(k, dtype, &magnitude(a).matmul(magnitude(b)))
            } else {
                Tier::Exact
            };
            group.case(format!("{name}_{d}"), a.matmul(b), tier);
        };
        let a = group.input(random(dtype, &[6, 17, 20], 1)?);
        let b = group.input(random(dtype, &[6, 20, 33], 2)?);
        let w = group.input(random(dtype, &[20, 33], 3)?);
        let left = group.input(random(dtype, &[9, 17], 4)?);
        let heads = group.input(random(dtype, &[2, 17, 3, 20], 5)?);
        let keys = group.input(random(dtype, &[2, 19, 3, 20], 6)?);
        let one = group.input(random(dtype, &[4, 1, 7, 20], 7)?);
        let other = group.input(random(dtype, &[5, 20, 8], 8)?);
        let none = group.input(random(dtype, &[3, 4, 0], 9)?);
        let none_too = group.input(random(dtype, &[3, 0, 5], 10)?);
        let empty = group.input(random(dtype, &[0, 4, 5], 11)?);
        let v = group.input(random(dtype, &[20], 12)?);
        let back = |x: &Variable| x.swapaxes(-1, -2);
        add(&mut group, "plain", &a, &b, 20);
        add(&mut group, "both_transposed", &back(&b), &back(&a), 20);
        add(&mut group, "shared_right", &a, &w, 20);
        add(&mut group, "shared_left", &left, &a, 17);
        add(&mut group, "shared_transposed", &back(&a), &back(&left), 17);
        add(&mut group, "attention", &heads.swapaxes(1, 2), &keys.transpose([0, 2, 3, 1]), 20);
        add(&mut group, "batch_in_the_middle", &a.swapaxes(0, 1), &w, 20);
        add(&mut group, "batch_last", &a.transpose([2, 1, 0]), &a.transpose([2, 0, 1]), 6);
        add(&mut group, "broadcast_both", &one, &other, 20);
        add(&mut group, "some_of_a_batch", &a.index(idx![1..4]), &b.index(idx![3..6]), 20);
        add(&mut group, "every_second", &a.flip(0), &b.flip(0), 20);
        add(&mut group, "vector_left", &v, &b, 20);
        add(&mut group, "vector_right", &a, &v, 20);
        add(&mut group, "column", &a, &b.index(idx![.., .., 0..1]), 20);
        add(&mut group, "row", &a.index(idx![.., 0..1]), &b, 20);
        add(&mut group, "row_of_each", &a.index(idx![.., 0..1]), &w, 20);
        add(&mut group, "no_terms", &none, &none_too, 0);
        add(&mut group, "no_products", &empty, &back(&empty), 5);
    }
    Ok(group)
}

/// Sums over several axes at sizes for libraries.
fn einsums() -> Result<Group> {
    let mut group = Group::new("einsum_large");
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[12, 20, 30], 1)?);
        let y = group.input(random(dtype, &[12, 20, 25], 2)?);
        let z = group.input(random(dtype, &[30, 20, 7], 3)?);
        for (subscripts, list, terms) in [
            ("abk,abn->kn", vec![&x, &y], 240),
            ("abk,abn->nk", vec![&x, &y], 240),
            ("abk,cbn->akcn", vec![&x, &y], 20),
            ("abk,kbn->an", vec![&x, &z], 600),
            ("abk,kbn->na", vec![&x, &z], 600),
            ("abk,kcn->abcn", vec![&x, &z], 30),
            ("abk,kcn->cnab", vec![&x, &z], 30),
            ("abk,abn,kbm->nm", vec![&x, &y, &z], 7200),
            ("abk,abk->a", vec![&x, &x], 600),
        ] {
            let bound = einsum(subscripts, list.iter().map(|x| magnitude(x))) * list.len() as f64;
            group.case(format!("{subscripts}_{d}"), einsum(subscripts, list), matmul(terms, dtype, &bound));
        }
    }
    Ok(group)
}

/// Distances of all pairs, of whole numbers: every sum is exact.
fn distances() -> Result<Group> {
    let mut group = Group::new("distances");
    for dtype in [DType::F32, DType::F64] {
        let d = dtype.short();
        for (m, n, k) in [(67, 41, 13), (128, 96, 64), (33, 260, 70), (9, 9, 200)] {
            let x = &group.input(below(9, dtype, &[m, k], 1)?);
            let y = &group.input(below(9, dtype, &[n, k], 2)?);
            let away = &(x.expand_dims(1) - y.expand_dims(0));
            group.exact(format!("squares_{m}_{n}_{k}_{d}"), away.sqr().sum(-1));
            group.exact(format!("city_{m}_{n}_{k}_{d}"), away.abs().sum(-1));
            group.exact(format!("largest_{m}_{n}_{k}_{d}"), away.abs().max(-1));
            group.exact(format!("cubes_{m}_{n}_{k}_{d}"), (away * away * away).sum(-1));
            group.exact(format!("scaled_{m}_{n}_{k}_{d}"), (away * 0.5).sqr().sum(-1).sqrt());
        }
        let x = &group.input(below(9, dtype, &[3, 40, 16], 3)?);
        let away = x.expand_dims(2) - x.expand_dims(1);
        group.exact(format!("in_batches_{d}"), away.sqr().sum(-1));
    }
    Ok(group)
}
