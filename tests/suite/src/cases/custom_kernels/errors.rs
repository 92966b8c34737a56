//! Arguments that do not fit, and sources that do not compile.

use super::{compiles_c, dialect, kernel, on, ramp};
use crate::stage::{Stage, equal, fails};
use workalike::Result;
use workalike::custom::{Argument, CopyIn, Grid, Module, kernel_args};
use workalike::prelude::{DType, DeviceArray};

pub(super) fn misfits(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let text = "KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, i32 n, LOCAL_MEM_ARG f32 *t)
                    { if (n > 0 && LID_0 == 0) { t[0] = x[0]; y[0] = t[0]; } }";
        let module = Module::new(device, dialect(text)?)?;
        let k = module.kernel("k")?;
        let (x, y) =
            (DeviceArray::zeros(device, DType::F32, &[4])?, DeviceArray::zeros(device, DType::F32, &[4])?);
        let wide = DeviceArray::zeros(device, DType::I64, &[4])?;
        let other = DeviceArray::zeros(&stage.open()?, DType::F32, &[4])?;
        let local = || Argument::Local(16);
        let run = |args| k.launch(Grid::items([4]), args);
        fails("a kernel that is not there", module.kernel("q"), &["q", "kernels: k"])?;
        fails("too few", run(kernel_args![&x, &y, 1]), &["k: expected 4 arguments (x, y, n, t), found 3"])?;
        let misfit = "`y`: expected an array of float32 to write, found an array of int64 [4]";
        fails("a dtype", run(kernel_args![&x, &wide, 1, local()]), &[misfit])?;
        fails("a number", run(kernel_args![1, &y, 1, local()]), &["`x`: expected an array of float32"])?;
        fails("an array", run(kernel_args![&x, &y, &x, local()]), &["`n`: expected a number of int32"])?;
        fails("too large", run(kernel_args![&x, &y, 1u64 << 40, local()]), &["`n`", "1099511627776"])?;
        fails("a fraction", run(kernel_args![&x, &y, 0.5, local()]), &["`n`", "0.5 of float64"])?;
        fails("no size", run(kernel_args![&x, &y, 1, 4]), &["`t`: expected bytes of local memory"])?;
        fails("another stream", run(kernel_args![&other, &y, 1, local()]), &["`x`", "another stream"])?;
        let host = k.prepare(Grid::items([4]), kernel_args![CopyIn(&[1f32]), &y, 1, local()]);
        fails("the host's memory", host, &["k", "arrays on the device"])?;
        let launch = |groups: [u64; 3], items: [u32; 3]| {
            k.launch(Grid::groups(groups, items), kernel_args![&x, &y, 1, local()])
        };
        fails("a group too large", launch([1, 1, 1], [1 << 20, 1, 1]), &["k"])?;
        fails("a grid too large", launch([1, u64::MAX, 1], [1, 2, 1]), &["k", "18446744073709551615"])?;
        fails("an empty group", launch([1, 1, 1], [0, 1, 1]), &["k", "group", "at least one work item"])?;
        let all = Argument::Local(1 << 40);
        let local = k.launch(Grid::groups([1], [1]), kernel_args![&x, &y, 1, all]);
        fails("too much memory of a group", local, &["k"])?;
        // No groups: nothing runs. And the kernel still works.
        launch([0, 1, 1], [1, 1, 1])?;
        run(kernel_args![&x, &y, 1, Argument::Local(16)])?;
        equal("after all errors", &y.to_value()?, vec![0f32; 4])
    })
}

pub(super) fn bad_sources(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let text = "KERNEL void k(GLOBAL_MEM f32 *x)\n{\n    x[0] = no_such_name;\n}\n";
        fails("a name", Module::new(device, dialect(text)?), &["did not compile", "no_such_name", "3"])?;
        fails("no kernel", dialect("void f(void) {}"), &["expected a kernel"])?;
        fails("an open bracket", dialect("KERNEL void k(GLOBAL_MEM f32 *x"), &["line 1", "closing bracket"])?;
        let text = "\n// KERNEL void q(int);\nKERNEL void k(GLOBAL_MEM f32 *x,\n  vector<int> &v) {}";
        fails("a parameter", dialect(text), &["line 4", "vector<int> &v"])
    })
}

/// What is undefined on a GPU is an error on the host, which names the line; the device works on.
pub(super) fn faults(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        if compiles_c(device) {
            return Ok(());
        }
        let text = "KERNEL void shift(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, i32 by)\n{\n    y[LID_0] = x[LID_0 + 12 / by];\n}";
        let shift = kernel(device, text)?;
        let (x, y) = (ramp(8), DeviceArray::zeros(device, DType::F32, &[4])?);
        let run = |by: i32| shift.launch(Grid::groups([1], [4]), kernel_args![CopyIn(&x), &y, by]);
        let words = [
            "kernels:3: x[8] is out of range: `x` has 8 elements",
            "work item [2, 0, 0]",
            "kernels:3 |     y[LID_0]",
        ];
        fails("an index", run(2), &words)?;
        fails("a division", run(0), &["kernels:3: a division by zero", "kernel shift"])?;
        let text = "KERNEL void wait(GLOBAL_MEM f32 *x) { if (LID_0 == 0) local_barrier(); }";
        let wait = kernel(device, text)?.launch(Grid::groups([1], [2]), kernel_args![&y]);
        fails("a barrier", wait, &["not all work items of the group reach this barrier", "kernel wait"])?;
        run(3)?;
        equal("after all errors", &y.to_value()?, x[4..].to_vec())
    })
}
