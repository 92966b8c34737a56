//! Row-major products as the column-major calls of the libraries.
//!
//! A row-major matrix read by columns is its transpose, and `(a b)^T = b^T a^T`: so our `b` is given as the
//! library's first factor and our `a` as its second, and the result comes out row-major. [`plan`] finds the
//! transposition and the leading dimension of each factor from its strides; some strides have none.

use std::ffi::c_void;
use std::ptr;
use workalike_device::Matmul;
use workalike_kernels::DType;

/// Maximum number of products in one call; larger batches take several calls. (The third extent of a CUDA
/// grid has 16 bits.)
const BATCH: u64 = 65_535;

/// One factor as a column-major matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ColumnMajorFactor {
    pub(super) transposed: bool,
    pub(super) leading: i32,
    /// Elements from the factor of one product to that of the next.
    pub(super) step: i64,
}

/// A product in column-major form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::vendor) struct ColumnMajorMatmul {
    dtype: DType,
    batch: u64,
    m: i32,
    n: i32,
    k: i32,
    a: ColumnMajorFactor,
    b: ColumnMajorFactor,
    /// Factors of f32 may be rounded to TF32.
    fast: bool,
}

/// How a product is computed; `None` if the libraries cannot, or if the product is empty.
pub(super) fn plan(product: &Matmul) -> Option<ColumnMajorMatmul> {
    let Matmul { dtype, batch, m, n, k, a, b, fast } = product;
    let extent = |e: u64| i32::try_from(e).ok().filter(|e| *e > 0);
    let bytes = *dtype == DType::I8;
    if !dtype.is_float() && !bytes || extent(*batch).is_none() || bytes && !suits_bytes(product) {
        return None;
    }
    let [rows, columns, inner] = [extent(*m)?, extent(*n)?, extent(*k)?];
    // The transposes, by columns: a is (k, m), b is (n, k).
    let a = factor(*batch, [*k, *m], [a[0], a[2], a[1]])?;
    let b = factor(*batch, [*n, *k], [b[0], b[2], b[1]])?;
    Some(ColumnMajorMatmul { dtype: *dtype, batch: *batch, m: rows, n: columns, k: inner, a, b, fast: *fast })
}

/// Whether the units for matrices take a product of bytes: sums along neighbours, and vectors of 16.
fn suits_bytes(product: &Matmul) -> bool {
    let Matmul { batch, m, n, k, a, b, .. } = *product;
    let vectors = |steps: [i64; 3], own: usize, lines: u64| {
        let along_sum = if own == 1 { steps[2] } else { steps[1] };
        let step = if lines == 1 { 0 } else { steps[own] };
        along_sum == 1 && step % 16 == 0 && (batch == 1 || steps[0] % 16 == 0)
    };
    k.is_multiple_of(16) && n.is_multiple_of(16) && vectors(a, 1, m) && vectors(b, 2, n)
}

/// The dtype of the result of factors of this dtype: the sums of bytes are int32.
pub(super) fn result_of(factors: DType) -> DType {
    if factors == DType::I8 { DType::I32 } else { factors }
}

/// A `rows x columns` factor in column-major form; the steps are those along batch, rows and columns. `None`
/// for factors whose addresses decrease or overflow.
fn factor(
    batch: u64,
    [rows, columns]: [u64; 2],
    [batch_step, row_step, column_step]: [i64; 3],
) -> Option<ColumnMajorFactor> {
    // The step of an axis of extent 1 is not used; any leading dimension that is long enough will do.
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
    steps.iter().try_fold(1u64, |span, (extent, step)| {
        let step = if *extent == 1 { 0 } else { u64::try_from(*step).ok()? };
        span.checked_add((extent - 1).checked_mul(step)?)
    })?;
    Some(ColumnMajorFactor { transposed, leading, step: batch_step })
}

impl ColumnMajorMatmul {
    /// The calls that compute the product, each with its addresses. The addresses in `start` must be of
    /// memory as long as the operands; the addend is as long as the result, the bias as long as one
    /// of its rows.
    pub(super) fn calls(
        &self,
        start: MatmulAddresses,
    ) -> impl Iterator<Item = (MatmulCall, MatmulAddresses)> {
        let size = self.dtype.size() as u64;
        let result_size = result_of(self.dtype).size() as u64;
        (0..self.batch).step_by(BATCH as usize).map(move |first| {
            // No overflow: the operands lie in real memory.
            let moved = |from: u64, step: i64| from + first * step as u64 * size;
            let result_step = i64::from(self.m) * i64::from(self.n);
            let result_moved = |from: u64| from + first * result_step as u64 * result_size;
            let at = MatmulAddresses {
                a: moved(start.a, self.a.step),
                b: moved(start.b, self.b.step),
                result: result_moved(start.result),
                added: start.added.map(result_moved),
                ..start
            };
            let call = MatmulCall {
                dtype: self.dtype,
                count: (self.batch - first).min(BATCH) as i32,
                m: self.m,
                n: self.n,
                k: self.k,
                a: self.a,
                b: self.b,
                fast: self.fast,
                alignment: [at.a, at.b, at.result].map(alignment),
                added: at.added.map(|added| match added == at.result {
                    true => Added::InPlace,
                    false => Added::Apart(alignment(added)),
                }),
                bias: at.bias.map(alignment),
            };
            (call, at)
        })
    }
}

