//! How many steps fusion leaves of small programs, on a device as parallel as a GPU.

// Negative ends count from the end.
#![allow(clippy::reversed_empty_ranges)]

mod groups;

use workalike::Result;
use workalike::kernels::print::Dialect;
use workalike::ops::{einsum, range};
use workalike::prelude::*;
use workalike_suite::data::{below, random};
use workalike_suite::snapshot::Paper;
use workalike_suite::wide::Wide;

/// Kernels and library calls of a call: what copies new values to shared variables, where they cannot be
/// computed in place, does not count.
fn steps(f: &Function, args: Args) -> Result<usize> {
    let mut sim = f.optimize(Wide.strict())?;
    let plan = sim.plan(args)?;
    Ok(plan.steps.len() - plan.to_string().matches("copy to shared variable").count())
}

/// Steps of a step of `u` to `next(u)`.
fn steps_of_update(next: impl Fn(&Variable) -> Variable) -> Result<usize> {
    let u = shared("u", Value::zeros(DType::F32, &[64, 96])?);
    let none: [&Variable; 0] = [];
    steps(&function(none).update(&u, next(&u)).compile()?, args![])
}

#[test]
fn a_stencil_is_one_step() -> Result<()> {
    let rolled =
        |u: &Variable| u + 0.1 * (u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1) - 4.0 * u);
    assert_eq!(steps_of_update(rolled)?, 1);
    let around = |w: &Variable| {
        let at = |i: usize, j: usize| w.index(idx![i..i + 64, j..j + 96]);
        at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2)
    };
    for mode in [Pad::Wrap, Pad::Edge, Pad::Reflect, Pad::Constant(0.0)] {
        assert_eq!(steps_of_update(|u| u + 0.1 * around(&u.pad([[1, 1], [1, 1]], mode)))?, 1, "{mode:?}");
    }
    let inside = |u: &Variable| u.index(idx![1..-1, 1..-1]) + u.index(idx![2.., 1..-1]);
    assert_eq!(steps_of_update(|u| u.set_index(idx![1..-1, 1..-1], inside(u)))?, 1);
    Ok(())
}

#[test]
fn a_part_of_a_state_is_written_in_place() -> Result<()> {
    let row = Value::zeros(DType::F32, &[96])?;
    type Write = fn(&Variable, &Variable) -> Variable;
    for write in [(|u, r| u.set_index(idx![3], r)) as Write, |u, r| u.inc_index(idx![3], r)] {
        let u = shared("u", Value::zeros(DType::F32, &[64, 96])?);
        let r = &vector::<f32>("r");
        let f = function([r]).update(&u, write(&u, r)).compile()?;
        let mut sim = f.optimize(Wide.strict())?;
        let plan = sim.plan(args![row.clone()])?;
        assert_eq!(plan.steps.len(), 1, "{plan}");
        assert!(plan.total.bytes() <= 3 * 4 * 96, "{plan}");
    }
    Ok(())
}

/// What a row becomes is computed from rows of the old state, before any is changed.
#[test]
fn rows_computed_from_rows_are_written_in_place() -> Result<()> {
    type Write = fn(&Variable, &Variable, Variable) -> Variable;
    let add: Write = |u, k, rows| u.inc_index(idx![k], rows);
    let set: Write = |u, k, rows| u.set_index(idx![k], rows);
    for (write, known) in [(add, true), (add, false), (set, true)] {
        let u = shared("u", random(DType::F32, &[4096, 96], 1)?);
        let given = &vector::<i64>("k");
        let k = if known { given.argsort(0) } else { given.clone() };
        let rows = u.index(idx![&k]).tanh() * 2.0;
        let f = function([given]).update(&u, write(&u, &k, rows)).compile()?;
        let mut sim = f.optimize(Wide.strict().deterministic(false))?;
        let plan = sim.plan(args![Value::from((0..64i64).collect::<Vec<_>>())])?;
        assert!(plan.total.bytes() <= 8 * 4 * 64 * 96, "{known} {plan}");
        // Positions that repeat, where nothing says that they do not: every second row twice.
        let positions = (0..64i64).map(|i| if known { 64 - i } else { i / 2 * 3 }).collect::<Vec<_>>();
        let verified = sim.verify(args![positions], 3)?;
        assert!(verified.passed(), "{known} {verified}");
    }
    Ok(())
}

