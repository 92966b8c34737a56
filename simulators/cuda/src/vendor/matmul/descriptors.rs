//! A call as cuBLASLt's objects: descriptors of the operation and its matrices, and the preferences for the
//! choice of an algorithm.

use super::column_major::{Added, MatmulCall, MatrixLayout, result_of};
use cudarc::cublaslt::{result, sys};
use std::ptr;
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::DType;

/// The type of a matrix's elements.
fn stored(dtype: DType) -> sys::cudaDataType {
    use sys::cudaDataType_t::{CUDA_R_8I, CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_32I, CUDA_R_64F};
    match dtype {
        DType::F64 => CUDA_R_64F,
        DType::F16 => CUDA_R_16F,
        DType::BF16 => CUDA_R_16BF,
        DType::I8 => CUDA_R_8I,
        DType::I32 => CUDA_R_32I,
        _ => CUDA_R_32F,
    }
}

/// The type of the result's elements, the type of alpha and beta, and the type of sums.
fn types(call: &MatmulCall) -> (sys::cudaDataType, sys::cudaDataType, sys::cublasComputeType_t) {
    use sys::cublasComputeType_t as Compute;
    let computed = match call.dtype {
        DType::F64 => Compute::CUBLAS_COMPUTE_64F,
        DType::I8 => Compute::CUBLAS_COMPUTE_32I,
        DType::F32 if call.fast => Compute::CUBLAS_COMPUTE_32F_FAST_TF32,
        _ => Compute::CUBLAS_COMPUTE_32F,
    };
    let result = result_of(call.dtype);
    (stored(result), stored(if result.is_half() { DType::F32 } else { result }), computed)
}

/// How the parts of a product that is split along k may be summed, as the library's mask.
pub(super) fn reductions(dtype: DType) -> u32 {
    use sys::cublasLtReductionScheme_t as Scheme;
    let computing = Scheme::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32;
    // Parts of the type of elements would be rounded before they are summed.
    let stored = Scheme::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE as u32;
    if dtype.size() < 4 { computing } else { computing | stored }
}

/// The epilogue that adds the bias, and the type of the bias; `None` without a bias.
fn epilogue(call: &MatmulCall) -> Option<(sys::cublasLtEpilogue_t, sys::cudaDataType)> {
    // One element for each row of the library's result, which is a column of ours.
    call.bias.map(|_| (sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS, types(call).0))
}

/// Alignments in bytes of the library's first and second factor, of the addend and of the result.
fn alignments(call: &MatmulCall) -> [u32; 4] {
    let [a, b, result] = call.alignment;
    let added = match call.added {
        Some(Added::Apart(alignment)) => alignment,
        Some(Added::InPlace) | None => result,
    };
    // There is no preference for the alignment of a bias. It counts as part of the result's.
    [b, a, added, call.bias.map_or(result, |bias| bias.min(result))]
}

/// A call as the library's objects.
pub(super) struct MatmulDescriptors {
    operation: Operation,
    matrices: [Matrix; 3],
}

