//! Ops with kernels in C: in graphs, trained through, saved, loaded and verified. The host, and a file whose
//! kernels are not allowed, use the references.

mod errors;
mod training;

use super::custom_kernels::{compiles_c, dialect, ramp, ramp2, typed};
use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use crate::tolerance::Bound;
use ndarray::Array2;
use workalike::Result;
use workalike::custom::{Grid, KernelOp, Local};
use workalike::engine::verify::{Check, Origin, verify};
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 13] = [
        ("eye", eye),
        ("matrix_product", matrix_product),
        ("sum_and_difference", sum_and_difference),
        ("plus_one_in_float16", plus_one),
        ("two_launches_with_scratch_memory", scratch),
        ("elementwise", elementwise),
        ("elementwise_with_two_results", two_results),
        ("kernels_of_a_file", kernels_of_a_file),
        ("lies_that_verify_finds", lies),
        ("a_shape_rule", shape_rule),
        ("training", training::training),
        ("misuse", errors::misuse),
        ("damaged_files", errors::damaged_files),
    ];
    family("kernel_ops", &stories)
}

/// A kernel that writes 7 everywhere, with a reference that doubles: so a test sees which of them ran.
pub(super) fn seven() -> Result<KernelOp> {
    let x = vector::<f32>("x");
    let y = 2.0 * &x;
    let source = dialect(
        "KERNEL void seven(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, u64 n)
         { u64 i = GID_0 * LDIM_0 + LID_0; if (i < n) y[i] = 7; }",
    )?;
    let n = x.extent(0);
    KernelOp::new("seven", source, [&x], [&y])?.launch("seven", Grid::items([&n]), (&x, &y, &n))
}

/// Theano's Eye: n, m and k are inputs, n and m decide the shape, and a later op asks for it.
fn eye(stage: &Stage) -> Result<()> {
    let (n, m, k) = (scalar::<i64>("n"), scalar::<i64>("m"), scalar::<i64>("k"));
    let row = arange(&n).dimshuffle([Some(0), None]);
    let column = arange(&m).dimshuffle([None, Some(0)]);
    let a = (column - row).equal(&k).cast(DType::F32);
    let source = typed(
        r#"#include "cluda.h"

KERNEL void eye(GLOBAL_MEM type_a *a, ga_size n, ga_size m, GLOBAL_MEM const ga_ssize *at) {
    ga_size i = GID_1 * LDIM_1 + LID_1, j = GID_0 * LDIM_0 + LID_0;
    if (i < n && j < m) store_a(a, i * m + j, (ga_ssize)j - (ga_ssize)i == *at);
}"#,
        &[("a", DType::F32)],
    )?;
    let (rows, columns) = (a.extent(0), a.extent(1));
    let eye = KernelOp::new("eye", source, [&n, &m, &k], [&a])?.shape(&a, (&n, &m))?.launch(
        "eye",
        Grid::items([&columns, &rows]),
        (&a, &rows, &columns, &k),
    )?;
    let made = &eye.apply([&n, &m, &k])[0];
    let f = function([&n, &m, &k]).output(made).output(made.extent(1)).output(made.sum(0)).compile()?;
    let f = stage.function(&f)?;
    let mut sim = stage.simulator(&f)?;
    for (n, m, k) in [(5i64, 7i64, 0i64), (5, 7, 2), (6, 4, -2), (3, 9, 5), (4, 4, 9), (1, 1, 0), (0, 3, 0)] {
        let got = sim.call(args![n, m, k])?;
        let is = |(i, j): (usize, usize)| f32::from(u8::from(j as i64 - i as i64 == k));
        let want = Array2::from_shape_fn((n as usize, m as usize), is);
        equal(&format!("eye({n}, {m}, {k})"), &got[0], &want)?;
        ensure(got[1].item::<i64>()? == m, || "the extent".into())?;
        equal("its sum", &got[2], want.sum_axis(ndarray::Axis(0)))?;
        equal("the Function", &f.call(args![n, m, k])?[0], &want)?;
        equal("the reference", &f.call_reference(args![n, m, k])?[0], &want)?;
    }
    if compiles_c(&stage.open()?) {
        return fails("a negative extent", sim.call(args![-1i64, 2i64, 0i64]), &["eye", "-1"]);
    }
    // The reference is defined by arange.
    equal("a negative extent", &sim.call(args![-1i64, 2i64, 0i64])?[0], Array2::<f32>::zeros((0, 2)))
}