#[test]
fn gradients_of_slices_are_added_up_in_one_step() -> Result<()> {
    let x = &matrix::<f32>("x");
    let taps = (0..9).map(|t| (x.index(idx![t / 3..t / 3 + 20, t % 3..t % 3 + 30]) * (t as f32)).tanh());
    let cost = taps.reduce(|a, b| a + b).unwrap_or_else(|| x.clone()).sum(..);
    let f = function([x]).output(grad(&cost, [x])?.remove(0)).compile()?;
    assert_eq!(steps(&f, args![Value::zeros(DType::F32, &[22, 32])?])?, 1);
    Ok(())
}

#[test]
fn joined_columns_are_one_step_and_a_product() -> Result<()> {
    let x = &matrix::<f32>("x");
    let w = &matrix::<f32>("w");
    let columns = (0..25).map(|k| x.index(idx![k / 5..k / 5 + 20, k % 5..k % 5 + 20]).reshape([400]));
    let product = w.dot(stack(columns, 0));
    let f = function([x, w]).output(product).compile()?;
    let zeros = |shape: [usize; 2]| Value::zeros(DType::F32, &shape);
    assert_eq!(steps(&f, args![zeros([24, 24])?, zeros([6, 25])?])?, 2);
    Ok(())
}

/// Few results of long sums: a batch of products, in place, whose results are summed.
#[test]
fn a_product_over_two_axes_is_the_sum_of_slices() -> Result<()> {
    let fixed = |name: &str, shape: [usize; 3]| tensor::<f64>(name, shape.map(Some).to_vec());
    let (x, y) = (fixed("x", [240, 20, 576]), fixed("y", [240, 25, 576]));
    let f = function([&x, &y]).output(einsum("bik,bjk->ij", [&x, &y])).compile()?;
    let value = |shape: [usize; 3], seed| below(9, DType::F64, &shape, seed);
    let args = [value([240, 20, 576], 1)?, value([240, 25, 576], 2)?];
    let args = || args![args[0].clone(), args[1].clone()];
    let mut wide = f.optimize(Wide.strict())?;
    let (got, want) = (wide.call(args())?, f.call_reference(args())?);
    let parts = wide.explain();
    assert!(parts.contains("matmul float64 240x20x25x576") && parts.contains("sum_of_parts"), "{parts}");
    assert!(!parts.contains("copy"), "{parts}");
    assert_eq!(got[0], want[0]);
    Ok(())
}

#[test]
fn what_is_stacked_is_one_step() -> Result<()> {
    // Directions that are computed from all of them, as in a lattice Boltzmann step.
    let moved = |u: &Variable| {
        let parts: Vec<Variable> =
            (0..8).map(|k| u.index(idx![8 * k..8 * (k + 1)]).roll(1 + k as i64 % 3, 1)).collect();
        let total = parts[1..].iter().fold(parts[0].clone(), |sum, part| sum + part);
        concatenate(parts.iter().map(|part| part - 0.1 * (part - &total / 8.0)), 0)
    };
    assert_eq!(steps_of_update(moved)?, 1);
    let x = &matrix::<f32>("x");
    let lags = function([x]).output(stack((0..12).map(|l| x.index(idx![.., l..l + 80])), 2)).compile()?;
    assert_eq!(steps(&lags, args![Value::zeros(DType::F32, &[64, 91])?])?, 1);
    let about = function([x]).output(stack([x.sum(1), x.max(1), x.sqr().mean(1)], 0)).compile()?;
    assert_eq!(steps(&about, args![Value::zeros(DType::F32, &[64, 96])?])?, 1);
    Ok(())
}

#[test]
fn rows_of_an_unrolled_recurrence_are_stored_where_they_belong() -> Result<()> {
    let x = &matrix::<f32>("x");
    let mut rows = vec![x.index(idx![0])];
    for t in 1..48 {
        rows.push(0.9 * &rows[t - 1] + x.index(idx![t]).tanh());
    }
    let f = function([x]).output(stack(rows, 0)).compile()?;
    let mut sim = f.optimize(Wide.strict())?;
    let plan = sim.plan(args![Value::zeros(DType::F32, &[48, 1000])?])?;
    assert!(plan.steps.len() <= 4, "{plan}");
    // A row is read and written once, and the last of a kernel once more by the next.
    assert!(plan.total.bytes() <= (2 * 48 + 8) * 4000, "{plan}");
    Ok(())
}

