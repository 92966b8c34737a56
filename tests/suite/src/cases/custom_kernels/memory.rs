//! Memory of groups, atomic adds, constants, and variables of a module.

use super::{dialect, kernel, on, own_language, ramp};
use crate::stage::{Stage, ensure, equal, fails};
use workalike::Result;
use workalike::custom::{
    Argument, CopyIn, CopyInOut, CopyOut, Grid, KernelSource, Language, Module, kernel_args,
};
use workalike::prelude::{Array1, DType, array};

/// Sums of groups, in an array of the group that the launch sizes, and in one that the text sizes.
pub(super) fn group_memory(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let text = "KERNEL void sums(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *out, LOCAL_MEM_ARG f32 *part,
                                     LOCAL_MEM_ARG u32 *seen)
            {
                LOCAL_MEM f32 fixed[64];
                part[LID_0] = fixed[LID_0] = x[GID_0 * LDIM_0 + LID_0];
                seen[LID_0] = 1;
                local_barrier();
                for (u32 half_ = LDIM_0 / 2; half_ > 0; half_ /= 2) {
                    if (LID_0 < half_) {
                        part[LID_0] += part[LID_0 + half_];
                        fixed[LID_0] += fixed[LID_0 + half_];
                        seen[LID_0] += seen[LID_0 + half_];
                    }
                    local_barrier();
                }
                if (LID_0 == 0) out[GID_0] = seen[0] == 64 && part[0] == fixed[0] ? part[0] : -1;
            }";
        let sums = kernel(device, text)?;
        let x = ramp(640);
        let mut out = Array1::<f32>::zeros(10);
        let local = || Argument::Local(64 * 4);
        sums.launch(Grid::groups([10], [64]), kernel_args![CopyIn(&x), CopyOut(&mut out), local(), local()])?;
        let want: Array1<f32> = x.chunks(64).map(|group| group.iter().sum()).collect();
        ensure(out == want, || format!("{out}, not {want}"))
    })
}

/// A histogram, and a sum of floats.
pub(super) fn atomic_adds(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let count = kernel(
            device,
            "KERNEL void histogram(GLOBAL_MEM const u8 *x, GLOBAL_MEM u32 *bins, GLOBAL_MEM f32 *total, u32 n)
             {
                 const u32 i = GID_0 * LDIM_0 + LID_0;
                 if (i < n) {
                     atomic_add_u32(bins + x[i] % 10, 1);
                     atomic_add_f32(total, 0.5f);
                 }
             }",
        )?;
        let x: Vec<u8> = (0..5000u32).map(|i| (i * i % 251) as u8).collect();
        let (mut bins, mut total) = (Array1::<u32>::zeros(10), Array1::<f32>::zeros(1));
        let args = kernel_args![CopyIn(&x), CopyInOut(&mut bins), CopyInOut(&mut total), 5000];
        count.launch(Grid::items([5000]), args)?;
        let mut want = Array1::<u32>::zeros(10);
        x.iter().for_each(|x| want[usize::from(x % 10)] += 1);
        ensure(bins == want && total[0] == 2500.0, || format!("{bins} {total}, not {want}"))
    })
}

/// Arrays of numbers in constant memory, in the dialect and in each language.
pub(super) fn constants(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let own = own_language(device);
        let raw = match own {
            Some(Language::CudaCpp) => {
                "__global__ void pick(float *x, long long *y) { int i = threadIdx.x; x[i] = table[2 - i]; y[i] = limits[i]; }"
            }
            _ => {
                "__kernel void pick(__global float *x, __global long *y) { int i = get_local_id(0); x[i] = table[2 - i]; y[i] = limits[i]; }"
            }
        };
        let dialect = "KERNEL void pick(GLOBAL_MEM f32 *x, GLOBAL_MEM i64 *y) { x[LID_0] = table[2 - LID_0]; y[LID_0] = limits[LID_0]; }";
        let raw = own.map(|own| (own, raw));
        for (language, text) in [(Language::Dialect, dialect)].into_iter().chain(raw) {
            let source =
                KernelSource::new(language, text, &[]).map_err(|e| crate::stage::wrong(e.to_string()))?;
            let source = source.constant("table", &[0.1f32, -2.5, 1e-30])?;
            let source = source.constant("limits", &[i64::MIN, i64::MAX, -1])?;
            let (mut x, mut y) = (Array1::<f32>::zeros(3), Array1::<i64>::zeros(3));
            let pick = Module::new(device, source)?.kernel("pick")?;
            pick.launch(Grid::groups([1], [3]), kernel_args![CopyOut(&mut x), CopyOut(&mut y)])?;
            ensure(x == array![1e-30f32, -2.5, 0.1] && y == array![i64::MIN, i64::MAX, -1], || {
                format!("{language:?}: {x} {y}")
            })?;
        }
        Ok(())
    })
}

/// CUDA's variables are arrays of the host; other devices have none, and say what to do.
pub(super) fn globals(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        if !device.properties().id.starts_with("cuda") {
            let text = "KERNEL void k(GLOBAL_MEM f32 *x) { x[0] = 1; }";
            let module = Module::new(device, dialect(text)?)?;
            let global = module.global("table", DType::F32, &[4]);
            return fails("a variable", global, &["table", "pass an array", "not supported"]);
        }
        let text = "__constant__ float table[4];\n__device__ int calls;\n__global__ void k(float *x) { x[threadIdx.x] = table[threadIdx.x]; if (threadIdx.x == 0) calls += 1; }";
        let source = KernelSource::new(Language::CudaCpp, text, &[])
            .map_err(|e| crate::stage::wrong(e.to_string()))?;
        let module = Module::new(device, source)?;
        let (table, calls) =
            (module.global("table", DType::F32, &[4])?, module.global("calls", DType::I32, &[])?);
        fails("another size", module.global("table", DType::F32, &[5]), &["table", "16 bytes", "20"])?;
        fails("no variable", module.global("q", DType::F32, &[5]), &["cuModuleGetGlobal(q)"])?;
        let kernel = module.kernel("k")?;
        calls.fill(0i32)?;
        for scale in [1f32, 2.0] {
            let numbers = [1f32, 2.0, 3.0, 4.0].map(|x| x * scale);
            table.set(numbers.to_vec())?;
            let mut x = Array1::<f32>::zeros(4);
            kernel.launch(Grid::groups([1], [4]), kernel_args![CopyOut(&mut x)])?;
            ensure(x.to_vec() == numbers, || format!("{x}"))?;
        }
        equal("calls", &calls.to_value()?, 2i32)
    })
}
