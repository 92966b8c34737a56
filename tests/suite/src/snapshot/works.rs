//! Examples of each kind of step: maps, folds, loads and stores at computed indices, products, updates.

use super::Example;
use workalike::ops::range;
use workalike::prelude::*;
use workalike::{Result, idx};

/// The examples.
///
/// # Errors
/// If one is ill-typed.
pub(super) fn examples() -> Result<Vec<Example>> {
    let groups = [maps()?, folds()?, gathers()?, scatters()?, products()?, training()?, any_size()?];
    Ok(groups.into_iter().flatten().collect())
}

fn zeros(dtype: DType, shape: &[usize]) -> Result<Value> {
    Value::zeros(dtype, shape)
}

fn rows(count: usize, length: usize) -> Result<Value> {
    zeros(DType::F32, &[count, length])
}

fn labels(count: usize) -> Result<Value> {
    zeros(DType::I64, &[count])
}

/// Elementwise ops.
fn maps() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let row = tensor::<f32>("row", [Some(1), None]);
    let v = vector::<f32>("v");
    let (h, b) = (vector::<half::f16>("h"), vector::<half::bf16>("b"));
    let m = matrix::<i32>("m");
    let counts = shared("counts", zeros(DType::U64, &[100])?);
    Ok(vec![
        Example::new(
            "broadcast",
            function([&x, &row]).output((&x * 2.0 + &row).tanh()).output((&x - &row).maximum(0.0)).compile(),
            args![rows(100, 70)?, rows(1, 70)?],
        )?,
        Example::new(
            "transposed",
            function([&x])
                .output(x.t() + 1.0)
                .output(x.index(idx![workalike::ops::Ix::from(..).step(-2)]) * 2.0)
                .compile(),
            args![rows(100, 70)?],
        )?,
        Example::new(
            "halves",
            function([&h, &b]).output(h.sigmoid() * 0.5).output(&h + &b).output(b.sum(..)).compile(),
            args![zeros(DType::F16, &[4099])?, zeros(DType::BF16, &[4099])?],
        )?,
        Example::new(
            "casts",
            function([&v])
                .outputs(
                    [DType::I8, DType::U32, DType::I64, DType::F64, DType::BF16, DType::Bool]
                        .map(|d| v.cast(d)),
                )
                .compile(),
            args![zeros(DType::F32, &[1000])?],
        )?,
        Example::new(
            "integers",
            function([&m])
                .output(-(&m * &m) + 3i64)
                .output(m.less(0i64).and(m.not()))
                .update(&counts, &counts + 1i64)
                .compile(),
            args![zeros(DType::I32, &[10, 10])?],
        )?,
    ])
}

/// Reductions, and draws.
fn folds() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let streams = RandomStreams::new(1);
    let none: [&Variable; 0] = [];
    Ok(vec![
        Example::new(
            "softmax",
            function([&x]).output(softmax(&x * 0.5, -1)).output(log_softmax(&x, 0)).compile(),
            args![rows(200, 1000)?],
        )?,
        Example::new(
            "reductions",
            function([&x])
                .output(x.sqr().sum(..))
                .output(x.mean(0))
                .output(x.max(1))
                .output(x.argmax(1))
                .compile(),
            args![rows(3000, 500)?],
        )?,
        Example::new(
            "random",
            function(none)
                .output(streams.uniform::<f32>([1000]))
                .output(streams.normal::<f64>([10, 10]))
                .compile(),
            args![],
        )?,
        Example::new(
            "draws",
            function(none)
                .output(streams.gamma::<f32>(0.5, 2.0, [1000]))
                .output(streams.poisson(40.0, [100]))
                .output(streams.binomial(50, 0.4, [100]))
                .compile(),
            args![],
        )?,
    ])
}

/// Loads at computed indices.
fn gathers() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let (i, k) = (scalar::<i64>("i"), vector::<i64>("k"));
    let table = shared("table", rows(1000, 16)?);
    let data = shared("data", rows(1797, 64)?);
    Ok(vec![
        Example::new(
            "gather",
            function([&x, &k])
                .output(x.index(idx![arange(x.extent(0)), &k]).mean(..))
                .output(table.index(idx![&k]))
                .compile(),
            args![rows(128, 10)?, labels(128)?],
        )?,
        Example::new(
            "batch",
            function([&i])
                .output(data.index([range(&i * 100i64, (&i + 1i64) * 100i64)]) / 16.0)
                .output(data.index(idx![&i]))
                .compile(),
            args![3i64],
        )?,
    ])
}