/// A product of matrices of any extents; its gradient is the reference's.
fn matrix_product(stage: &Stage) -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), matrix::<f32>("y"));
    let z = x.dot(&y);
    let source = dialect(
        "KERNEL void product(GLOBAL_MEM const f32 *x, GLOBAL_MEM const f32 *y, GLOBAL_MEM f32 *z, u32 m, u32 k, u32 n)
         {
             const u32 i = GID_1 * LDIM_1 + LID_1, j = GID_0 * LDIM_0 + LID_0;
             if (i >= m || j >= n) return;
             f32 sum = 0;
             for (u32 l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
             z[i * n + j] = sum;
         }",
    )?;
    let (m, k, n) = (x.extent(0), x.extent(1), y.extent(1));
    let product = KernelOp::new("product", source, [&x, &y], [&z])?.launch(
        "product",
        Grid::items([&n, &m]),
        (&x, &y, &z, &m, &k, &n),
    )?;
    let (a, b) = (matrix::<f32>("a"), matrix::<f32>("b"));
    // The second operand is a view, which is copied.
    let c = &product.apply([&(&a + 1.0), &b.transpose([1, 0])])[0];
    let grads = grad(c.sqr().sum(..), [&a, &b])?;
    let f = function([&a, &b]).output(c).output(&grads[0]).output(&grads[1]).compile()?;
    let mut sim = stage.simulator(&stage.function(&f)?)?;
    for (m, k, n) in [(37, 19, 53), (1, 1, 1), (8, 0, 3), (0, 2, 2)] {
        let given = || args![ramp2(m, k), ramp2(n, k)];
        let (got, want) = (sim.call(given())?, f.call_reference(given())?);
        for output in 0..3 {
            near(
                &format!("{m} {k} {n}, output {output}"),
                &got[output],
                &want[output],
                &relative(&want[output], 1e-4),
            )?;
        }
    }
    Ok(())
}

/// Two results from one launch; a reader of one of them alone.
fn sum_and_difference(stage: &Stage) -> Result<()> {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let (sum, difference) = (&x + &y, &x - &y);
    let source = dialect(
        "KERNEL void both(GLOBAL_MEM const f32 *x, GLOBAL_MEM const f32 *y, GLOBAL_MEM f32 *sum, GLOBAL_MEM f32 *difference,
                          const u64 n)
         {
             for (u64 i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) {
                 sum[i] = x[i] + y[i];
                 difference[i] = x[i] - y[i];
             }
         }",
    )?;
    let n = x.extent(0);
    let both = KernelOp::new("both", source, [&x, &y], [&sum, &difference])?.launch(
        "both",
        Grid::groups([&constant(2i64)], [32]),
        (&x, &y, &sum, &difference, &n),
    )?;
    let (a, b) = (vector::<f32>("a"), vector::<f32>("b"));
    let state = shared("state", vec![0f32; 1000]);
    let results = both.apply([&(&a * 2.0), &b]);
    let f = function([&a, &b]).output(&results[0]).update(&state, &*state + &results[1]).compile()?;
    let steps = vec![vec![Value::from(ramp(1000)), Value::from(vec![1.5f32; 1000])]; 3];
    stage.steps(&f, &steps, |_| Bound::Exact)
}

/// Theano's example: stored as a half, computed in float32.
fn plus_one(stage: &Stage) -> Result<()> {
    for dtype in [DType::F16, DType::BF16] {
        let x = Variable::input("x", TensorType::of_rank(dtype, 1));
        let y = &x + 1.0;
        let text = "KERNEL void k(const ga_size n, GLOBAL_MEM const type_x *x, GLOBAL_MEM type_x *y) {
            ga_size i = GID_0 * LDIM_0 + LID_0;
            if (i >= n) return;
            work_x z = load_x(x, i);
            z += 1;
            store_x(y, i, z);
        }";
        let n = x.extent(0);
        let op = KernelOp::new("plus_one", typed(text, &[("x", dtype)])?, [&x], [&y])?;
        let op = op.launch("k", Grid::items([&n]), (&n, &x, &y))?;
        let v = Variable::input("v", TensorType::of_rank(dtype, 1));
        let f = function([&v]).output(&(&op.apply([&v])[0] * 2.0)).compile()?;
        let given = Value::from(ramp(100)).cast(dtype)?;
        let want = f.call_reference(args![&given])?;
        let got = stage.simulator(&stage.function(&f)?)?.call(args![&given])?;
        equal(&format!("{dtype}"), &got[0], want[0].clone())?;
    }
    Ok(())
}

