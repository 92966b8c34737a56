//! Fourier transforms through cuFFT, where it is installed.
//!
//! A plan of cuFFT takes its work area from scratch memory, which the engine plans, and is run and captured
//! once on scratch memory: that loads its kernels, which a capture may not do.

use super::bind::OperandAddresses;
use super::lazy::Lazy;
use super::streams::Streams;
use super::{VendorLibrary, settled};
use crate::context::PrimaryContext;
use crate::preflight::{self, Absent};
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};
use workalike_device::{DeviceError, DeviceResult, LibraryOp};
use workalike_kernels::DType;
use workalike_kernels::library::{Fourier, FourierKind};
use workalike_kernels::nest::LinearForm;

/// Major versions of cuFFT of CUDA 13 and 12.
const MAJORS: [u32; 2] = [12, 11];
/// `CUFFT_FORWARD`.
const FORWARD: c_int = -1;
/// `CUFFT_INVERSE`.
const INVERSE: c_int = 1;

/// `cufftResult`; 0 is success.
type Status = c_int;
/// `cufftHandle`.
type Raw = c_int;
/// `cufftExecC2C` and `cufftExecZ2Z`: plan, input, output, direction.
type ExecComplex = unsafe extern "C" fn(Raw, *mut c_void, *mut c_void, c_int) -> Status;
/// `cufftExecR2C`, `cufftExecC2R` and those of float64: plan, input, output.
type ExecReal = unsafe extern "C" fn(Raw, *mut c_void, *mut c_void) -> Status;
/// `cufftMakePlanMany64`: plan, rank, extents; the layout, stride and distance of input and output; kind of
/// transform, batch, bytes of work area.
type MakePlan = unsafe extern "C" fn(
    Raw,
    c_int,
    *mut c_longlong,
    *mut c_longlong,
    c_longlong,
    c_longlong,
    *mut c_longlong,
    c_longlong,
    c_longlong,
    c_int,
    c_longlong,
    *mut usize,
) -> Status;

functions! {
    /// The functions of cuFFT. The types are those of the headers of CUDA 12 and 13. Source: NVIDIA, "cuFFT
    /// API Reference".
    Api of "cuFFT";
    create = "cufftCreate": unsafe extern "C" fn(*mut Raw) -> Status;
    destroy = "cufftDestroy": unsafe extern "C" fn(Raw) -> Status;
    set_auto_allocation = "cufftSetAutoAllocation": unsafe extern "C" fn(Raw, c_int) -> Status;
    make_plan = "cufftMakePlanMany64": MakePlan;
    set_stream = "cufftSetStream": unsafe extern "C" fn(Raw, *mut c_void) -> Status;
    set_work_area = "cufftSetWorkArea": unsafe extern "C" fn(Raw, *mut c_void) -> Status;
    complex_f32 = "cufftExecC2C": ExecComplex;
    complex_f64 = "cufftExecZ2Z": ExecComplex;
    from_real_f32 = "cufftExecR2C": ExecReal;
    from_real_f64 = "cufftExecD2Z": ExecReal;
    to_real_f32 = "cufftExecC2R": ExecReal;
    to_real_f64 = "cufftExecZ2D": ExecReal;
}

/// cuFFT, loaded, with every function used here.
fn api() -> Result<&'static Api, Absent> {
    static API: OnceLock<Result<Api, Absent>> = OnceLock::new();
    preflight::library(&API, || Api::new(preflight::load("cuFFT", "cufft", &MAJORS)?))
}

/// cuFFT on one device object.
pub(super) struct CuFft {
    api: &'static Api,
    streams: Streams,
}

/// A plan of cuFFT.
pub(super) struct CufftPlan {
    call: Fourier,
    api: &'static Api,
    raw: Raw,
    /// Bytes of work area.
    work_area: u64,
    context: Arc<PrimaryContext>,
}

impl Drop for CufftPlan {
    fn drop(&mut self) {
        if self.context.enter_drop() {
            // Destroying may wait for the whole context.
            let _apart = self.context.capture();
            // SAFETY: created once, destroyed once, when no recording uses it any more. A failure leaks the
            // plan, on which nothing depends.
            let _ = unsafe { (self.api.destroy)(self.raw) };
        }
    }
}

impl VendorLibrary for CuFft {
    type Call = Fourier;
    type Plan = CufftPlan;

    fn installed() -> Result<(), Absent> {
        api().map(drop)
    }

    fn call(op: &dyn LibraryOp, _: Option<&LinearForm>) -> Option<Fourier> {
        op.downcast().cloned()
    }

    fn open(streams: &Streams) -> DeviceResult<CuFft> {
        let id = streams.queue.id();
        let api = api().map_err(|absent| absent.on(id))?;
        Ok(CuFft { api, streams: streams.clone() })
    }

    fn plan(library: &Lazy<CuFft>, call: &Fourier) -> DeviceResult<Option<CufftPlan>> {
        settled(library.with(|cufft| cufft.choose(call))?)
    }

    fn scratch(plan: &CufftPlan) -> u64 {
        plan.work_area
    }

