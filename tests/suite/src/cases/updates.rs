//! Updates, state and syncs: updates read old values, methods share state, and `call` and `run_n` agree.

use super::family;
use crate::data::random;
use crate::stage::{Scenario, Stage, ensure, equal, fails, relative};
use crate::tolerance::Bound;
use workalike::ops::range;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "updates",
        &[
            ("swap", swap),
            ("old_values", old_values),
            ("accumulator", accumulator),
            ("chain_of_updates", chain),
            ("rotation_of_three", rotation),
            ("output_is_the_old_value", old_output),
            ("update_with_an_input", from_input),
            ("update_by_another_shape_of_use", transposed),
            ("in_place_parts", parts),
            ("set_and_get", set_and_get),
            ("run_n_counts", run_n_counts),
            ("run_n_each", run_n_each),
            ("run_n_collect", run_n_collect),
            ("dynamic_grows_and_shrinks", dynamic),
            ("sync_conflicts", conflicts),
            ("methods_with_differing_values", differing),
            ("device_arrays", device_arrays),
            ("every_dtype", every_dtype),
            ("many_small_ones", many_small),
        ],
    )
}

const NONE: [&Variable; 0] = [];

fn exact(_: &Value) -> Bound {
    Bound::Exact
}

fn swap(stage: &Stage) -> Result<()> {
    for dtype in [DType::F32, DType::I64, DType::Bool] {
        let (x, y) = (shared("x", random(dtype, &[3, 4], 1)?), shared("y", random(dtype, &[3, 4], 2)?));
        let f = function(NONE).output(&x).update(&x, &y).update(&y, &x).compile()?;
        stage.steps(&f, &vec![vec![]; 3], exact)?;
    }
    Ok(())
}

fn old_values(stage: &Stage) -> Result<()> {
    let (x, y) = (shared("x", vec![1f32, 2.0]), shared("y", vec![3f32, 4.0]));
    let f = function(NONE).update(&x, 2.0 * &x).update(&y, &x + &y).compile()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    simulator.call(args![])?;
    equal("x", &simulator.get_value("x")?, vec![2f32, 4.0])?;
    equal("y", &simulator.get_value("y")?, vec![4f32, 6.0])?;
    stage.steps(&f, &vec![vec![]; 7], exact)
}

/// Theano's tutorial: the state is 0, then 1, then 301; set to -1, then 2; then the decrementor.
fn accumulator(stage: &Stage) -> Result<()> {
    let inc = scalar::<i64>("inc");
    let state = shared("state", 0i64);
    let accumulate =
        function([&inc]).output_named("state", &state).update(&state, &state + &inc).compile()?;
    let decrement = function([&inc]).output_named("state", &state).update(&state, &state - &inc).compile()?;
    let bundle = stage.bundle(&[("accumulate", &accumulate), ("decrement", &decrement)])?;
    let mut simulator = stage.simulator(&bundle["accumulate"])?;
    simulator.add_method("decrement", &bundle["decrement"])?;
    let value = |s: &Simulator| s.get_value("state");
    equal("at first", &value(&simulator)?, 0i64)?;
    equal("the first call", &simulator.call(args![1i64])?[0], 0i64)?;
    equal("after it", &value(&simulator)?, 1i64)?;
    equal("the second call", &simulator.call(args![300i64])?[0], 1i64)?;
    equal("after it", &value(&simulator)?, 301i64)?;
    simulator.set_value("state", -1i64)?;
    equal("after set_value", &simulator.call(args![3i64])?[0], -1i64)?;
    equal("after it", &value(&simulator)?, 2i64)?;
    equal("the decrementor", &simulator.method("decrement")?.call(args![2i64])?[0], 2i64)?;
    equal("after it", &value(&simulator)?, 0i64)?;
    simulator.run_n(300, args![1i64])?;
    let last = simulator.method("decrement")?.run_n(50, args![; inc = 2i64])?;
    equal("run_n's last output", last.get("state").unwrap_or(&last[0]), 202i64)?;
    let parent = |name: &str| bundle[name].cells()[0].get_value();
    equal("the parent before", &parent("decrement")?, 0i64)?;
    ensure(simulator.sync_to_parent()? == ["state"], || "another variable was synced".into())?;
    equal("the parent", &parent("accumulate")?, 200i64)?;
    equal("the other parent", &parent("decrement")?, 200i64)
}

fn chain(stage: &Stage) -> Result<()> {
    // Each update reads the old value of the next variable, the last that of the first.
    let cells: Vec<_> = (0..5).map(|i| shared(&format!("s{i}"), vec![i as f64, 10.0 * i as f64])).collect();
    let mut f = function(NONE).output(&cells[0] + &cells[4]);
    for i in 0..5 {
        f = f.update(&cells[i], &cells[(i + 1) % 5] + &cells[i] * 0.5);
    }
    stage.steps(&f.compile()?, &vec![vec![]; 6], exact)
}

