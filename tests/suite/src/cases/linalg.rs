//! Linear algebra: small matrices against values of 60 digits, larger ones by their defining equations,
//! gradients by differences, and errors.

mod failures;

use super::{Story, family, magnitude};
use crate::data::random;
use crate::golden::Golden;
use crate::group::Group;
use crate::stage::{Scenario, Stage, ensure, fails, wrong};
use crate::tolerance::{Tier, eps};
use std::collections::HashMap;
use workalike::ops::linalg::SolveTriangular;
use workalike::prelude::*;
use workalike::{Error, Result};

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![golden(), identities(), dtypes()]
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut list = family(
        "linalg",
        &[
            ("matrices_that_fail", failures::failures),
            ("nan", failures::nan),
            ("indefinite", failures::indefinite),
        ],
    );
    // Types do not depend on the device, and verify_grad uses the reference.
    let once: [Story; 2] = [("refused_types", types), ("gradients", gradients)];
    list.extend(family("linalg", &once).into_iter().map(|story| Scenario { host_only: true, ..story }));
    list
}

/// Parses the options of a triangular solve: `lower,transposed,unit`.
fn triangle(kind: &str) -> SolveTriangular {
    SolveTriangular {
        lower: kind.contains("lower"),
        transposed: kind.contains("transposed"),
        unit_diagonal: kind.contains("unit"),
    }
}

/// The function of a golden line.
fn apply(function: &str, x: &[Variable]) -> Result<Variable> {
    if let Some(kind) = function.strip_prefix("triangular:") {
        return Ok(linalg::solve_triangular(&x[0], &x[1], triangle(kind)));
    }
    let [sign, logarithm] = linalg::slogdet(&x[0]);
    Ok(match function {
        "cholesky" => linalg::cholesky(&x[0]),
        "cholesky_upper" => linalg::cholesky_upper(&x[0]),
        "solve" => linalg::solve(&x[0], &x[1]),
        "inv" => linalg::inv(&x[0]),
        "det" => linalg::det(&x[0]),
        "sign" => sign,
        "logabsdet" => logarithm,
        other => return Err(Error::Internal(format!("no function {other}"))),
    })
}

/// The same absolute bound for every element.
fn within(output: &Variable, bound: f64) -> Tier {
    Tier::Within(zeros_like(output.cast(DType::F64)) + bound)
}

fn golden() -> Result<Group> {
    let golden = Golden::linalg();
    let mut group = Group::new("linalg_golden");
    let mut inputs: HashMap<String, Variable> = HashMap::new();
    for name in golden.names() {
        let Some((case, dtype)) = name.rsplit_once('.') else { continue };
        let Some((function, operands)) = case.split_once('|') else { continue };
        let mut x = Vec::new();
        for operand in operands.split(',') {
            let operand = format!("{operand}.{dtype}");
            if !inputs.contains_key(&operand) {
                inputs.insert(operand.clone(), group.input(golden.value(&operand)?));
            }
            x.push(inputs[&operand].clone());
        }
        let value = golden.value(name)?;
        // The matrices are well conditioned: errors are a few roundings for each row.
        let largest = value.to_f64s().into_iter().fold(1.0, |most: f64, v| most.max(v.abs()));
        let output = apply(function, &x)?;
        let tier = within(&output, 16.0 * 6.0 * largest * eps(x[0].dtype()));
        group.golden(name, output, value, tier);
    }
    Ok(group)
}

/// Matrices of normal numbers plus a multiple of the identity, in float64.
fn dominant(batch: &[usize], n: usize, diagonal: f64, seed: u32) -> Result<Value> {
    let shape = [batch, &[n, n][..]].concat();
    let mut numbers = random(DType::F64, &shape, seed)?.to_f64s();
    for (at, number) in numbers.iter_mut().enumerate() {
        if at / n % n == at % n {
            *number += diagonal;
        }
    }
    Value::from_vec(&shape, numbers)
}

/// Symmetric positive definite matrices in float64: the products of matrices with their transposes.
fn definite(matrices: &Value) -> Result<Value> {
    let n = matrices.shape().last().copied().unwrap_or(0);
    let (x, mut products) = (matrices.to_vec::<f64>()?, Vec::new());
    for matrix in x.chunks_exact(n * n) {
        let row = |i: usize| &matrix[i * n..(i + 1) * n];
        let rows = || (0..n).map(row);
        products.extend(
            rows().flat_map(|a| rows().map(move |b| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>())),
        );
    }
    Value::from_vec::<f64>(matrices.shape(), products)
}

