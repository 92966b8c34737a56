//! The parts of cuSOLVER's and cuBLAS's C interfaces that linear algebra uses, loaded at run time.
//!
//! Enumerations are plain integers. Pairs of functions are those for float32 and float64, whose types differ
//! only in the pointed-to type. Source: NVIDIA, "cuSOLVER API Reference", dense LAPACK functions, and
//! "cuBLAS".

use crate::preflight::{self, Absent};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// A handle, a stream or an address.
pub(super) type Raw = *mut c_void;
/// `cusolverStatus_t` or `cublasStatus_t`; 0 is success.
pub(super) type Status = c_int;

/// `cusolverDnCreate`, `cublasCreate_v2`.
pub(super) type Create = unsafe extern "C" fn(*mut Raw) -> Status;
/// `cusolverDnDestroy`, `cublasDestroy_v2`.
pub(super) type Destroy = unsafe extern "C" fn(Raw) -> Status;
type SetStream = unsafe extern "C" fn(Raw, Raw) -> Status;
type SetWorkspace = unsafe extern "C" fn(Raw, Raw, usize) -> Status;
/// Handle, triangle, order, matrix, stride, elements of workspace.
type PotrfSize = unsafe extern "C" fn(Raw, c_int, c_int, Raw, c_int, *mut c_int) -> Status;
/// Handle, triangle, order, matrix, stride, workspace and its elements, info.
type Potrf = unsafe extern "C" fn(Raw, c_int, c_int, Raw, c_int, Raw, c_int, Raw) -> Status;
/// Handle, triangle, order, addresses of matrices, stride, infos, batch.
type PotrfBatched = unsafe extern "C" fn(Raw, c_int, c_int, Raw, c_int, Raw, c_int) -> Status;
/// Handle, rows, columns, matrix, stride, elements of workspace.
type GetrfSize = unsafe extern "C" fn(Raw, c_int, c_int, Raw, c_int, *mut c_int) -> Status;
/// Handle, rows, columns, matrix, stride, workspace, pivots, info.
type Getrf = unsafe extern "C" fn(Raw, c_int, c_int, Raw, c_int, Raw, Raw, Raw) -> Status;
/// Handle, transposition, order, right-hand sides, factors, stride, pivots, right-hand sides, stride, info.
type Getrs = unsafe extern "C" fn(Raw, c_int, c_int, c_int, Raw, c_int, Raw, Raw, c_int, Raw) -> Status;
/// Handle, order, addresses of matrices, stride, pivots, infos, batch.
type GetrfBatched = unsafe extern "C" fn(Raw, c_int, Raw, c_int, Raw, Raw, c_int) -> Status;
/// Handle, transposition, order, right-hand sides, addresses of factors, stride, pivots, addresses of
/// right-hand sides, stride, one int on the host, batch.
type GetrsBatched =
    unsafe extern "C" fn(Raw, c_int, c_int, c_int, Raw, c_int, Raw, Raw, c_int, *mut c_int, c_int) -> Status;
/// Handle, side, triangle, transposition, diagonal, rows, columns, alpha, triangle's matrix, stride,
/// right-hand sides, stride.
type Trsm = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    Raw,
    c_int,
    Raw,
    c_int,
) -> Status;
/// As [`Trsm`], with lists of the addresses of matrices and of right-hand sides, and the batch.
type TrsmBatched = unsafe extern "C" fn(
    Raw,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    Raw,
    c_int,
    Raw,
    c_int,
    c_int,
) -> Status;

/// Major versions of cuSOLVER of CUDA 13 and 12.
const MAJORS: [u32; 2] = [12, 11];

/// The libraries that cuSOLVER depends on beside cuBLAS, of CUDA 13 and 12.
const NEEDS: [(&str, u32); 3] = [("nvJitLink", 13), ("nvJitLink", 12), ("cusparse", 12)];

/// cuSOLVER and cuBLAS, loaded, with every function used here.
pub(super) fn api() -> Result<&'static Api, Absent> {
    static API: OnceLock<Result<Api, Absent>> = OnceLock::new();
    preflight::library(&API, || {
        preflight::cublas()?;
        let blas = preflight::load("cuBLAS", "cublas", &preflight::MAJORS)?;
        let solver = preflight::load("cuSOLVER", "cusolver", &MAJORS).or_else(|_| {
            // Python wheels have the dependencies of cuSOLVER in other folders. cuSPARSE depends on
            // nvJitLink.
            for (stem, major) in NEEDS {
                preflight::folders().iter().for_each(|folder| preflight::preload(folder, stem, major));
            }
            preflight::load("cuSOLVER", "cusolver", &MAJORS)
        })?;
        let lacks = |name| format!("the cuSOLVER or cuBLAS found here has no {name}");
        Api::new(solver, blas).map_err(|name| Absent::new(lacks(name), "Install a newer CUDA"))
    })
}