#[test]
fn a_position_in_a_whole_array_is_found_in_two_steps() -> Result<()> {
    let x = &matrix::<f32>("x");
    let f = function([x]).output(x.argmax(..)).output(x.argmin(..)).compile()?;
    assert_eq!(steps(&f, args![Value::zeros(DType::F32, &[512, 512])?])?, 2);
    Ok(())
}

#[test]
fn a_softmax_of_everything_fills_the_device() -> Result<()> {
    let x = &matrix::<f32>("x");
    let f = function([x]).output(softmax(x.flatten(), 0)).compile()?;
    // Each of its two reductions is split.
    assert_eq!(steps(&f, args![Value::zeros(DType::F32, &[512, 512])?])?, 5);
    let rows = function([x]).output(softmax(x, 1)).compile()?;
    assert_eq!(steps(&rows, args![Value::zeros(DType::F32, &[512, 512])?])?, 1);
    Ok(())
}

#[test]
fn what_is_stored_and_summed_in_another_shape_is_one_step() -> Result<()> {
    let x = &vector::<f32>("x");
    let y = (x * 2.0 + 1.0).tanh();
    let f = function([x]).output(&y).output(y.reshape([-1, 256]).sum(1)).compile()?;
    assert_eq!(steps(&f, args![Value::zeros(DType::F32, &[1 << 20])?])?, 1);
    // The scale of each head of a token, applied to rows of all heads.
    let x = &matrix::<f32>("x");
    let heads = x.reshape([-1, 8, 64]);
    let scaled = (&heads / heads.sqr().sum(2).expand_dims(2)).reshape([-1, 512]) * 2.0;
    let f = function([x]).output(scaled).compile()?;
    assert_eq!(steps(&f, args![Value::zeros(DType::F32, &[1024, 512])?])?, 1);
    Ok(())
}

/// The log-probabilities of labels, and the gradient of their mean: rows are read once and written once.
#[test]
fn a_cross_entropy_stores_no_log_probabilities() -> Result<()> {
    let (z, y) = (&matrix::<f32>("z"), &vector::<i32>("y"));
    let loss = -log_softmax(z, 1).index(idx![arange(y.extent(0)), y]).mean(..);
    let labels = Value::zeros(DType::I32, &[256])?;
    let rows = Value::zeros(DType::F32, &[256, 2048])?;
    let bytes = 4 * 256 * 2048;
    for (slope, most) in [(false, bytes + bytes / 8), (true, 2 * bytes + bytes / 8)] {
        let mut f = function([z, y]).output(&loss);
        if slope {
            f = f.output(&grad(&loss, [z])?[0]);
        }
        let mut sim = f.compile()?.optimize(Wide.strict())?;
        let plan = sim.plan(args![rows.clone(), labels.clone()])?;
        assert!(plan.steps.len() <= 2 && plan.total.bytes() <= most, "{plan}");
    }
    Ok(())
}

/// Each sum reads the matrix along its own rows: neither waits for the other's strides.
#[test]
fn sums_of_rows_and_of_columns_are_two_steps() -> Result<()> {
    let x = &matrix::<f32>("x");
    let f = function([x]).output(x.sum(0)).output(x.sum(1)).compile()?;
    assert_eq!(steps(&f, args![Value::zeros(DType::F32, &[2048, 2048])?])?, 2);
    Ok(())
}

/// Few results that are long sums of a function of two factors fill the device.
#[test]
fn a_long_contraction_is_split() -> Result<()> {
    let (x, y) = (&matrix::<f32>("x"), &matrix::<f32>("y"));
    let f = function([x, y]).output((x.expand_dims(2) + y.expand_dims(1)).abs().sum(0)).compile()?;
    let factor = Value::zeros(DType::F32, &[16_384, 64])?;
    assert_eq!(steps(&f, args![factor.clone(), factor])?, 2);
    Ok(())
}

