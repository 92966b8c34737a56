//! The seed files: small programs over all families of ops, written by the library itself, so that they
//! always fit the format.

use workalike::custom::{Grid, KernelOp, KernelSource, Local};
use workalike::loops::{Scan, While};
use workalike::ops::Side;
use workalike::prelude::*;
use workalike::{Result, idx};

/// A seed file.
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) file: Vec<u8>,
}

/// All seeds, always in the same order.
///
/// # Errors
/// If one of them does not compile.
pub(crate) fn seeds() -> Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for dtype in [DType::F32, DType::I64, DType::U8, DType::F16, DType::Bool, DType::F64] {
        for (name, function) in families(dtype)? {
            let file = Bundle::new().with("main", &function).to_bytes()?;
            seeds.push(Seed { name: format!("{name}_{}", dtype.name()), file });
        }
    }
    for (name, bundle) in
        [("train", train()?), ("stateful", stateful()?), ("kernels", kernels()?), ("loops", loops()?)]
    {
        seeds.push(Seed { name: name.into(), file: bundle.to_bytes()? });
    }
    Ok(seeds)
}

/// A Function of each family of ops that supports the dtype.
fn families(dtype: DType) -> Result<Vec<(&'static str, Function)>> {
    let x = Variable::input("x", TensorType::of_rank(dtype, 2));
    let v = Variable::input("v", TensorType::of_rank(dtype, 1));
    let i = vector::<i64>("i");
    let n = scalar::<i64>("n");
    type Made = Result<Variable>;
    let made: Vec<(&str, Vec<Made>)> = vec![
        ("elementwise", vec![x.try_add(&v), x.try_mul(&x), x.try_maximum(&v), x.try_exp(), x.try_tanh()]),
        ("compare", vec![x.try_less(&v), x.try_equal(&x), x.try_floor_divide(&v), x.try_pow(&v)]),
        ("reduce", vec![x.try_sum(0), x.try_max(1), x.try_prod(..), x.try_argmax(0), x.try_any(1)]),
        ("scan", vec![x.try_cumsum(1), x.try_cumprod(0), v.try_sort(0), x.try_argsort(1), x.try_topk(2, 1)]),
        ("shape", vec![x.try_reshape([-1, 3]), x.try_flip(0), x.try_roll(1, 1), x.try_expand_dims(0)]),
        (
            "index",
            vec![x.try_index(idx![&i]), x.try_index(idx![.., 1..4]), x.try_index(idx![range(&n, &n + 2i64)])],
        ),
        (
            "take",
            vec![
                x.try_take(&i, 0),
                v.try_take(&i, 0),
                x.try_extract(x.try_not_equal(&v)?),
                v.try_searchsorted(&v, Side::Left),
            ],
        ),
        ("write", vec![x.try_inc_index(idx![&i], &x.try_index(idx![&i])?), x.try_set_index(idx![0], &v)]),
        ("product", vec![x.try_dot(&v), x.try_dot(x.try_t()?)]),
    ];
    let mut functions = Vec::new();
    for (name, outputs) in made {
        let outputs: Vec<Variable> = outputs.into_iter().filter_map(|made| made.ok()).collect();
        if outputs.is_empty() {
            continue;
        }
        let built = function([&x, &v, &i, &n]).outputs(outputs).allow_unused_inputs();
        functions.push((name, built.compile()?));
    }
    Ok(functions)
}

/// Training, prediction and noise over shared weights.
fn train() -> Result<Bundle> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let weights = |rows: usize, columns: usize| {
        let values = (0..rows * columns).map(|i| (i % 7) as f32 * 0.1 - 0.3).collect::<Vec<_>>();
        Value::from_vec(&[rows, columns], values)
    };
    let (w, b) = (shared("w", weights(6, 3)?), shared_dynamic("b", vec![0f32; 3], &[0]));
    let p = softmax(x.dot(&w).tanh() + &b, -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let g = grad(&cost, [&w, &b])?;
    let rate = scalar::<f32>("rate");
    let train = function([In::new(&x), In::new(&y), In::new(&rate).default(0.1f32)])
        .output_named("cost", &cost)
        .update(&w, &w - &rate * &g[0])
        .update(&b, &b - &rate * &g[1])
        .compile()?;
    let predict = function([&x]).output_named("label", p.argmax(-1)).output(p.max(0)).compile()?;
    let noise = RandomStreams::new(7).normal::<f32>([4, 3]);
    let noise = function([&x]).output(&noise + x.sum(..)).compile()?;
    Ok(Bundle::new().with("train", &train).with("predict", &predict).with("noise", &noise))
}