/// The functions of both libraries.
pub(super) struct Api {
    pub(super) create_solver: Create,
    pub(super) destroy_solver: Destroy,
    pub(super) set_solver_stream: SetStream,
    pub(super) potrf_size: [PotrfSize; 2],
    pub(super) potrf: [Potrf; 2],
    pub(super) potrf_batched: [PotrfBatched; 2],
    pub(super) getrf_size: [GetrfSize; 2],
    pub(super) getrf: [Getrf; 2],
    pub(super) getrs: [Getrs; 2],
    pub(super) create_blas: Create,
    pub(super) destroy_blas: Destroy,
    pub(super) set_blas_stream: SetStream,
    pub(super) set_workspace: SetWorkspace,
    pub(super) getrf_batched: [GetrfBatched; 2],
    pub(super) getrs_batched: [GetrsBatched; 2],
    pub(super) trsm: [Trsm; 2],
    pub(super) trsm_batched: [TrsmBatched; 2],
    /// Keeps the functions loaded.
    _libraries: [Library; 2],
}

impl Api {
    /// Looks all functions up in cuSOLVER and cuBLAS; the name of the first that is missing.
    fn new(solver: Library, blas: Library) -> Result<Api, &'static str> {
        // SAFETY: the types of all functions are those of the headers of CUDA 12 and 13.
        unsafe {
            Ok(Api {
                create_solver: one(&solver, "cusolverDnCreate")?,
                destroy_solver: one(&solver, "cusolverDnDestroy")?,
                set_solver_stream: one(&solver, "cusolverDnSetStream")?,
                potrf_size: pair(&solver, ["cusolverDnSpotrf_bufferSize", "cusolverDnDpotrf_bufferSize"])?,
                potrf: pair(&solver, ["cusolverDnSpotrf", "cusolverDnDpotrf"])?,
                potrf_batched: pair(&solver, ["cusolverDnSpotrfBatched", "cusolverDnDpotrfBatched"])?,
                getrf_size: pair(&solver, ["cusolverDnSgetrf_bufferSize", "cusolverDnDgetrf_bufferSize"])?,
                getrf: pair(&solver, ["cusolverDnSgetrf", "cusolverDnDgetrf"])?,
                getrs: pair(&solver, ["cusolverDnSgetrs", "cusolverDnDgetrs"])?,
                create_blas: one(&blas, "cublasCreate_v2")?,
                destroy_blas: one(&blas, "cublasDestroy_v2")?,
                set_blas_stream: one(&blas, "cublasSetStream_v2")?,
                set_workspace: one(&blas, "cublasSetWorkspace_v2")?,
                getrf_batched: pair(&blas, ["cublasSgetrfBatched", "cublasDgetrfBatched"])?,
                getrs_batched: pair(&blas, ["cublasSgetrsBatched", "cublasDgetrsBatched"])?,
                trsm: pair(&blas, ["cublasStrsm_v2", "cublasDtrsm_v2"])?,
                trsm_batched: pair(&blas, ["cublasStrsmBatched", "cublasDtrsmBatched"])?,
                _libraries: [solver, blas],
            })
        }
    }
}

/// # Safety
/// `T` is the type of the function of this name. It is not called once the library is unloaded.
unsafe fn one<T: Copy>(library: &Library, name: &'static str) -> Result<T, &'static str> {
    // SAFETY: the caller says that `T` is the function's type, and keeps the library loaded as long as it is
    // called.
    unsafe { library.get::<T>(name.as_bytes()) }.map(|found| *found).map_err(|_| name)
}

/// # Safety
/// As [`one`], for both functions.
unsafe fn pair<T: Copy>(library: &Library, names: [&'static str; 2]) -> Result<[T; 2], &'static str> {
    // SAFETY: the caller says that `T` is the type of both functions, and keeps the library loaded as long as
    // either is called.
    unsafe { Ok([one(library, names[0])?, one(library, names[1])?]) }
}

/// `cublasFillMode_t`.
pub(super) const LOWER: c_int = 0;
/// `cublasFillMode_t`.
pub(super) const UPPER: c_int = 1;
/// `cublasOperation_t`.
pub(super) const AS_IT_IS: c_int = 0;
/// `cublasOperation_t`.
pub(super) const TRANSPOSED: c_int = 1;
/// `cublasSideMode_t`: the triangle is the left factor.
pub(super) const LEFT: c_int = 0;
/// `cublasDiagType_t`.
pub(super) const NON_UNIT: c_int = 0;
/// `cublasDiagType_t`.
pub(super) const UNIT: c_int = 1;