/// A sum in two launches: of groups with local memory, then of the groups' sums.
fn scratch(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let total = x.sum(..);
    let source = dialect(
        "KERNEL void partial(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *sums, LOCAL_MEM_ARG f32 *part, u64 n)
         {
             const u64 i = (u64)GID_0 * LDIM_0 + LID_0;
             part[LID_0] = i < n ? x[i] : 0;
             local_barrier();
             for (u32 half_ = LDIM_0 / 2; half_ > 0; half_ /= 2) {
                 if (LID_0 < half_) part[LID_0] += part[LID_0 + half_];
                 local_barrier();
             }
             if (LID_0 == 0) sums[GID_0] = part[0];
         }

         KERNEL void finish(GLOBAL_MEM const f32 *sums, GLOBAL_MEM f32 *total, u64 n, f32 scale)
         {
             f32 sum = 0;
             for (u64 i = 0; i < n; i++) sum += sums[i];
             if (GID_0 == 0 && LID_0 == 0) total[0] = sum * scale;
         }",
    )?;
    let (n, sums) = (x.extent(0), vector::<f32>("sums"));
    let groups = (&n + 63) / 64;
    let groups = groups.floor().cast(DType::I64);
    let op = KernelOp::new("sum", source, [&x], [&total])?
        .scratch(&sums, [&groups])?
        .launch("partial", Grid::groups([&groups], [64]), (&x, &sums, Local(64 * 4), &n))?
        .launch("finish", Grid::groups([&constant(1i64)], [1]), (&sums, &total, &groups, 1.0))?;
    let v = vector::<f32>("v");
    let f = function([&v]).output(op.apply([&v])[0].sqrt()).compile()?;
    let f = stage.function(&f)?;
    let mut sim = stage.simulator(&f)?;
    for n in [1usize, 63, 64, 65, 1000, 0] {
        let ones = vec![1f32; n];
        equal(&format!("{n} ones"), &sim.call(args![&ones])?[0], (n as f32).sqrt())?;
    }
    Ok(())
}

/// It fuses with what is around it, broadcasts, and takes halves.
fn elementwise(stage: &Stage) -> Result<()> {
    for dtype in [DType::F32, DType::F16] {
        let (x, beta) = (
            Variable::input("x", TensorType::of_rank(dtype, 2)),
            Variable::input("beta", TensorType::of_rank(dtype, 1)),
        );
        let y = ((1.0 + (&beta * &x).exp()).log() / &beta).named("y");
        let text = "f32 t = beta * x;\n y = (max(t, 0.0f) + log1p(exp(-fabs(t)))) / beta";
        let softplus = KernelOp::elementwise("soft plus", [&x, &beta], [&y], text)?;
        let (a, b) = (
            Variable::input("a", TensorType::of_rank(dtype, 2)),
            Variable::input("b", TensorType::of_rank(dtype, 1)),
        );
        let c = 3.0 * &softplus.apply([&(&a - 1.0), &b])[0] + &a;
        let cost = c.sqr().mean(..);
        let f = function([&a, &b]).output(&c).output(&grad(&cost, [&a])?[0]).output(&cost).compile()?;
        let mut sim = stage.simulator(&stage.function(&f)?)?;
        let given = (Value::from(ramp2(20, 31)).cast(dtype)?, Value::from(vec![0.5f32; 31]).cast(dtype)?);
        let want = f.call_reference(args![&given.0, &given.1])?;
        let got = sim.call(args![&given.0, &given.1])?;
        let share = if dtype == DType::F16 { 4e-3 } else { 1e-6 };
        for output in 0..3 {
            let want = &want[output];
            let most = want.to_f64s().iter().fold(0f64, |most, x| most.max(x.abs()));
            let bound = Bound::Within(Value::from_vec(want.shape(), vec![share * most; want.len()])?);
            near(&format!("{dtype}, output {output}"), &got[output], want, &bound)?;
        }
        let alone = function([&a, &b]).output(&c).compile()?;
        let plan = alone.optimize(stage.open()?)?.plan(args![&given.0, &given.1])?;
        ensure(plan.steps.len() == 1, || format!("one kernel: {:?}", plan.steps))?;
        let called = plan.source.contains("user_softplus_");
        ensure(called == compiles_c(&stage.open()?), || format!("whose code: {}", plan.source))?;
    }
    Ok(())
}