fn flipped(x: &Variable) -> Variable {
    x.swapaxes(-1, -2)
}

/// Defining equations at sizes that are factored in blocks, with broadcast batches.
fn identities() -> Result<Group> {
    let mut group = Group::new("linalg_identities");
    for dtype in [DType::F32, DType::F64] {
        for (n, batch) in [(1usize, vec![2]), (3, vec![7]), (33, vec![2, 3]), (150, vec![])] {
            let m = dominant(&batch, n, 4.0 * n as f64, 1)?;
            let inputs = [m.cast(dtype)?, definite(&m)?.cast(dtype)?, random(dtype, &[n, 5], 2)?];
            let [m, p, b] = inputs.map(|value| group.input(value));
            let name = |what: &str| format!("{what}_{n}_{}", dtype.short());
            factors(&mut group, &name, (&p, n));
            systems(&mut group, &name, (&m, n), &b);
            determinants(&mut group, &name, (&m, n), (&p, batch.as_slice()))?;
        }
    }
    Ok(group)
}

/// The bound of a product that must equal a known matrix of order `n`: some roundings of each of its terms.
fn product(x: &Variable, y: &Variable, n: usize) -> Tier {
    Tier::Within(magnitude(x).matmul(magnitude(y)) * (8.0 * n as f64 * eps(x.dtype())))
}

fn factors(group: &mut Group, name: &dyn Fn(&str) -> String, (p, n): (&Variable, usize)) {
    let l = linalg::cholesky(p);
    group.against(name("cholesky"), l.matmul(flipped(&l)), p, product(&l, &flipped(&l), n));
    group.exact(name("cholesky_triangle"), l.triu(1));
    let u = linalg::cholesky_upper(p);
    group.against(name("cholesky_upper"), flipped(&u).matmul(&u), p, product(&flipped(&u), &u, n));
    group.exact(name("cholesky_upper_triangle"), u.tril(-1));
}

fn systems(group: &mut Group, name: &dyn Fn(&str) -> String, (m, n): (&Variable, usize), b: &Variable) {
    // The largest element of each column is in another row.
    let a = m.flip(-2);
    let x = linalg::solve(&a, b);
    let right = b * ones_like(&x);
    group.against(name("solve"), a.matmul(&x), &right, product(&a, &x, n));
    let inverse = linalg::inv(&a);
    let identity = zeros_like(&a).fill_diagonal(1);
    group.against(name("inv"), a.matmul(&inverse), &identity, product(&a, &inverse, n));
    for (kind, t) in [("lower", m.tril(0)), ("upper,transposed", flipped(&m.triu(0)))] {
        let x = linalg::solve_triangular(m, b, triangle(kind));
        group.against(name(kind), t.matmul(&x), &right, product(&t, &x, n));
    }
}

/// `det(m)^2 = det(m m^T)`, and exchanging rows changes the sign.
fn determinants(
    group: &mut Group,
    name: &dyn Fn(&str) -> String,
    (m, n): (&Variable, usize),
    (p, batch): (&Variable, &[usize]),
) -> Result<()> {
    let unit = 8.0 * eps(m.dtype());
    let [_, of_p] = linalg::slogdet(p);
    let [sign, of_m] = linalg::slogdet(m.flip(-2));
    let bound = magnitude(&of_p) * unit + unit * (n * n) as f64;
    group.against(name("slogdet"), &of_m * 2.0, &of_p, Tier::Within(bound));
    let exchanges = n * (n - 1) / 2;
    let signs = vec![if exchanges.is_multiple_of(2) { 1.0 } else { -1.0 }; batch.iter().product()];
    group.golden(name("sign"), &sign, Value::from_vec(batch, signs)?.cast(m.dtype())?, Tier::Exact);
    // Larger matrices overflow.
    if n <= 3 {
        let det = linalg::det(m.flip(-2));
        let bound = Tier::Within(magnitude(&det) * (unit * 8.0));
        group.against(name("det"), &det, &(sign * of_m.exp()), bound);
    }
    Ok(())
}

