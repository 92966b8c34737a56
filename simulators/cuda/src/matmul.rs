//! Matrix products through cuBLAS.
//!
//! cuBLAS thinks in columns. A row-major matrix read by columns is its transpose, and `(a b)^T = b^T a^T`: so our `b` is given as
//! cuBLAS's first factor and our `a` as its second, and the result comes out row-major. [`plan`] finds for each factor
//! the transposition and leading dimension that its strides mean, or says that there are none.
//!
//! No f32 product goes through TF32 unless it is asked to be fast, and halves accumulate in f32 throughout. The workspace is ours, so that a captured
//! product allocates nothing and gives the same bits each time.

use crate::context::{Queue, lock};
use crate::memory::CudaMemory;
use crate::order::Range;
use cudarc::cublas::{result, sys};
use cudarc::driver::sys::CUdeviceptr;
use std::collections::HashSet;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex};
use workalike::dtype::DType;
use workalike::error::DeviceError;
use workalike::rehost::device::{DeviceResult, Matmul, Memory};

/// Products in one call at most; larger batches take several calls. (The grid's third extent is 16 bits wide.)
const BATCH: u64 = 65_535;

/// One factor as cuBLAS sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Factor {
    transposed: bool,
    leading: i32,
    /// Elements from one product's factor to the next one's.
    batch: i64,
    /// Elements from the first to one past the last.
    span: u64,
}

/// A product as cuBLAS sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    dtype: DType,
    batch: u64,
    m: i32,
    n: i32,
    k: i32,
    a: Factor,
    b: Factor,
    /// Factors of f32 may be rounded to TF32.
    fast: bool,
}

/// How cuBLAS computes a product; `None` if it cannot, or if the product is empty.
pub(crate) fn plan(product: &Matmul) -> Option<Plan> {
    let Matmul { dtype, batch, m, n, k, a, b, fast } = product;
    let extent = |e: u64| i32::try_from(e).ok().filter(|e| *e > 0);
    if !dtype.is_float() || extent(*batch).is_none() {
        return None;
    }
    // The transposes, by columns: a is (k, m), b is (n, k).
    Some(Plan {
        dtype: *dtype,
        batch: *batch,
        m: extent(*m)?,
        n: extent(*n)?,
        k: extent(*k)?,
        a: factor(*batch, [*k, *m], [a[0], a[2], a[1]])?,
        b: factor(*batch, [*n, *k], [b[0], b[2], b[1]])?,
        fast: *fast,
    })
}

/// A `rows x columns` factor by columns, with steps along batch, row, column.
fn factor(
    batch: u64,
    [rows, columns]: [u64; 2],
    [batch_step, row_step, column_step]: [i64; 3],
) -> Option<Factor> {
    // An axis of extent 1 has no step; any leading dimension that is long enough will do.
    let leading = |fast: u64, slow: u64, fast_step: i64, slow_step: i64| {
        if fast != 1 && fast_step != 1 {
            return None;
        }
        let leading = if slow == 1 { fast } else { u64::try_from(slow_step).ok()? };
        i32::try_from(leading).ok().filter(|_| leading >= fast)
    };
    let (transposed, leading) = match leading(rows, columns, row_step, column_step) {
        Some(leading) => (false, leading),
        None => (true, leading(columns, rows, column_step, row_step)?),
    };
    let batch_step = if batch == 1 { 0 } else { batch_step };
    let steps = [(batch, batch_step), (rows, row_step), (columns, column_step)];
    let span = steps.iter().try_fold(1u64, |span, (extent, step)| {
        let step = if *extent == 1 { 0 } else { u64::try_from(*step).ok()? };
        span.checked_add((extent - 1).checked_mul(step)?)
    })?;
    Some(Factor { transposed, leading, batch: batch_step, span })
}

impl Plan {
    /// Bytes that the regions of a, b and c must at least have.
    pub(crate) fn bytes(&self) -> [u64; 3] {
        let size = self.dtype.size() as u64;
        let c = self.batch.saturating_mul(self.m as u64 * self.n as u64);
        [self.a.span, self.b.span, c].map(|elements| elements.saturating_mul(size))
    }
}

/// The cuBLAS handle of one device object, its workspace, and which products were run once.
pub(crate) struct Blas {
    handle: sys::cublasHandle_t,
    /// The device's stream, on which products are warmed up.
    queue: Arc<Queue>,
    /// The stream on which they are captured.
    capture: Arc<Queue>,
    workspace: Arc<CudaMemory>,
    warm: Mutex<HashSet<Matmul>>,
}

// SAFETY: a handle may be used from any thread, by one at a time: all its uses are made while the device object's
// recorder is locked.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

