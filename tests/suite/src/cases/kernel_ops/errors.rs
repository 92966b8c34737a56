//! Ops with kernels that are not well-formed.

use super::{compiles_c, dialect, seven};
use crate::stage::{Stage, ensure, fails};
use workalike::Result;
use workalike::custom::{Grid, KernelOp, KernelSource, LaunchInput, Local};
use workalike::prelude::*;

/// Every mistake is an error where it is made; it names the op, and what was expected.
pub(super) fn misuse(stage: &Stage) -> Result<()> {
    let (x, y, k) = (vector::<f32>("x"), vector::<f32>("y"), scalar::<i64>("k"));
    let out = &x * 2.0;
    let source = || -> Result<KernelSource> {
        dialect(
            "KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *z, u32 n) { if (GID_0 + LID_0 == 0) z[0] = x[0] + n; }
             KERNEL void local(LOCAL_MEM_ARG f32 *t, GLOBAL_MEM f32 *z) { t[0] = z[0]; }",
        )
    };
    let new = |inputs: &[&Variable], outputs: &[&Variable]| {
        KernelOp::new("op", source()?, inputs.iter().copied(), outputs.iter().copied())
    };
    fails("another input", new(&[&x], &[&(&x + &y)]), &["y", "not among the inputs"])?;
    fails("no input Variable", new(&[&out], &[&(&out + 1.0)]), &["op", "no input Variable"])?;
    fails("twice", new(&[&x, &x], &[&out]), &["given twice"])?;
    fails("passed on", new(&[&x], &[&x]), &["an input and an output"])?;
    fails("no outputs", new(&[&x], &[]), &["no outputs"])?;
    let state = shared("state", vec![1f32]);
    fails("a shared variable", new(&[&x], &[&(&x + &*state)]), &["state", "make that an input"])?;
    let nested = &seven()?.apply([&x])[0];
    fails("kernels within", new(&[&x], &[nested]), &["seven", "public ops"])?;
    let n = x.extent(0);
    let launch = |kernel: &str, size: &Variable, args: Vec<LaunchInput>| {
        new(&[&x, &k], &[&(&out + k.cast(DType::F32))])?.launch(kernel, Grid::items([size]), args)
    };
    let ok = || -> Vec<LaunchInput> { vec![(&x).into(), (&out).into(), (&n).into()] };
    fails("a name", launch("q", &n, ok()), &["launch of q", "k, local"])?;
    fails("too few", launch("k", &n, vec![(&x).into()]), &["expected 3 arguments (x, z, n), got 1"])?;
    fails("no array of it", launch("k", &n, ok()), &["`z`", "an array of float32 to write", "output"])?;
    let op = new(&[&x, &k], &[&out])?;
    let with = |args: Vec<LaunchInput>| op.clone().launch("k", Grid::items([&n]), args);
    fails("an input that is written", with(vec![(&x).into(), (&x).into(), (&n).into()]), &["`z`", "output"])?;
    fails("a dtype", with(vec![(&k).into(), (&out).into(), (&n).into()]), &["`x`", "float32", "int64"])?;
    fails("an array as a number", with(vec![(&x).into(), (&out).into(), (&x).into()]), &["`n`", "uint32"])?;
    fails("a fraction", with(vec![(&x).into(), (&out).into(), 0.5.into()]), &["`n`"])?;
    fails("local memory", with(vec![Local(4).into(), (&out).into(), (&n).into()]), &["`x`", "local"])?;
    let local = |args: Vec<LaunchInput>| op.clone().launch("local", Grid::items([&n]), args);
    fails("no local memory", local(vec![(&x).into(), (&out).into()]), &["`t`", "Local"])?;
    let by_value = op.clone().launch("k", Grid::items([&k]), ok());
    fails("a size by a value", by_value, &["value of k", "depend on shapes"])?;
    let wide = op.clone().launch("k", Grid::items([&x]), ok());
    fails("an array as a size", wide, &["0-d integer"])?;
    fails("no launches", op.try_apply([&x, &k]), &["op", "launch"])?;
    let op = with(ok())?;
    fails("an op of one input", op.try_apply([&x]), &["op", "2 inputs"])?;
    fails("another dtype", op.try_apply([&x, &x]), &["op", "int64"])?;
    fails("a shape of another rank", op.clone().shape(&out, [&n, &n]), &["2 extents for 1 axes"])?;
    fails("a shape of no output", op.clone().shape(&y, [&n]), &["no output"])?;
    fails("gradients", op.clone().grad(|_, _, _| vec![None]), &["1 gradients for 2 inputs"])?;
    let other = op.clone().grad(|_, _, g| vec![Some(g[0].sum(..)), None]);
    fails("a gradient of another rank", other, &["gradient", "float32"])?;
    let source = dialect("KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *z, u64 n) {}")?;
    fails("other parameters", op.clone().or_source(source), &["k", "same parameters"])?;
    fails("no name", KernelOp::elementwise("op", [&x], [&out], "y = x;"), &["op", "no name"])?;
    let odd = out.named("a b");
    fails("no name of C", KernelOp::elementwise("op", [&x], [&odd], "y = x;"), &["`a b`"])?;
    negative_sizes(stage)?;
    does_not_compile(stage)
}