/// A library multiplies bytes in place. Bytes that start between vectors, or that are no neighbours along the
/// sum, are copied first.
#[test]
fn bytes_start_where_vectors_do() -> Result<()> {
    let paper = Paper { dialect: Dialect::CudaCpp, cpu: false, matmul: true };
    let (a, b) = (&matrix::<i8>("a"), &matrix::<i8>("b"));
    let wide = |x: &Variable| x.cast(DType::I32);
    let part = |x: &Variable, from: i64| wide(x).index(idx![.., range(from, from + 768)]);
    for (left, right, copies) in [
        (wide(a), wide(b).t(), 0),
        (part(a, 0), part(b, 256).t(), 0),
        (part(a, 1), part(b, 0).t(), 1),
        (part(a, 16), part(b, 3).t(), 2),
        (part(a, 0).t(), part(b, 0), 2),
    ] {
        let mut sim = function([a, b]).output(left.dot(right)).compile()?.optimize(paper.strict())?;
        let bytes = || Value::zeros(DType::I8, &[512, 1024]);
        let plan = sim.plan(args![bytes()?, bytes()?])?.to_string();
        // One step may make two copies.
        let copied = plan.lines().filter(|line| line.contains("scratch") && line.contains("int8(")).count();
        assert!(plan.contains("library matmul") && copied == copies, "{copies} copies: {plan}");
    }
    Ok(())
}

/// Rows at positions in order need no sort, and no order of the points: the last one of each run stores.
#[test]
fn rows_are_replaced_in_order_by_any_points() -> Result<()> {
    let x = &vector::<i32>("x");
    let marks = x.index(idx![1..]).not_equal(x.index(idx![..-1]));
    let f =
        function([x]).output(zeros_like(x).set_index(idx![marks.cumsum(0)], x.index(idx![1..]))).compile()?;
    let mut sim = f.optimize(Wide.strict())?;
    sim.plan(args![Value::zeros(DType::I32, &[1000])?])?;
    let steps = sim.explain();
    let scatter = steps.lines().find(|line| line.contains("scatter"));
    assert!(scatter.is_some_and(|line| line.contains("grid 1; Point)")), "{steps}");
    Ok(())
}

/// A running sum of small integers is narrow where its readers widen it, and no step widens a result.
#[test]
fn a_running_sum_is_one_step() -> Result<()> {
    let (x, mask) = (&vector::<i32>("x"), &vector::<bool>("m"));
    let of = |sum: Variable, input: &Variable, dtype| -> Result<usize> {
        let f = function([input]).output(sum).compile()?;
        steps(&f, args![Value::zeros(dtype, &[1000])?])
    };
    assert_eq!(of(mask.cumsum(0), mask, DType::Bool)?, 1);
    assert_eq!(of(x.remainder(7i32).cumsum(0), x, DType::I32)?, 1);
    Ok(())
}

/// The host has library calls of its own for these; a Nest would take a point at a time, or one thread.
#[test]
fn the_host_folds_and_scatters_by_its_library() -> Result<()> {
    let (mask, y) = (&vector::<bool>("m"), &matrix::<f32>("y"));
    let (ids, table) = (&vector::<i32>("i"), &matrix::<f32>("t"));
    let has = |f: Function, args: Args, step: &str| -> Result<bool> {
        let plan = f.optimize(Host::threads(2).strict())?.plan(args)?.to_string();
        Ok(plan.contains(step))
    };
    let zeros = |dtype, shape: &[usize]| Value::zeros(dtype, shape);
    // In 32 bits, which the readers widen.
    let sums = function([mask]).output(mask.cumsum(0) * 3).compile()?;
    assert!(has(sums, args![zeros(DType::Bool, &[50_000])?], "library cumulate_sum")?);
    let sums = function([ids]).output(ids.remainder(7i32).cumsum(0) * 3).compile()?;
    assert!(has(sums, args![zeros(DType::I32, &[50_000])?], "library cumulate_sum")?);
    let rows = [table.inc_index(idx![ids], y), table.set_index(idx![ids], y)];
    for rows in rows {
        let f = function([table, ids, y]).output(rows).compile()?;
        let args = args![
            zeros(DType::F32, &[999, 32])?,
            zeros(DType::I32, &[1000])?,
            zeros(DType::F32, &[1000, 32])?
        ];
        assert!(has(f, args, "library scatter")?);
    }
    let x = &vector::<f32>("x");
    let few = function([x, ids]).output(x.segment_max(ids, 100)).compile()?;
    assert!(has(
        few,
        args![zeros(DType::F32, &[50_000])?, zeros(DType::I32, &[50_000])?],
        "library scatter"
    )?);
    Ok(())
}