impl Blas {
    /// A new handle for two streams, with memory of the first as its workspace. cuBLAS must be present and the context current.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> DeviceResult<Blas> {
        // NVIDIA's recommendation: 32 MiB from Hopper on, 4 MiB before.
        let bytes = if queue.context.capability >= 90 { 32 << 20 } else { 4 << 20 };
        let workspace = CudaMemory::new(queue, bytes)?;
        let handle = {
            let _apart = queue.context.capture();
            result::create_handle().map_err(|e| DeviceError::driver(queue.id(), "cublasCreate", e))?
        };
        let blas = Blas {
            handle,
            queue: queue.clone(),
            capture: capture.clone(),
            workspace,
            warm: Mutex::new(HashSet::new()),
        };
        let mode = sys::cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        // SAFETY: the handle is alive.
        blas.check("cublasSetMathMode", unsafe { sys::cublasSetMathMode(blas.handle, mode) })?;
        Ok(blas)
    }

    /// From now on products are captured.
    pub(crate) fn to_capture(&self) -> DeviceResult<()> {
        self.set_queue(&self.capture)
    }

    /// Where the workspace lies.
    pub(crate) fn workspace(&self) -> Range {
        Range { start: self.workspace.pointer(), bytes: self.workspace.bytes() }
    }

    fn set_queue(&self, queue: &Queue) -> DeviceResult<()> {
        // SAFETY: handle and stream are alive; the driver's and cuBLAS's stream types are the same.
        let set = unsafe { sys::cublasSetStream_v2(self.handle, queue.stream.cu_stream().cast()) };
        self.check("cublasSetStream", set)?;
        // Setting the stream takes the workspace away again.
        let bytes = self.workspace.bytes() as usize;
        // SAFETY: the workspace holds that many bytes and lives as long as the handle and as every recording made with it.
        let set = unsafe {
            sys::cublasSetWorkspace_v2(self.handle, self.workspace.pointer() as *mut c_void, bytes)
        };
        self.check("cublasSetWorkspace", set)
    }

    /// Runs a product once on the device's stream, into scratch memory, unless that was done before: cuBLAS loads kernels
    /// when they are first used, which a capture may not do. The factors are only read.
    pub(crate) fn warm_up(
        &self,
        product: &Matmul,
        plan: &Plan,
        a: CUdeviceptr,
        b: CUdeviceptr,
    ) -> DeviceResult<()> {
        if lock(&self.warm).contains(product) {
            return Ok(());
        }
        let scratch = match CudaMemory::new(&self.queue, plan.bytes()[2]) {
            Ok(scratch) => scratch,
            // Most kernels load within a capture as well; a capture that does break says so.
            Err(DeviceError::OutOfMemory { .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        self.set_queue(&self.queue)?;
        self.enqueue(plan, a, b, scratch.pointer())?;
        lock(&self.warm).insert(product.clone());
        Ok(())
    }

    /// Enqueues a product. The addresses are of memory of the queue, as long as [`Plan::bytes`] says.
    pub(crate) fn enqueue(
        &self,
        plan: &Plan,
        a: CUdeviceptr,
        b: CUdeviceptr,
        c: CUdeviceptr,
    ) -> DeviceResult<()> {
        let size = plan.dtype.size() as u64;
        let result_step = i64::from(plan.m) * i64::from(plan.n);
        let mut first = 0;
        while first < plan.batch {
            let count = (plan.batch - first).min(BATCH);
            // No overflow: `Plan::bytes` was compared with real memory.
            let at = |base: u64, step: i64| base + first * step as u64 * size;
            self.call(plan, count as i32, at(a, plan.a.batch), at(b, plan.b.batch), at(c, result_step))?;
            first += count;
        }
        Ok(())
    }

    fn call(&self, plan: &Plan, count: i32, a: u64, b: u64, c: u64) -> DeviceResult<()> {
        use sys::cublasComputeType_t::{
            CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F,
        };
        use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_64F};
        let (stored, computed) = match plan.dtype {
            DType::F64 => (CUDA_R_64F, CUBLAS_COMPUTE_64F),
            DType::F16 => (CUDA_R_16F, CUBLAS_COMPUTE_32F),
            DType::BF16 => (CUDA_R_16BF, CUBLAS_COMPUTE_32F),
            _ if plan.fast => (CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32),
            _ => (CUDA_R_32F, CUBLAS_COMPUTE_32F),
        };
        // alpha and beta are read during the call, at the computing type.
        let (single, double) = ([1f32, 0f32], [1f64, 0f64]);
        let [alpha, beta]: [*const c_void; 2] = if plan.dtype == DType::F64 {
            [(&raw const double[0]).cast(), (&raw const double[1]).cast()]
        } else {
            [(&raw const single[0]).cast(), (&raw const single[1]).cast()]
        };
        let operation = |f: Factor| match f.transposed {
            false => sys::cublasOperation_t::CUBLAS_OP_N,
            true => sys::cublasOperation_t::CUBLAS_OP_T,
        };
        let algorithm = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        let Plan { m, n, k, a: left, b: right, .. } = *plan;
        if count == 1 {
            // SAFETY: the addresses cover what the plan reads and writes; alpha and beta are of the computing type.
            let status = unsafe {
                sys::cublasGemmEx(
                    self.handle,
                    operation(right),
                    operation(left),
                    n,
                    m,
                    k,
                    alpha,
                    b as *const c_void,
                    stored,
                    right.leading,
                    a as *const c_void,
                    stored,
                    left.leading,
                    beta,
                    c as *mut c_void,
                    stored,
                    n,
                    computed,
                    algorithm,
                )
            };
            return self.check("cublasGemmEx", status);
        }
        // SAFETY: as above.
        let status = unsafe {
            sys::cublasGemmStridedBatchedEx(
                self.handle,
                operation(right),
                operation(left),
                n,
                m,
                k,
                alpha,
                b as *const c_void,
                stored,
                right.leading,
                right.batch,
                a as *const c_void,
                stored,
                left.leading,
                left.batch,
                beta,
                c as *mut c_void,
                stored,
                n,
                i64::from(m) * i64::from(n),
                count,
                computed,
                algorithm,
            )
        };
        self.check("cublasGemmStridedBatchedEx", status)
    }

    fn check(&self, call: &str, status: sys::cublasStatus_t) -> DeviceResult<()> {
        status.result().map_err(|e| DeviceError::driver(self.queue.id(), call, e))
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks what the handle held; nobody depends on it.
            let _ = unsafe { result::destroy_handle(self.handle) };
        }
    }
}