/// Integers and bools are converted to float64; other arguments are promoted with it.
fn dtypes() -> Result<Group> {
    let mut group = Group::new("linalg_dtypes");
    // Integers within the range of int8.
    let whole = dominant(&[2], 4, 16.0, 3)?.cast(DType::I64)?.cast(DType::F64)?;
    let (wide, b) = (group.input(whole), group.input(random(DType::F32, &[4], 4)?));
    for dtype in [DType::I8, DType::I32, DType::U64] {
        let given = if dtype.is_unsigned() { wide.abs() } else { wide.clone() };
        let a = given.cast(dtype);
        for (what, output, other) in [
            ("solve", linalg::solve(&a, &b), linalg::solve(&given, &b)),
            ("det", linalg::det(&a), linalg::det(&given)),
            ("inv", linalg::inv(&a), linalg::inv(&given)),
        ] {
            let tier = within(&other, 1e-8);
            group.against(format!("{what}_{}", dtype.short()), output, &other, tier);
        }
    }
    let swap = group.input(array![[false, true], [true, false]]);
    group.golden("det_bool", linalg::det(&swap), Value::from(-1.0f64), Tier::Exact);
    let v = group.input(vec![0.5f32, 0.25]);
    let swapped = Value::from(vec![0.25f64, 0.5]);
    group.golden("solve_u8", linalg::solve(swap.cast(DType::U8), &v), swapped, Tier::Exact);
    Ok(group)
}

fn types(stage: &Stage) -> Result<()> {
    let (wide, v) = (tensor::<f32>("a", [Some(2), Some(3)]), vector::<f64>("v"));
    let half = matrix::<half::f16>("h");
    let square = tensor::<f64>("s", [Some(3), Some(3)]);
    let four = tensor::<f64>("b", [Some(4), Some(2)]);
    for (result, words) in [
        (linalg::try_cholesky(&wide), ["cholesky", "square", "float32(2, 3)"]),
        (linalg::try_inv(&wide), ["inv", "square", "float32(2, 3)"]),
        (linalg::try_det(&v), ["det", "square", "float64(?,)"]),
        (linalg::try_solve(&v, &v), ["solve", "square", "float64(?,)"]),
        (linalg::try_slogdet(&half).map(|[_, log]| log), ["slogdet", "float16", "cast"]),
        (linalg::try_solve(&square, &half), ["solve", "float16", "float32, float64 or integers"]),
        (linalg::try_solve(&square, &four), ["solve", "float64(3, 3)", "float64(4, 2)"]),
        (linalg::try_solve(&square, v.sum(..)), ["solve", "right-hand side", "float64()"]),
    ] {
        fails(words[0], result, &words)?;
    }
    fails("slogdet", linalg::slogdet(&v)[1].checked(), &["slogdet", "square"])?;
    let a = matrix::<f64>("a");
    let f = stage.function(&function([&a, &v]).output(linalg::solve(&a, &v)).compile()?)?;
    let zeros = |shape: &[usize]| Value::zeros(DType::F64, shape);
    for (shape, n, words) in
        [([3, 3], 2, ["solve", "(3, 3)", "(2, 1)"]), ([2, 3], 3, ["solve", "square", "(2, 3)"])]
    {
        fails("solve", f.call(args![zeros(&shape)?, zeros(&[n])?]), &words)?;
        fails("solve", f.call_reference(args![zeros(&shape)?, zeros(&[n])?]), &words)?;
    }
    Ok(())
}

/// An expression of matrices.
type Expression = fn(&[Variable]) -> Variable;

/// The gradient of a weighted sum of squares of an expression; its differences are second derivatives.
fn slope(expression: Expression, x: &[Variable]) -> Variable {
    let squares = expression(x).sqr().flatten();
    let weights = arange(squares.extent(0)) + 1;
    grad((squares * weights).sum(..), [&x[0]]).map_or_else(Variable::poison, |mut g| g.swap_remove(0))
}