/// A size that is negative, or that a parameter does not hold, at run time: the reference runs.
fn negative_sizes(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let y = 2.0 * &x;
    let source = dialect("KERNEL void k(GLOBAL_MEM f32 *y, u8 n) { y[0] = n; }")?;
    let size = x.extent(0) - 3;
    let op = KernelOp::new("sized", source, [&x], [&y])?.launch("k", Grid::items([&size]), (&y, &size))?;
    let v = vector::<f32>("v");
    let f = function([&v]).output(&op.apply([&v])[0]).compile()?;
    if !compiles_c(&stage.open()?) {
        return Ok(());
    }
    fails("strict", stage.simulator(&f)?.call(args![vec![1f32]]), &["sized", "-2"])?;
    let mut sim = f.optimize(stage.open()?)?;
    crate::stage::equal("by the reference", &sim.call(args![vec![1f32]])?[0], vec![2f32])
}

/// The compiler's message names the op, the line of its text, and the word.
fn does_not_compile(stage: &Stage) -> Result<()> {
    if !compiles_c(&stage.open()?) {
        return Ok(());
    }
    let x = vector::<f32>("x");
    let y = (2.0 * &x).named("y");
    let op = KernelOp::elementwise("broken", [&x], [&y], "f32 t = x;\n\ny = t + no_such_name;")?;
    let v = vector::<f32>("v");
    let f = function([&v]).output(&op.apply([&v])[0]).compile()?;
    let called = stage.simulator(&f)?.call(args![vec![1f32]]);
    fails("an elementwise op", called, &["no_such_name", "broken:3 | y = t + no_such_name;"])?;
    let source = dialect("KERNEL void k(GLOBAL_MEM f32 *y)\n{\n    y[0] = no_such_name;\n}")?;
    let op = KernelOp::new("broken", source, [&x], [&y])?.launch("k", Grid::items([&x.extent(0)]), [&y])?;
    let f = function([&v]).output(&op.apply([&v])[0]).compile()?;
    let called = stage.simulator(&f)?.call(args![vec![1f32]]);
    let words = ["broken (node #0)", "kernel k", "kernels:3 |     y[0] = no_such_name;", "errors.rs"];
    fails("a kernel", called, &words)?;
    // The Function is as it was.
    crate::stage::equal("the Function", &f.call(args![vec![1f32]])?[0], vec![2f32])
}

/// A file with a byte changed is an error, unless the byte is between two sections; it never panics.
pub(super) fn damaged_files(stage: &Stage) -> Result<()> {
    let v = vector::<f32>("v");
    let f = function([&v]).output(&seven()?.apply([&v])[0]).compile()?;
    let bytes = Bundle::new().with("f", &f).to_bytes()?;
    let options = || LoadOptions::new().allow_kernels(true);
    let mut found = 0;
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x15;
        found += usize::from(Bundle::from_bytes_with(&damaged, options()).is_err());
    }
    ensure(found > bytes.len() / 14, || format!("{found} errors in {} bytes", bytes.len()))?;
    stage.simulator(&Bundle::from_bytes_with(&bytes, options())?["f"])?.call(args![vec![1f32]]).map(drop)
}