/// A step of a lattice Boltzmann method: sums over nine directions, each from a neighbour, are used nine
/// times.
#[test]
fn directions_are_collided_in_two_steps() -> Result<()> {
    const C: [(i64, i64); 9] = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];
    let solid = &matrix::<bool>("solid");
    let shape = [9, 256, 256];
    let rolled = |f: &Variable| -> Vec<Variable> {
        let from = |(k, (x, y)): (usize, (i64, i64))| f.index(idx![k as i64]).roll(x, 0).roll(y, 1);
        C.into_iter().enumerate().map(from).collect()
    };
    let padded = |f: &Variable| -> Vec<Variable> {
        let f = f.pad([[0, 0], [1, 1], [1, 1]], Pad::Wrap);
        let of = |(k, (x, y)): (usize, (i64, i64))| {
            f.index(idx![k as i64, range(1 - x, 257 - x), range(1 - y, 257 - y)])
        };
        C.into_iter().enumerate().map(of).collect()
    };
    type Stream = dyn Fn(&Variable) -> Vec<Variable>;
    for stream in [&rolled as &Stream, &padded] {
        let f = shared("f", Value::zeros(DType::F32, &shape)?);
        let g = stream(&f);
        let sum = |weight: &dyn Fn((i64, i64)) -> i64| {
            let terms = g.iter().zip(C).filter(|(_, c)| weight(*c) != 0);
            terms.map(|(g, c)| g * (weight(c) as f32)).reduce(|a, b| a + b).unwrap_or_else(|| g[0].clone())
        };
        let rho = sum(&|_| 1);
        let (u, v) = (sum(&|c| c.0) / &rho, sum(&|c| c.1) / &rho);
        let square = u.sqr() + v.sqr();
        let next = (0..9).map(|k| {
            let c = C[k].0 as f64 * &u + C[k].1 as f64 * &v;
            let e = &rho * (1.0 + 3.0 * &c + 4.5 * c.sqr() - 1.5 * &square) / 9.0;
            where_(solid, &g[(k + 4) % 9], &g[k] - 1.7 * (&g[k] - e))
        });
        let f = function([solid]).update(&f, stack(next, 0)).compile()?;
        let mut sim = f.optimize(Wide.strict())?;
        let plan = sim.plan(args![Value::zeros(DType::Bool, &[256, 256])?])?;
        // Sums that all directions use may be a step of their own; the new state is copied.
        assert!(plan.steps.len() <= 3, "{plan}");
    }
    Ok(())
}

/// A sweep of the Ising model, whose second half looks at neighbours of what the first half computed.
#[test]
fn neighbours_of_what_is_computed_are_not_stored_by_parts() -> Result<()> {
    let neighbours = |u: &Variable| {
        let padded = u.pad([[1, 1], [1, 1]], Pad::Wrap);
        let at = |i: i64, j: i64| padded.index(idx![range(i, i + 2048), range(j, j + 2048)]);
        at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2)
    };
    let u = shared("u", Value::zeros(DType::I8, &[2048, 2048])?);
    let noise = matrix::<f32>("noise");
    let colours = (arange(2048i64).expand_dims(1) + arange(2048i64)) % 2i64;
    let mut next = (*u).clone();
    for colour in 0..2i64 {
        let energy = (&next * neighbours(&next)).cast(DType::F32);
        let flips = noise.less((-0.88 * energy).exp());
        next = where_(colours.equal(colour).and(flips), -&next, &next);
    }
    let f = function([&noise]).update(&u, &next).compile()?;
    let mut sim = f.optimize(Wide.strict())?;
    let plan = sim.plan(args![Value::zeros(DType::F32, &[2048, 2048])?])?;
    assert!(plan.steps.len() <= 3, "{plan}");
    Ok(())
}