fn gradients(_: &Stage) -> Result<()> {
    let normal = |shape: &[usize], seed| random(DType::F64, shape, seed);
    let (a, batch) = (dominant(&[], 3, 4.0, 11)?, dominant(&[2], 3, 4.0, 12)?);
    let (p, definites) = (definite(&a)?, definite(&batch)?);
    let (v, b) = (normal(&[3], 13)?, normal(&[2, 3, 2], 14)?);
    let one = dominant(&[1], 3, 4.0, 15)?;
    let list: [(&str, Vec<Value>, Expression); 17] = [
        ("cholesky", vec![p], |x| linalg::cholesky(&x[0])),
        ("cholesky of a batch", vec![definites.clone()], |x| linalg::cholesky(&x[0])),
        ("cholesky_upper", vec![definites], |x| linalg::cholesky_upper(&x[0])),
        ("solve", vec![a.clone(), v.clone()], |x| linalg::solve(&x[0], &x[1])),
        ("solve of a batch", vec![batch.clone(), b.clone()], |x| linalg::solve(&x[0], &x[1])),
        ("solve for one vector", vec![batch.clone(), v.clone()], |x| linalg::solve(&x[0], &x[1])),
        ("solve with one matrix", vec![one.clone(), b.clone()], |x| linalg::solve(&x[0], &x[1])),
        ("solve with a matrix", vec![a.clone(), b.clone()], |x| linalg::solve(&x[0], &x[1])),
        ("lower", vec![a.clone(), v.clone()], |x| triangular("lower", x)),
        ("upper", vec![one, b.clone()], |x| triangular("upper", x)),
        ("lower, transposed", vec![batch.clone(), v.clone()], |x| triangular("lower,transposed", x)),
        ("upper, transposed", vec![batch.clone(), b], |x| triangular("upper,transposed", x)),
        ("unit", vec![a.clone(), v.clone()], |x| triangular("lower,unit", x)),
        ("unit, transposed", vec![a.clone(), v], |x| triangular("upper,transposed,unit", x)),
        ("inv", vec![batch.clone()], |x| linalg::inv(&x[0])),
        ("det", vec![batch.clone()], |x| linalg::det(&x[0])),
        ("slogdet", vec![batch], |x| {
            let [sign, logarithm] = linalg::slogdet(&x[0]);
            sign * logarithm
        }),
    ];
    for (name, at, expression) in list {
        let named = |e: Error| wrong(format!("{name}: {e}"));
        verify_grad(expression, &at, 1e-7).map_err(named)?;
        verify_grad(|x| slope(expression, x), &at, 1e-6).map_err(|e| wrong(format!("twice, {name}: {e}")))?;
    }
    repeated()
}

fn triangular(kind: &str, x: &[Variable]) -> Variable {
    linalg::solve_triangular(&x[0], &x[1], triangle(kind))
}

/// Gradients of a batch of one matrix, known only at run time, which broadcasts: they are summed over the
/// other batch.
fn repeated() -> Result<()> {
    let (a, b) = (tensor3::<f64>("a"), tensor3::<f64>("b"));
    let f = function([&a, &b]).outputs(&grad(linalg::solve(&a, &b).sqr().sum(..), [&a, &b])?).compile()?;
    let thrice = |value: &Value| -> Result<Value> {
        let shape = [&[3][..], &value.shape()[1..]].concat();
        Value::from_vec(&shape, value.to_vec::<f64>()?.repeat(3))
    };
    let summed = |value: &Value| -> Result<Vec<f64>> {
        let (numbers, part) = (value.to_vec::<f64>()?, value.len() / 3);
        Ok((0..part).map(|i| numbers[i] + numbers[i + part] + numbers[i + 2 * part]).collect())
    };
    for repeated in 0..2 {
        let batch = |at: usize| if at == repeated { 1 } else { 3 };
        let given = [dominant(&[batch(0)], 3, 4.0, 16)?, random(DType::F64, &[batch(1), 3, 2], 17)?];
        let mut whole = given.clone();
        whole[repeated] = thrice(&given[repeated])?;
        let one = f.call_reference(args![&given[0], &given[1]])?;
        let all = f.call_reference(args![&whole[0], &whole[1]])?;
        let (got, want) = (one[repeated].to_vec::<f64>()?, summed(&all[repeated])?);
        let near = got.len() == want.len() && got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-12);
        ensure(near, || format!("input {repeated}: {got:?}, expected {want:?}"))?;
        let other = 1 - repeated;
        ensure(one[other].shape() == given[other].shape(), || format!("the shape of {other}"))?;
    }
    Ok(())
}