/// Addresses and scales of a product: `result = alpha * a b + beta * added + bias`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MatmulAddresses {
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) result: u64,
    /// Has the layout of the result. Equal to `result`, or does not overlap it.
    pub(super) added: Option<u64>,
    /// One element for each column of the result.
    pub(super) bias: Option<u64>,
    /// A number of the computing type, as `beta` is.
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

impl MatmulAddresses {
    /// A product without epilogue.
    pub(super) fn plain([a, b, result]: [u64; 3]) -> MatmulAddresses {
        MatmulAddresses { a, b, result, added: None, bias: None, alpha: 1.0, beta: 0.0 }
    }

    /// alpha and beta at the computing type of products of this dtype.
    pub(super) fn scales(&self, dtype: DType) -> Scales {
        let double = [self.alpha, self.beta];
        match dtype {
            DType::F64 => Scales::Double(double),
            DType::I8 => Scales::Whole(double.map(|scale| scale as i32)),
            _ => Scales::Single(double.map(|scale| scale as f32)),
        }
    }

    /// The same with the result in `scratch`. An addend in place then lies in `scratch` too, so that the real
    /// result is not touched.
    pub(super) fn into(self, scratch: u64) -> MatmulAddresses {
        let moved = |added| if added == self.result { scratch } else { added };
        MatmulAddresses { result: scratch, added: self.added.map(moved), ..self }
    }
}

/// alpha and beta at the computing type, as the libraries read them during a call.
pub(super) enum Scales {
    Single([f32; 2]),
    Double([f64; 2]),
    Whole([i32; 2]),
}

impl Scales {
    /// Addresses of alpha and beta, valid as long as `self` lives.
    pub(super) fn pointers(&self) -> [*const c_void; 2] {
        match self {
            Scales::Single([alpha, beta]) => [ptr::from_ref(alpha).cast(), ptr::from_ref(beta).cast()],
            Scales::Double([alpha, beta]) => [ptr::from_ref(alpha).cast(), ptr::from_ref(beta).cast()],
            Scales::Whole([alpha, beta]) => [ptr::from_ref(alpha).cast(), ptr::from_ref(beta).cast()],
        }
    }
}

/// The alignment of an address in bytes: the allocator's (256), a vector's (16), or less.
fn alignment(address: u64) -> u32 {
    match address.trailing_zeros() {
        8.. => 256,
        4..8 => 16,
        zeros => 1 << zeros,
    }
}

/// One call of a library, with all that may decide which algorithm is chosen for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MatmulCall {
    pub(super) dtype: DType,
    /// Number of products.
    pub(super) count: i32,
    pub(super) m: i32,
    pub(super) n: i32,
    pub(super) k: i32,
    pub(super) a: ColumnMajorFactor,
    pub(super) b: ColumnMajorFactor,
    /// Factors of f32 may be rounded to TF32.
    pub(super) fast: bool,
    /// Alignments of a, b and the result in bytes.
    pub(super) alignment: [u32; 3],
    /// The addend, which `beta` scales.
    pub(super) added: Option<Added>,
    /// Alignment of the bias in bytes.
    pub(super) bias: Option<u32>,
}

/// Where the addend of a call lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Added {
    /// Where the result is stored.
    InPlace,
    /// Elsewhere, at an address that is a multiple of this.
    Apart(u32),
}

/// One matrix of a call in memory, column-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatrixLayout {
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) leading: i64,
    /// Elements from the matrix of one product to that of the next.
    pub(super) step: i64,
}

impl MatmulCall {
    /// The library's first and second factor, and the result.
    pub(super) fn layouts(&self) -> [MatrixLayout; 3] {
        let [m, n, k] = [self.m, self.n, self.k].map(|e| u64::from(e.unsigned_abs()));
        let factor = |f: ColumnMajorFactor, rows, columns| {
            let (rows, columns) = if f.transposed { (columns, rows) } else { (rows, columns) };
            MatrixLayout { rows, columns, leading: f.leading.into(), step: f.step }
        };
        let result = MatrixLayout {
            rows: n,
            columns: m,
            leading: self.n.into(),
            step: i64::from(self.m) * i64::from(self.n),
        };
        [factor(self.b, n, k), factor(self.a, k, m), result]
    }

    /// Bytes of the result.
    pub(super) fn result_bytes(&self) -> u64 {
        [self.count, self.m, self.n].iter().fold(result_of(self.dtype).size() as u64, |product, extent| {
            product.saturating_mul(u64::from(extent.unsigned_abs()))
        })
    }

    /// Multiplications and additions.
    pub(super) fn flops(&self) -> f64 {
        2.0 * [self.count, self.m, self.n, self.k].map(f64::from).iter().product::<f64>()
    }
}

#[cfg(test)]
mod tests;
