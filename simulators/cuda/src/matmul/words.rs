//! A call in cuBLASLt's words: descriptors of the operation and of its matrices, and what is asked of a way to compute it.

use super::plan::{Call, Layout};
use cudarc::cublaslt::{result, sys};
use std::ptr;
use workalike::dtype::DType;
use workalike::error::DeviceError;
use workalike::rehost::device::DeviceResult;

/// How elements are stored, the type of alpha and beta, and how products are summed.
fn types(call: &Call) -> (sys::cudaDataType, sys::cudaDataType, sys::cublasComputeType_t) {
    use sys::cublasComputeType_t::{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F};
    use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_64F};
    match call.dtype {
        DType::F64 => (CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F),
        DType::F16 => (CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
        DType::BF16 => (CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F),
        _ if call.fast => (CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32),
        _ => (CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
    }
}

/// In which ways the parts of a product cut along k may be summed, as the library's mask.
pub(super) fn reductions(dtype: DType) -> u32 {
    use sys::cublasLtReductionScheme_t as Scheme;
    let computing = Scheme::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32;
    // Parts at the result's type would be rounded before they are summed.
    let stored = Scheme::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE as u32;
    if dtype.size() < 4 { computing } else { computing | stored }
}

/// A call as the library's objects.
pub(super) struct Words {
    operation: Operation,
    matrices: [Matrix; 3],
}

impl Words {
    /// A call in these words. cuBLASLt must be present.
    pub(super) fn of(device: &str, call: &Call) -> DeviceResult<Words> {
        use sys::cublasLtMatmulDescAttributes_t::{CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB};
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        let (stored, scale, computed) = types(call);
        let operation = result::create_matmul_desc(computed, scale);
        let operation = Operation(operation.map_err(|e| failed(device, "cublasLtMatmulDescCreate", e))?);
        for (attribute, factor) in
            [(CUBLASLT_MATMUL_DESC_TRANSA, call.b), (CUBLASLT_MATMUL_DESC_TRANSB, call.a)]
        {
            let transposed = i32::from(factor.transposed);
            // SAFETY: the descriptor is alive; one i32 is read.
            unsafe {
                result::set_matmul_desc_attribute(
                    operation.0,
                    attribute,
                    (&raw const transposed).cast(),
                    size_of::<i32>(),
                )
            }
            .map_err(|e| failed(device, "cublasLtMatmulDescSetAttribute", e))?;
        }
        let matrix = |layout: Layout| {
            let Layout { rows, columns, leading, step } = layout;
            let matrix = result::create_matrix_layout(stored, rows, columns, leading);
            let matrix = Matrix(matrix.map_err(|e| failed(device, "cublasLtMatrixLayoutCreate", e))?);
            if call.count > 1 {
                let failed = |e| failed(device, "cublasLtMatrixLayoutSetAttribute", e);
                let count = Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
                let offset = Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
                let (number, step) = (&raw const call.count, &raw const step);
                // SAFETY: the layout is alive; one i32 is read.
                unsafe {
                    result::set_matrix_layout_attribute(matrix.0, count, number.cast(), size_of::<i32>())
                }
                .map_err(failed)?;
                // SAFETY: the layout is alive; one i64 is read.
                unsafe {
                    result::set_matrix_layout_attribute(matrix.0, offset, step.cast(), size_of::<i64>())
                }
                .map_err(failed)?;
            }
            Ok(matrix)
        };
        let [first, second, result] = call.layouts();
        Ok(Words { operation, matrices: [matrix(first)?, matrix(second)?, matrix(result)?] })
    }

    /// What is done. Both live as long as the words.
    pub(super) fn operation(&self) -> sys::cublasLtMatmulDesc_t {
        self.operation.0
    }

    /// The library's first and second factor, and the result.
    pub(super) fn layouts(&self) -> [sys::cublasLtMatrixLayout_t; 3] {
        [self.matrices[0].0, self.matrices[1].0, self.matrices[2].0]
    }
}

struct Operation(sys::cublasLtMatmulDesc_t);
struct Matrix(sys::cublasLtMatrixLayout_t);

/// What is asked of a way to compute a call.
pub(super) struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    /// That of a call with so many bytes of workspace. cuBLASLt must be present.
    pub(super) fn of(device: &str, call: &Call, workspace: u64) -> DeviceResult<Preference> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
        let preference = result::create_matmul_pref();
        let preference =
            Preference(preference.map_err(|e| failed(device, "cublasLtMatmulPreferenceCreate", e))?);
        let failed = |e| failed(device, "cublasLtMatmulPreferenceSetAttribute", e);
        let [a, b, c] = call.alignment;
        // SAFETY: the preference is alive; one u64 is read.
        unsafe {
            result::set_matmul_pref_attribute(
                preference.0,
                Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const workspace).cast(),
                size_of::<u64>(),
            )
        }
        .map_err(failed)?;
        for (attribute, value) in [
            (Attribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions(call.dtype)),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c),
        ] {
            let value = ptr::from_ref(&value).cast();
            // SAFETY: the preference is alive; one u32 is read.
            unsafe { result::set_matmul_pref_attribute(preference.0, attribute, value, size_of::<u32>()) }
                .map_err(failed)?;
        }
        Ok(preference)
    }

    /// It, as long as it lives.
    pub(super) fn raw(&self) -> sys::cublasLtMatmulPreference_t {
        self.0
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once; it is the host's memory alone.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

fn failed(device: &str, call: &str, error: result::CublasError) -> DeviceError {
    DeviceError::driver(device, call, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_never_added_in_place_nor_summed_as_halves() {
        use sys::cublasLtReductionScheme_t as Scheme;
        let in_place = Scheme::CUBLASLT_REDUCTION_SCHEME_INPLACE as u32;
        let stored = Scheme::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE as u32;
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            assert_eq!(reductions(dtype) & in_place, 0);
            assert_eq!(reductions(dtype) & stored == 0, dtype.size() == 2, "{dtype:?}");
        }
    }
}