fn rotation(stage: &Stage) -> Result<()> {
    let cells: Vec<_> = (0..3).map(|i| shared(&format!("s{i}"), vec![i; 100])).collect();
    let f =
        function(NONE).update(&cells[0], &cells[1]).update(&cells[1], &cells[2]).update(&cells[2], &cells[0]);
    stage.steps(&f.compile()?, &vec![vec![]; 4], exact)
}

fn old_output(stage: &Stage) -> Result<()> {
    let x = shared("x", random(DType::F32, &[50], 1)?);
    let f = function(NONE).output(&x).output(&x * 2.0).output(x.max(..)).update(&x, &x + 1.0).compile()?;
    stage.steps(&f, &vec![vec![]; 3], exact)
}

fn from_input(stage: &Stage) -> Result<()> {
    let v = vector::<f32>("v");
    let (x, count) = (shared("x", vec![0f32; 6]), shared("count", 0i64));
    let f = function([&v]).output(&x - &v).update(&x, &v).update(&count, &count + 1i64).compile()?;
    let steps: Vec<Vec<Value>> =
        (0..4).map(|i| Ok(vec![random(DType::F32, &[6], i)?])).collect::<Result<_>>()?;
    stage.steps(&f, &steps, exact)
}

fn transposed(stage: &Stage) -> Result<()> {
    let x = shared("x", random(DType::F32, &[5, 5], 1)?);
    let y = shared("y", random(DType::F32, &[6], 2)?);
    let reversed = y.index(idx![workalike::ops::Ix::from(..).step(-1)]);
    // An update in place would be wrong: each element needs the old value of another one.
    let f = function(NONE).update(&x, x.t()).update(&y, reversed).output(x.sum(..) * 0.0).compile()?;
    stage.steps(&f, &vec![vec![]; 3], exact)?;
    let z = shared("z", random(DType::F64, &[7], 3)?);
    let f = function(NONE).update(&z, &z - z.max(..)).compile()?;
    stage.steps(&f, &vec![vec![]; 3], exact)?;
    let w = shared("w", random(DType::F64, &[4, 4], 4)?);
    let f = function(NONE).update(&w, w.dot(&w) * 0.25).compile()?;
    stage.steps(&f, &vec![vec![]; 3], |want| relative(want, 1e-9))
}

fn parts(stage: &Stage) -> Result<()> {
    let i = scalar::<i64>("i");
    let table = shared("table", random(DType::F32, &[8, 3], 1)?);
    let f = function([&i])
        .output(table.index(idx![&i]))
        .update(
            &table,
            table.set_index(idx![&i], table.index(idx![-1])).inc_index([range(&i, &i + 1i64)], 0.5),
        )
        .compile()?;
    let steps: Vec<Vec<Value>> = (0..5i64).map(|i| vec![Value::from(i)]).collect();
    stage.steps(&f, &steps, exact)
}