    fn enqueue(&mut self, plan: &CufftPlan, at: &OperandAddresses, stream: CUstream) -> DeviceResult<()> {
        self.run(plan, at, stream)
    }
}

impl CuFft {
    /// A plan that passes its trial; `None` for arrays without elements.
    fn choose(&self, call: &Fourier) -> DeviceResult<Option<CufftPlan>> {
        if call.batch == 0 {
            return Ok(None);
        }
        let plan = self.make(call)?;
        let operands = call.operands();
        let bytes = operands.iter().map(|o| o.shape.iter().product::<u64>() * o.dtype.size() as u64);
        let memory = bytes.map(|bytes| self.streams.zeros(bytes)).collect::<DeviceResult<Vec<_>>>()?;
        let work_area = self.streams.zeros(plan.work_area)?;
        let at = OperandAddresses::plain(
            memory.iter().map(|memory| memory.pointer()).collect(),
            work_area.pointer(),
        );
        let run = |stream| self.run(&plan, &at, stream);
        let passes = self.streams.runs(run)? && self.streams.captures(run)?;
        Ok(passes.then_some(plan))
    }

    fn make(&self, call: &Fourier) -> DeviceResult<CufftPlan> {
        let context = self.streams.queue.context.clone();
        let mut raw = 0;
        // SAFETY: writes a plan.
        self.check("cufftCreate", unsafe { (self.api.create)(&mut raw) })?;
        let mut plan =
            CufftPlan { call: call.clone(), api: self.api, raw, work_area: 0, context: context.clone() };
        // SAFETY: the plan was created just now.
        self.check("cufftSetAutoAllocation", unsafe { (self.api.set_auto_allocation)(raw, 0) })?;
        let mut extents: Vec<c_longlong> = call.extents.iter().map(|&extent| extent as c_longlong).collect();
        let kind = kind(call);
        let mut bytes = 0usize;
        let status = {
            // Making a plan may load kernels and wait for the whole context. Dropping one takes this lock
            // too.
            let _apart = context.capture();
            // SAFETY: there are as many extents as the rank says; without layouts the operands are
            // contiguous; `bytes` is written.
            unsafe {
                (self.api.make_plan)(
                    raw,
                    extents.len() as c_int,
                    extents.as_mut_ptr(),
                    ptr::null_mut(),
                    1,
                    0,
                    ptr::null_mut(),
                    1,
                    0,
                    kind,
                    call.batch as c_longlong,
                    &mut bytes,
                )
            }
        };
        self.check("cufftMakePlanMany64", status)?;
        plan.work_area = bytes as u64;
        Ok(plan)
    }

    fn run(&self, plan: &CufftPlan, at: &OperandAddresses, stream: CUstream) -> DeviceResult<()> {
        let &[input, output] = &at.operands[..] else {
            let message = format!("{} operands of {:?}", at.operands.len(), plan.call);
            return Err(DeviceError::driver(self.streams.queue.id(), "record", message));
        };
        let (api, raw) = (self.api, plan.raw);
        // SAFETY: plan and stream are alive.
        self.check("cufftSetStream", unsafe { (api.set_stream)(raw, stream.cast()) })?;
        if plan.work_area > 0 {
            // SAFETY: the scratch memory is as large as cuFFT requires.
            let set = unsafe { (api.set_work_area)(raw, pointer(at.scratch)) };
            self.check("cufftSetWorkArea", set)?;
        }
        let (input, output, wide) = (pointer(input), pointer(output), plan.call.dtype == DType::F64);
        let (complex, from_real, to_real) = match wide {
            true => (api.complex_f64, api.from_real_f64, api.to_real_f64),
            false => (api.complex_f32, api.from_real_f32, api.to_real_f32),
        };
        // SAFETY: the plan is of this kind and dtype, and the operands are as long as it says. cuFFT writes
        // to the output and to the work area only: transforms to real numbers are of one axis, and not in
        // place.
        let status = unsafe {
            match plan.call.transform {
                FourierKind::Forward => complex(raw, input, output, FORWARD),
                FourierKind::Inverse => complex(raw, input, output, INVERSE),
                FourierKind::RealForward => from_real(raw, input, output),
                FourierKind::RealInverse => to_real(raw, input, output),
            }
        };
        self.check("cufftExec", status)
    }

    fn check(&self, call: &str, status: Status) -> DeviceResult<()> {
        if status == 0 {
            return Ok(());
        }
        Err(DeviceError::driver(self.streams.queue.id(), call, format!("status {status}")))
    }
}

/// `cufftType`.
fn kind(call: &Fourier) -> c_int {
    let wide = call.dtype == DType::F64;
    match call.transform {
        FourierKind::Forward | FourierKind::Inverse => {
            if wide {
                0x69
            } else {
                0x29
            }
        }
        FourierKind::RealForward => {
            if wide {
                0x6a
            } else {
                0x2a
            }
        }
        FourierKind::RealInverse => {
            if wide {
                0x6c
            } else {
                0x2c
            }
        }
    }
}

fn pointer(address: CUdeviceptr) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}