/// Two results of one expression, one of them an integer; a mask decides.
fn two_results(stage: &Stage) -> Result<()> {
    let (x, keep) = (vector::<f32>("x"), vector::<bool>("keep"));
    let whole = where_(&keep, x.floor(), -1.0).named("whole").cast(DType::I32).named("whole");
    let rest = (&x - x.floor()).named("rest");
    let text = "f32 below = floor(x); rest = x - below; whole = keep ? (i32)below : -1;";
    let split = KernelOp::elementwise("split", [&x, &keep], [&whole, &rest], text)?;
    let (v, k) = (vector::<f32>("v"), vector::<bool>("k"));
    let parts = split.apply([&v, &k]);
    let f = function([&v, &k]).output(&(&parts[0] + 1)).output(&parts[1]).compile()?;
    let mut sim = stage.simulator(&stage.function(&f)?)?;
    let given = || args![ramp(257), (0..257).map(|i| i % 3 != 0).collect::<Vec<bool>>()];
    let (got, want) = (sim.call(given())?, f.call_reference(given())?);
    equal("whole", &got[0], want[0].clone())?;
    equal("rest", &got[1], want[1].clone())
}

/// A file's kernels run only if they are allowed; they are saved again either way.
fn kernels_of_a_file(stage: &Stage) -> Result<()> {
    let v = vector::<f32>("v");
    let f = function([&v]).output(&seven()?.apply([&v])[0]).compile()?;
    let mut bytes = Bundle::new().with("f", &f).to_bytes()?;
    let takes_c = compiles_c(&stage.open()?);
    for allowed in [false, true, false, true] {
        let bundle = Bundle::from_bytes_with(&bytes, LoadOptions::new().allow_kernels(allowed))?;
        let mut sim = stage.simulator(&bundle["f"])?;
        let want = if allowed && takes_c { [7f32; 3] } else { [2.0, 4.0, 6.0] };
        equal(&format!("allowed: {allowed}"), &sim.call(args![vec![1f32, 2.0, 3.0]])?[0], want.to_vec())?;
        let why = match (allowed, takes_c) {
            (true, true) => None,
            (true, false) => Some("takes no kernels in its language"),
            (false, _) => Some("LoadOptions::allow_kernels"),
        };
        let text = sim.explain();
        let said = why.map_or(!text.contains("by its reference"), |why| text.contains(why));
        ensure(said, || format!("allowed: {allowed}: {text}"))?;
        // A Function runs by the reference.
        equal("the Function", &bundle["f"].call(args![vec![1f32]])?[0], vec![2f32])?;
        let again = bundle.to_bytes()?;
        ensure(again == bytes, || "the same file".into())?;
        bytes = again;
    }
    Ok(())
}

/// A reference that the kernel does not compute: `verify` finds the node, among others and within `run_n`.
fn lies(stage: &Stage) -> Result<()> {
    if !compiles_c(&stage.open()?) {
        return Ok(());
    }
    let v = vector::<f32>("v");
    let wrong = &seven()?.apply([&(&v + 1.0)])[0];
    let f = function([&v]).output(&(wrong.exp() * 0.0 + &v)).output(wrong.sqrt()).compile()?;
    let found = verify(&f, &stage.open()?, args![vec![1f32, 2.0]], Check::default())?;
    let Some(mismatch) = found.mismatch else { return Err(crate::stage::wrong("it found nothing")) };
    ensure(matches!(&mismatch.origin, Origin::Node { op, .. } if op == "seven"), || format!("{mismatch}"))
}

/// A shape rule other than the reference's shape is an error of whatever compares the two.
fn shape_rule(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let y = 2.0 * &x;
    let source =
        dialect("KERNEL void k(GLOBAL_MEM f32 *y, u64 n) { for (u64 i = 0; i < n; i++) y[i] = 1; }")?;
    let op = |extent: &Variable| {
        KernelOp::new("stretched", source.clone(), [&x], [&y])?.shape(&y, [extent])?.launch(
            "k",
            Grid::groups([&constant(1i64)], [1]),
            (&y, &y.extent(0)),
        )
    };
    let v = vector::<f32>("v");
    let longer = function([&v]).output(&op(&(x.extent(0) + 1))?.apply([&v])[0]).compile()?;
    let check = verify(&longer, &stage.open()?, args![vec![1f32, 2.0]], Check::default());
    fails("the rule lies", check, &["stretched", "(3,)", "(2,)"])?;
    let negative = function([&v]).output(&op(&(x.extent(0) - 5))?.apply([&v])[0]).compile()?;
    fails("a negative extent", negative.call_reference(args![vec![1f32]]), &["stretched", "-4"])
}