fn set_and_get(stage: &Stage) -> Result<()> {
    let x = shared("x", vec![1f32, 2.0]);
    let f = stage.function(&function(NONE).output(&x * 2.0).update(&x, &x + 1.0).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    simulator.set_value("x", vec![5f32, 6.0])?;
    equal("the call", &simulator.call(args![])?[0], vec![10f32, 12.0])?;
    equal("the state", &simulator.get_value("x")?, vec![6f32, 7.0])?;
    fails("another shape", simulator.set_value("x", vec![1f32]), &["x", "float32"])?;
    fails("another dtype", simulator.set_value("x", vec![1f64, 2.0]), &["x", "float64"])?;
    fails("an unknown name", simulator.set_value("nobody", 1f32), &["nobody", "x"])?;
    equal("unchanged", &simulator.get_value("x")?, vec![6f32, 7.0])
}

fn run_n_counts(stage: &Stage) -> Result<()> {
    let x = shared("x", 0i64);
    let f = stage.function(&function(NONE).output(&x).update(&x, &x + 1i64).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    ensure(simulator.run_n(0, args![])?.is_empty(), || "no step has outputs".into())?;
    let mut total = 0i64;
    for n in [1u64, 2, 3, 7, 16, 17, 64, 65, 333] {
        total += n as i64;
        equal(&format!("the last of {n}"), &simulator.run_n(n, args![])?[0], total - 1)?;
        equal(&format!("the state after {n}"), &simulator.get_value("x")?, total)?;
    }
    Ok(())
}

fn run_n_each(stage: &Stage) -> Result<()> {
    let (x, k) = (matrix::<f32>("x"), scalar::<f32>("k"));
    let state = shared("state", Value::zeros(DType::F32, &[3, 2])?);
    let f = function([&x, &k]).output(&x * &k).update(&state, &state * 0.5 + &x).compile()?;
    let steps: Vec<Vec<Value>> = (0..9)
        .map(|i| Ok(vec![random(DType::F32, &[3, 2], i)?, Value::from(i as f32)]))
        .collect::<Result<_>>()?;
    stage.steps(&f, &steps, exact)?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    let xs = random(DType::F32, &[4, 3, 2], 1)?;
    fails("too few slices", simulator.run_n(5, args![each(&xs), 1f32]), &["5", "4"])?;
    fails("a sequence for a call", simulator.call(args![each(&xs), 1f32]), &["sequence"])?;
    equal("nothing ran", &simulator.get_value("state")?, Value::zeros(DType::F32, &[3, 2])?)?;
    simulator.run_n(4, args![each(&xs), 1f32])?;
    Ok(())
}

fn run_n_collect(stage: &Stage) -> Result<()> {
    let v = vector::<i64>("v");
    let state = shared("state", 0i64);
    let f = function([&v]).output(&v + &state).output(v.sum(..)).update(&state, &state + 10i64).compile()?;
    let f = stage.function(&f.renamed("f"))?;
    let mut simulator = stage.simulator(&f)?;
    let vs = Value::from_vec(&[3, 2], vec![1i64, 2, 3, 4, 5, 6])?;
    let all = simulator.method("f")?.run_n_collect(3, args![each(&vs)])?;
    equal("the first output", &all[0], Value::from_vec(&[3, 2], vec![1i64, 2, 13, 14, 25, 26])?)?;
    equal("the second output", &all[1], vec![3i64, 7, 11])
}

fn dynamic(stage: &Stage) -> Result<()> {
    let (x, n) = (vector::<f32>("x"), scalar::<i64>("n"));
    let state = shared_dynamic("state", vec![1f32, 2.0, 3.0], &[0]);
    let cut = function([&n])
        .output(state.sum(..))
        .update(&state, state.index([range(0i64, &n)]) + 1.0)
        .compile()?;
    let put = function([&x]).output(state.sum(..)).update(&state, &x * 2.0).compile()?;
    let bundle = stage.bundle(&[("cut", &cut), ("put", &put)])?;
    let reference = stage.bundle(&[("cut", &cut.fork()?)])?;
    equal("reference", &reference["cut"].call_reference(args![2i64])?[0], 6f32)?;
    let mut simulator = stage.simulator(&bundle["cut"])?;
    simulator.add_method("put", &bundle["put"])?;
    equal("the sum of three", &simulator.call(args![2i64])?[0], 6f32)?;
    equal("two are left", &simulator.get_value("state")?, vec![2f32, 3.0])?;
    equal("the sum of two", &simulator.method("put")?.call(args![vec![1f32; 1000]])?[0], 5f32)?;
    equal("a thousand", &simulator.get_value("state")?, vec![2f32; 1000])?;
    equal("their sum", &simulator.call(args![5i64])?[0], 2000f32)?;
    equal("five are left", &simulator.get_value("state")?, vec![3f32; 5])?;
    simulator.set_value("state", vec![7f32; 70])?;
    equal("the sum of seventy", &simulator.call(args![0i64])?[0], 490f32)?;
    equal("none is left", &simulator.get_value("state")?, Value::zeros(DType::F32, &[0])?)?;
    simulator.method("put")?.call(args![vec![4f32]])?;
    simulator.sync_to_parent()?;
    for (name, function) in bundle.iter() {
        equal(name, &function.cells()[0].get_value()?, vec![8f32])?;
    }
    equal("the parent's own call", &bundle["put"].call(args![vec![1f32, 2.0]])?[0], 8f32)?;
    equal("and the state after it", &bundle["put"].cells()[0].get_value()?, vec![2f32, 4.0])
}

fn conflicts(stage: &Stage) -> Result<()> {
    let (x, y) = (shared("x", 1f64), shared("y", 1f64));
    let f = stage.function(&function(NONE).output(&y).update(&x, &x + 1.0).compile()?)?;
    let cell = |name: &str| f.shared(name);
    let mut simulator = stage.simulator(&f)?;
    ensure(simulator.sync_to_parent()?.is_empty(), || "nothing ran, yet something was synced".into())?;
    simulator.call(args![])?;
    cell("x")?.set_value(50f64)?;
    fails("both changed", simulator.sync_to_parent(), &["x"])?;
    equal("the parent", &cell("x")?.get_value()?, 50f64)?;
    fails("both changed, the other way", simulator.sync_from_parent(), &["x"])?;
    equal("the simulator", &simulator.get_value("x")?, 2f64)?;
    ensure(simulator.sync_to_parent_keeping(Keep::Simulator)? == ["x"], || "x was not written".into())?;
    equal("the parent gave way", &cell("x")?.get_value()?, 2f64)?;
    cell("y")?.set_value(9f64)?;
    ensure(simulator.sync_from_parent()? == ["y"], || "y was not read".into())?;
    equal("the new value is read", &simulator.call(args![])?[0], 9f64)?;
    ensure(simulator.sync_to_parent()? == ["x"], || "x was not written".into())?;
    equal("the parent", &cell("x")?.get_value()?, 3f64)
}

fn differing(stage: &Stage) -> Result<()> {
    let x = shared("x", 1f64);
    let f = function(NONE).update(&x, &x + 1.0).compile()?;
    let bytes = Bundle::new().with("f", &f).to_bytes()?;
    let (one, two) = (Bundle::from_bytes(&bytes)?, Bundle::from_bytes(&bytes)?);
    two["f"].cells()[0].set_value(100f64)?;
    let mut simulator = stage.simulator(&one["f"])?;
    fails("values differ", simulator.add_method("g", &two["f"]), &["x"])?;
    simulator.call(args![])?;
    simulator.add_method_keeping("g", &two["f"], Keep::Simulator)?;
    simulator.method("g")?.call(args![])?;
    equal("one state", &simulator.get_value("x")?, 3f64)?;
    let mut simulator = stage.simulator(&one["f"])?;
    simulator.add_method_keeping("g", &two["f"], Keep::Parent)?;
    equal("the incoming value", &simulator.get_value("x")?, 100f64)?;
    fails("a name twice", simulator.add_method("g", &two["f"]), &["g"])?;
    fails("an unknown method", simulator.method("h").map(drop), &["h", "f", "g"])
}

fn device_arrays(stage: &Stage) -> Result<()> {
    let (a, b) = (matrix::<f32>("a"), matrix::<f32>("b"));
    let f = stage.function(&function([&a, &b]).output(&a * 2.0 + &b).output(a.sum(0)).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    let (x, y) = (random(DType::F32, &[6, 4], 1)?, random(DType::F32, &[6, 4], 2)?);
    let on_device = simulator.upload(&x)?;
    let first = simulator.call_device(args![&on_device, &y])?;
    let want = f.call_reference(args![&x, &y])?;
    equal("the output", &first[0].to_value()?, &want[0])?;
    let second = simulator.call_device(args![&first[0], &on_device])?;
    let want_second = f.call_reference(args![&want[0], &x])?;
    equal("a result computed from it", &second[0].to_value()?, &want_second[0])?;
    equal("the first is as it was", &first[0].to_value()?, &want[0])?;
    equal("the upload is as it was", &on_device.to_value()?, &x)?;
    let held: Vec<DeviceArray> =
        (0..20).map(|_| Ok(simulator.call_device(args![&x, &y])?.swap_remove(0))).collect::<Result<_>>()?;
    drop(simulator);
    held.iter().try_for_each(|array| equal("held after the simulator is gone", &array.to_value()?, &want[0]))
}

fn every_dtype(stage: &Stage) -> Result<()> {
    let cells: Vec<_> =
        DType::REAL.iter().map(|&d| Ok(shared(d.name(), random(d, &[11], 1)?))).collect::<Result<_>>()?;
    let build = |f: workalike::function::FunctionBuilder, x: &SharedVariable| f.update(x, x + &**x);
    let f = cells.iter().fold(function(NONE), build).compile()?;
    stage.steps(&f, &vec![vec![]; 3], exact)
}

/// Many small updates: of several shapes and dtypes without dependences, one whose old value others read, and
/// sums over a batch.
fn many_small(stage: &Stage) -> Result<()> {
    let (x, rate) = (matrix::<f32>("x"), scalar::<f32>("rate"));
    let shapes: [&[usize]; 6] = [&[7], &[7], &[3, 4], &[3, 4], &[7], &[1]];
    let dtypes = [DType::F32, DType::F32, DType::F64, DType::F32, DType::I32, DType::F32];
    let mut cells = Vec::new();
    for (i, (shape, dtype)) in (0u32..).zip(shapes.iter().zip(dtypes)) {
        cells.push(shared(&format!("w{i}"), random(dtype, shape, i)?));
    }
    let (w, v) = (&cells[0], &cells[1]);
    let mut f = function([&x, &rate]).update(w, w - &rate * 0.5).update(v, v + w.index(idx![0]));
    for cell in &cells[2..] {
        f = f.update(cell, (&**cell + &**cell).cast(cell.dtype()));
    }
    let f = f.output(x.sum(0)).output((&x * &x).max(0)).output(w * 3.0f32).compile()?;
    let steps: Vec<Vec<Value>> = (0..4)
        .map(|i| Ok(vec![random(DType::F32, &[5, 7], i)?, Value::from(0.25f32)]))
        .collect::<Result<_>>()?;
    stage.steps(&f, &steps, |want| relative(want, 1e-5))
}