impl fmt::Debug for Blas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blas({})", self.queue.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(batch, m, k) @ (batch, k, n)` by definition, and by what cuBLAS does with a plan, on small integers.
    fn check(product: Matmul) {
        let plan = plan(&product).unwrap_or_else(|| panic!("no plan for {product:?}"));
        let (m, n, k) = (product.m as i64, product.n as i64, product.k as i64);
        let fill =
            |seed: i64, span: u64| (0..span as i64).map(|i| (i * 7 + seed) % 11 - 5).collect::<Vec<i64>>();
        let (a, b) = (fill(1, plan.a.span), fill(2, plan.b.span));
        let by_columns = |f: &Factor, data: &[i64], batch: i64, row: i64, column: i64| {
            let ld = i64::from(f.leading);
            let at = if f.transposed { column + row * ld } else { row + column * ld };
            data[(batch * f.batch + at) as usize]
        };
        for z in 0..product.batch as i64 {
            for i in 0..m {
                for j in 0..n {
                    let want: i64 = (0..k)
                        .map(|l| {
                            let left = a[(z * product.a[0] + i * product.a[1] + l * product.a[2]) as usize];
                            left * b[(z * product.b[0] + l * product.b[1] + j * product.b[2]) as usize]
                        })
                        .sum();
                    let got: i64 = (0..k)
                        .map(|l| by_columns(&plan.b, &b, z, j, l) * by_columns(&plan.a, &a, z, l, i))
                        .sum();
                    assert_eq!(got, want, "{product:?} at {z} {i} {j}");
                }
            }
        }
        for (f, fast_n, fast_t) in [(&plan.a, k, m), (&plan.b, n, k)] {
            assert!(i64::from(f.leading) >= if f.transposed { fast_t } else { fast_n }, "{product:?}: {f:?}");
        }
    }

    #[test]
    fn every_layout_that_is_planned_is_right() {
        for (m, n, k) in [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 5), (1, 1, 1)] {
            let (mi, ni, ki) = (m as i64, n as i64, k as i64);
            for a in [[mi * ki, ki, 1], [mi * ki, 1, mi], [0, ki + 2, 1], [0, 1, mi + 3]] {
                for b in [[ki * ni, ni, 1], [ki * ni, 1, ki], [0, ni + 1, 1], [0, 1, ki + 4]] {
                    for batch in [1, 3] {
                        check(Matmul { dtype: DType::F32, batch, m, n, k, a, b, fast: false });
                    }
                }
            }
        }
    }

    #[test]
    fn steps_of_extent_one_do_not_matter() {
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 1,
            n: 3,
            k: 2,
            a: [9, 0, 1],
            b: [0, 3, 1],
            fast: false,
        });
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 2,
            n: 1,
            k: 2,
            a: [0, 2, 1],
            b: [0, 1, 0],
            fast: false,
        });
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 2,
            n: 1,
            k: 2,
            a: [0, 2, 1],
            b: [0, 5, 0],
            fast: false,
        });
        check(Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 2,
            n: 2,
            k: 1,
            a: [0, 7, 0],
            b: [0, 0, 1],
            fast: false,
        });
    }

    #[test]
    fn what_cublas_cannot_do_has_no_plan() {
        let good =
            Matmul { dtype: DType::F32, batch: 2, m: 2, n: 2, k: 2, a: [4, 2, 1], b: [4, 2, 1], fast: false };
        assert!(plan(&good).is_some());
        for bad in [
            Matmul { dtype: DType::I32, ..good.clone() },
            Matmul { k: 0, ..good.clone() },
            Matmul { batch: 0, ..good.clone() },
            Matmul { m: 1 << 31, ..good.clone() },
            Matmul { a: [4, 4, 2], ..good.clone() },
            Matmul { a: [4, 0, 1], ..good.clone() },
            Matmul { a: [4, -2, 1], ..good.clone() },
            Matmul { b: [-4, 2, 1], ..good.clone() },
            Matmul { b: [4, 1 << 31, 1], ..good.clone() },
        ] {
            assert_eq!(plan(&bad), None, "{bad:?}");
        }
    }
}