/// Reads and writes of a table at computed positions, and an assertion.
fn stateful() -> Result<Bundle> {
    let (i, n) = (vector::<i64>("i"), scalar::<i64>("n"));
    let values = Value::from_vec(&[40, 7], (0..280).map(|v| v as f32).collect::<Vec<_>>())?;
    let table = shared("table", values);
    let rows = table.take(&i, 0);
    let slice = table.index(idx![range(&n, &n + 4i64), ..]);
    let checked = rows.assert(i.min(0).greater_equal(-40i64), "small indices");
    let update = function([&i, &n])
        .output_named("rows", checked)
        .output_named("slice", slice)
        .update(&table, table.inc_index(idx![&i], &rows))
        .compile()?;
    let x = matrix::<f32>("x");
    let more = function([&x, &i])
        .output(x.unique().values)
        .output(x.median(0))
        .output(x.segment_sum(&i, 5usize))
        .output(x.print("x"))
        .compile()?;
    Ok(Bundle::new().with("update", &update).with("more", &more))
}

/// Loops and branches, whose attributes are graphs: with taps, within one another, with a gradient, a
/// condition and draws.
fn loops() -> Result<Bundle> {
    let (x, v, n) = (matrix::<f32>("x"), vector::<f32>("v"), scalar::<i64>("n"));
    let steps = n.remainder(7i64);
    let streams = RandomStreams::new(5);
    let taps = Scan::new().sequence_taps(&x, [0, 1]).recurrent_taps(x.index(idx![..2]), [-2, -1]);
    let taps = taps.run(|given| vec![(&given[0] + &given[2]).tanh() * &given[3], given[1].sum(..)]);
    let states = scan(&x, &v, |row, h| (row * 0.5 + h * streams.uniform::<f32>(())).sin());
    let slope = grad(states.sqr().sum(..), [&v])?.remove(0);
    let forward = function([&x, &v])
        .output(taps.history(0))
        .output(taps.result(0))
        .output(states.index(idx![-1]))
        .output(&slope)
        .compile()?;
    let nested = fori(&steps, &v, |_, v| fori(2, &v, |i, v| v * 0.5 + i.cast(DType::F32)));
    let halved = While::new().at_most(40).run(&v, |v| v.abs().max(..).greater(1.0), |v| v * 0.5);
    let chosen = if_else(v.sum(..).greater(0.0), || v.exp(), || fori(3, &v, |_, v| &v + 1.0));
    let decide =
        function([&v, &n]).output(&nested).output(&halved.0).output(&halved.1).output(&chosen).compile()?;
    // Values of a loop decide how long another is.
    let until = Scan::new().steps(6).recurrent(&v).run_until(|given| {
        let next = &given[0] * 1.5 + x.index(idx![0]);
        (vec![next.clone()], next.sum(..).greater(4.0))
    });
    let slope = grad(until.history(0).sum(..), [&v])?.remove(0);
    let until =
        function([&x, &v]).output(until.history(0)).output(until.iterations()).output(&slope).compile()?;
    Ok(Bundle::new().with("forward", &forward).with("decide", &decide).with("until", &until))
}

/// Ops with kernels, whose attributes are graphs: an elementwise one, and one with launches, scratch memory,
/// a shape rule and a gradient that is a kernel too.
fn kernels() -> Result<Bundle> {
    let (x, g, sums) = (vector::<f32>("x"), vector::<f32>("g"), vector::<f32>("sums"));
    let n = x.extent(0);
    let source = KernelSource::dialect(
        "KERNEL void square(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, LOCAL_MEM_ARG f32 *t, u32 n) { }
         KERNEL void twice(GLOBAL_MEM const f32 *x, GLOBAL_MEM const f32 *g, GLOBAL_MEM f32 *sums, u32 n) { }",
    )?;
    let (y, dx) = (x.sqr(), &x * &g * 2.0);
    let backward = KernelOp::new("twice", source.clone(), [&x, &g], [&dx])?
        .scratch(&sums, [&n])?
        .launch("twice", Grid::groups([&n], [32]), (&x, &g, &sums, &n))?
        .launch("twice", Grid::items([&n]), (&x, &g, &dx, 3))?;
    let square = KernelOp::new("square", source, [&x], [&y])?
        .shape(&y, [&n])?
        .launch("square", Grid::items([&n]), (&x, &y, Local(&n * 4), &n))?
        .grad(|inputs, _, g| vec![Some(backward.apply([&inputs[0], &g[0]])[0].clone())])?;
    let z = (&x + 1.0).named("z");
    let next = KernelOp::elementwise("next", [&x], [&z], "z = x + 1;")?;
    let v = vector::<f32>("v");
    let a = &square.apply([&next.apply([&v])[0]])[0];
    let f = function([&v]).output(a).output(&grad(a.sum(..), [&v])?[0]).compile()?;
    Ok(Bundle::new().with("kernels", &f))
}