/// Stores at computed indices.
fn scatters() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let k = vector::<i64>("k");
    let table = shared("table", rows(1000, 16)?);
    let w = shared("w", rows(64, 10)?);
    let counts = shared("counts", zeros(DType::U64, &[100])?);
    Ok(vec![
        Example::new(
            "scatter",
            function([&x, &k]).update(&table, table.inc_index(idx![&k], &x)).compile(),
            args![rows(300, 16)?, labels(300)?],
        )?,
        // A computed index is unknown on the host: it is checked first, and the updates depend on the check.
        Example::new(
            "checked",
            function([&x, &k])
                .update(&table, table.inc_index(idx![&k * &k], &x))
                .update(&w, &w * 0.5f32)
                .compile(),
            args![rows(300, 16)?, labels(300)?],
        )?,
        Example::new(
            "fast",
            function([&x, &k])
                .output((&x * 2.0 + 1.0).tanh() / x.exp().sin().sqrt())
                .update(&table, table.inc_index(idx![&k], x.sqr()))
                .update(&counts, counts.inc_index(idx![&k], constant(1u64)))
                .compile(),
            args![rows(300, 16)?, labels(300)?],
        )?
        .fast(),
    ])
}

/// Products of matrices.
fn products() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let row = tensor::<f32>("row", [Some(1), None]);
    let (m, n) = (matrix::<i32>("m"), matrix::<i32>("n"));
    let hidden = shared("hidden", rows(784, 500)?);
    Ok(vec![
        Example::new(
            "product",
            function([&m, &n]).output(m.dot(&n)).compile(),
            args![zeros(DType::I32, &[130, 33])?, zeros(DType::I32, &[33, 70])?],
        )?,
        Example::new(
            "layer",
            function([&x, &row]).output((x.dot(&hidden) + &row).tanh()).compile(),
            args![rows(20, 784)?, rows(1, 500)?],
        )?
        .without_matmul(),
        Example::new(
            "epilogues",
            function([&x, &m, &row])
                .output((m.cast(DType::F32).dot(&hidden) + &row).tanh())
                .update(&hidden, &hidden - 0.1 * x.t().dot(x.dot(&hidden)))
                .compile(),
            args![rows(2048, 784)?, zeros(DType::I32, &[2048, 784])?, rows(1, 500)?],
        )?,
    ])
}

/// Weights of two shapes, whose updates share only the points.
fn weights(name: &str) -> Result<Vec<SharedVariable>> {
    let parts: [&[usize]; 4] = [&[500], &[20, 25], &[500], &[20, 25]];
    let weight = |(i, s): (usize, &&[usize])| Ok(shared(&format!("{name}{i}"), zeros(DType::F32, s)?));
    parts.iter().enumerate().map(weight).collect()
}

/// Updates of weights.
fn training() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let (v, k) = (vector::<f32>("v"), vector::<i64>("k"));
    let w = shared("w", rows(64, 10)?);
    let bias = shared("b", zeros(DType::F32, &[10])?);
    let cost = categorical_crossentropy(softmax(x.dot(&w) + &bias, -1), &k).mean(..);
    let g = grad(&cost, [&*w, &*bias])?;
    let (cells, slopes) = (weights("cell")?, weights("slope")?);
    Ok(vec![
        Example::new(
            "updates",
            (cells.iter().zip(&slopes))
                .fold(function([&v]).output(v.sum(..)), |f, (w, g)| {
                    f.update(w, w - 0.1 * (&**g + 0.01 * &**w))
                })
                .compile(),
            args![zeros(DType::F32, &[500])?],
        )?,
        Example::new(
            "train",
            function([&x, &k])
                .output(&cost)
                .update(&w, &w - 0.1 * &g[0])
                .update(&bias, &bias - 0.1 * &g[1])
                .compile(),
            args![rows(128, 64)?, labels(128)?],
        )?,
    ])
}

/// Kernels for any size: a layer, and rows that are centered.
fn any_size() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let w = shared("w", rows(64, 10)?);
    let centered = &x - x.mean(-1).expand_dims(-1);
    Ok(vec![
        Example::new(
            "any_size",
            function([&x]).output(softmax(x.dot(&w), -1)).output(&centered).output(centered.sum(0)).compile(),
            args![rows(50, 64)?],
        )?
        .without_matmul()
        .for_any_size(),
    ])
}