impl MatmulDescriptors {
    /// The objects of a call whose bias is at `bias`. cuBLASLt must be present.
    pub(super) fn of(device: &str, call: &MatmulCall, bias: u64) -> DeviceResult<MatmulDescriptors> {
        use sys::cublasLtMatmulDescAttributes_t as Desc;
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        let (result_type, scale, computed) = types(call);
        let operation = result::create_matmul_desc(computed, scale);
        let operation = Operation(operation.map_err(|e| failed(device, "cublasLtMatmulDescCreate", e))?);
        let [first, second] = [call.b, call.a].map(|factor| i32::from(factor.transposed));
        operation.set(device, Desc::CUBLASLT_MATMUL_DESC_TRANSA, first)?;
        operation.set(device, Desc::CUBLASLT_MATMUL_DESC_TRANSB, second)?;
        if let Some((epilogue, bias_type)) = epilogue(call) {
            operation.set(device, Desc::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue as u32)?;
            operation.set(device, Desc::CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias)?;
            operation.set(device, Desc::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type as i32)?;
        }
        let matrix = |layout: MatrixLayout, elements: sys::cudaDataType| {
            let MatrixLayout { rows, columns, leading, step } = layout;
            let matrix = result::create_matrix_layout(elements, rows, columns, leading);
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
        let factor = stored(call.dtype);
        let matrices = [matrix(first, factor)?, matrix(second, factor)?, matrix(result, result_type)?];
        Ok(MatmulDescriptors { operation, matrices })
    }

    /// The descriptor of the operation, valid as long as `self` lives.
    pub(super) fn operation(&self) -> sys::cublasLtMatmulDesc_t {
        self.operation.0
    }

    /// The library's first and second factor, and the result; valid as long as `self` lives.
    pub(super) fn layouts(&self) -> [sys::cublasLtMatrixLayout_t; 3] {
        [self.matrices[0].0, self.matrices[1].0, self.matrices[2].0]
    }
}

struct Operation(sys::cublasLtMatmulDesc_t);
struct Matrix(sys::cublasLtMatrixLayout_t);

impl Operation {
    /// Sets an attribute. `T` must have the size that the library expects for it.
    fn set<T: Copy>(
        &self,
        device: &str,
        attribute: sys::cublasLtMatmulDescAttributes_t,
        value: T,
    ) -> DeviceResult<()> {
        // SAFETY: the descriptor is alive; one `T` is read.
        unsafe {
            result::set_matmul_desc_attribute(self.0, attribute, (&raw const value).cast(), size_of::<T>())
        }
        .map_err(|e| failed(device, "cublasLtMatmulDescSetAttribute", e))
    }
}

/// Limits and preferences for the choice of an algorithm.
pub(super) struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    /// The preference for a call with `workspace` bytes of workspace. cuBLASLt must be present.
    pub(super) fn of(device: &str, call: &MatmulCall, workspace: u64) -> DeviceResult<Preference> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
        let preference = result::create_matmul_pref();
        let preference =
            Preference(preference.map_err(|e| failed(device, "cublasLtMatmulPreferenceCreate", e))?);
        let failed = |e| failed(device, "cublasLtMatmulPreferenceSetAttribute", e);
        let [first, second, added, stored] = alignments(call);
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
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, first),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, second),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, added),
            (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, stored),
        ] {
            let value = ptr::from_ref(&value).cast();
            // SAFETY: the preference is alive; one u32 is read.
            unsafe { result::set_matmul_pref_attribute(preference.0, attribute, value, size_of::<u32>()) }
                .map_err(failed)?;
        }
        Ok(preference)
    }

    /// The library's object, valid as long as `self` lives.
    pub(super) fn raw(&self) -> sys::cublasLtMatmulPreference_t {
        self.0
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once; a descriptor is host memory that no enqueued work uses.
        let _ = unsafe { result::destroy_matmul_desc(self.0) };
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once; a layout is host memory that no enqueued work uses.
        let _ = unsafe { result::destroy_matrix_layout(self.0) };
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once; a preference is host memory that no enqueued work uses.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

fn failed(device: &str, call: &str, error: result::CublasError) -> DeviceError {
    DeviceError::driver(device, call, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::matmul::column_major::{MatmulAddresses, plan};
    use workalike_device::Matmul;

    fn call(dtype: DType, at: MatmulAddresses) -> MatmulCall {
        let product = Matmul { dtype, batch: 1, m: 4, n: 3, k: 2, a: [0, 2, 1], b: [0, 3, 1], fast: false };
        plan(&product).unwrap().calls(at).next().unwrap().0
    }

    #[test]
    fn a_bias_is_of_the_results_type_and_of_its_columns() {
        use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F};
        let plain = MatmulAddresses::plain([256, 256, 256]);
        for (dtype, stored) in
            [(DType::F16, CUDA_R_16F), (DType::BF16, CUDA_R_16BF), (DType::F32, CUDA_R_32F)]
        {
            let call = call(dtype, MatmulAddresses { bias: Some(512), ..plain });
            assert_eq!(epilogue(&call), Some((sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS, stored)));
            // The library wants as many elements as its result has rows.
            assert_eq!(call.layouts()[2].rows, 3);
        }
        let adds = MatmulAddresses { added: Some(512), alpha: 2.0, beta: 3.0, ..plain };
        assert_eq!(epilogue(&call(DType::F32, adds)), None);
    }

    #[test]
    fn the_library_is_told_where_everything_lies() {
        let plain = MatmulAddresses::plain([4, 8, 16]);
        let told = |at| alignments(&call(DType::F32, at));
        assert_eq!(told(plain), [8, 4, 16, 16]);
        assert_eq!(told(MatmulAddresses { added: Some(16), ..plain }), [8, 4, 16, 16]);
        assert_eq!(told(MatmulAddresses { added: Some(20), ..plain }), [8, 4, 4, 16]);
        assert_eq!(told(MatmulAddresses { added: Some(512), bias: Some(8), ..plain }), [8, 4, 256, 8]);
        assert_eq!(told(MatmulAddresses { bias: Some(512), ..plain }), [8, 4, 16, 16]);
    }

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
