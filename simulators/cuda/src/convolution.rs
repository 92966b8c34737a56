//! Convolutions through cuDNN, where it is installed.
//!
//! An algorithm is the first deterministic one by cuDNN's own heuristics whose workspace is not too large, so every run of
//! a program computes the same bits. The workspace is scratch memory of the step, planned by the engine.

use crate::context::{Queue, lock};
use crate::cudnn::{self, Algorithms, Api, Perf, Raw, Run, Status, Workspace};
use crate::memory::CudaMemory;
use crate::preflight;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex};
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::DType;
use workalike_kernels::library::{Convolution, LibraryOp, Role};

/// Algorithms that are looked at.
const CANDIDATES: usize = 8;
/// The most bytes of workspace.
const LARGEST_WORKSPACE: u64 = 1 << 30;

/// cuDNN on one device object: a handle, and what is known of each convolution that was met.
pub(crate) struct Cudnn {
    queue: Arc<Queue>,
    /// Made when it is first needed; its lock is held while cuDNN is called.
    handle: Mutex<Option<Handle>>,
    plans: Mutex<HashMap<Convolution, Option<Arc<Plan>>>>,
}

/// How a convolution is computed.
pub(crate) struct Plan {
    call: Convolution,
    descriptors: Descriptors,
    algorithm: c_int,
    /// Bytes.
    pub(crate) workspace: u64,
    /// Its kernels are loaded.
    ready: Mutex<bool>,
}

/// Where the operands and the workspace of a convolution lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) inputs: [CUdeviceptr; 2],
    pub(crate) result: CUdeviceptr,
    pub(crate) workspace: CUdeviceptr,
}

impl Cudnn {
    pub(crate) fn new(queue: &Arc<Queue>) -> Arc<Cudnn> {
        Arc::new(Cudnn { queue: queue.clone(), handle: Mutex::new(None), plans: Mutex::default() })
    }

    /// How a convolution that was verified is computed; `None` where cuDNN is not installed or does not do it.
    pub(crate) fn plan(&self, call: &Convolution) -> Option<Arc<Plan>> {
        let known = lock(&self.plans).get(call).cloned();
        if let Some(known) = known {
            return known;
        }
        let api = preflight::cudnn().ok()?;
        self.queue.context.enter().ok()?;
        // What goes wrong here only means that there is another way.
        let plan = self.with(api, |handle| Plan::new(api, handle, call)).ok().flatten().map(Arc::new);
        lock(&self.plans).insert(call.clone(), plan.clone());
        plan
    }

    /// Loads the kernels of a convolution, which a capture may not do: runs it on the device's stream, into scratch memory.
    /// The operands are only read. The context must be current.
    pub(crate) fn prepare(&self, plan: &Plan, at: At) -> DeviceResult<()> {
        let mut ready = lock(&plan.ready);
        if *ready {
            return Ok(());
        }
        let bytes = plan.call.operands().last().map_or(0, |result| {
            result.shape.iter().product::<u64>().saturating_mul(result.dtype.size() as u64)
        });
        match CudaMemory::new(&self.queue, bytes) {
            Ok(scratch) => {
                let at = At { result: scratch.pointer(), ..at };
                self.enqueue(plan, at, self.queue.stream.cu_stream())?;
                self.queue.synchronize()?;
                *ready = true;
                Ok(())
            }
            // Without scratch memory the kernels are loaded in the capture, if they can be.
            Err(DeviceError::OutOfMemory { .. }) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Enqueues a convolution. The addresses are of memory of the queue, as long as the operands.
    pub(crate) fn enqueue(&self, plan: &Plan, at: At, stream: CUstream) -> DeviceResult<()> {
        let api = preflight::cudnn().map_err(|absent| DeviceError::Missing {
            device: self.queue.id().into(),
            why: absent.why,
            help: absent.help,
        })?;
        self.with(api, |handle| {
            // SAFETY: handle and stream are alive.
            self.check("cudnnSetStream", unsafe { (api.set_stream)(handle, stream.cast()) })?;
            let status = plan.run(api, handle, at);
            self.check("cudnnConvolution", status)
        })
    }

    fn with<T>(&self, api: &'static Api, then: impl FnOnce(Raw) -> DeviceResult<T>) -> DeviceResult<T> {
        let mut made = lock(&self.handle);
        if let Some(handle) = &*made {
            return then(handle.raw);
        }
        let mut raw = ptr::null_mut();
        // SAFETY: writes a handle.
        self.check("cudnnCreate", unsafe { (api.create)(&mut raw) })?;
        then(made.insert(Handle { raw, api, queue: self.queue.clone() }).raw)
    }

    fn check(&self, call: &str, status: Status) -> DeviceResult<()> {
        if status == 0 {
            return Ok(());
        }
        Err(DeviceError::driver(self.queue.id(), call, format!("status {status}")))
    }
}

impl fmt::Debug for Cudnn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cudnn({})", self.queue.id())
    }
}

struct Handle {
    raw: Raw,
    api: &'static Api,
    queue: Arc<Queue>,
}

// SAFETY: a handle may be used from any thread, by one at a time; the mutex around it sees to that.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks what the handle held; nobody depends on it.
            let _ = unsafe { (self.api.destroy)(self.raw) };
        }
    }
}

impl Plan {
    /// `None` if cuDNN has no algorithm for it.
    fn new(api: &'static Api, handle: Raw, call: &Convolution) -> DeviceResult<Option<Plan>> {
        let Some(descriptors) = Descriptors::new(api, call) else { return Ok(None) };
        let functions = Functions::of(api, call.role);
        let mut found = [Perf::default(); CANDIDATES];
        let mut count = 0;
        let [first, second, result] = descriptors.in_order(call.role);
        // SAFETY: the descriptors are alive and set; cuDNN writes at most as many as are asked for.
        let status = unsafe {
            let wanted = CANDIDATES as c_int;
            (functions.algorithms)(
                handle,
                first,
                second,
                descriptors.convolution.raw,
                result,
                wanted,
                &mut count,
                found.as_mut_ptr(),
            )
        };
        if status != 0 {
            return Ok(None);
        }
        let count = usize::try_from(count).unwrap_or(0).min(CANDIDATES);
        for perf in &found[..count] {
            if perf.status != 0 || perf.deterministic != cudnn::DETERMINISTIC {
                continue;
            }
            let mut bytes = 0usize;
            // SAFETY: as above.
            let status = unsafe {
                let convolution = descriptors.convolution.raw;
                (functions.workspace)(handle, first, second, convolution, result, perf.algorithm, &mut bytes)
            };
            if status == 0 && bytes as u64 <= LARGEST_WORKSPACE {
                let (algorithm, workspace, ready) = (perf.algorithm, bytes as u64, Mutex::new(false));
                return Ok(Some(Plan { call: call.clone(), descriptors, algorithm, workspace, ready }));
            }
        }
        Ok(None)
    }

    fn run(&self, api: &'static Api, handle: Raw, at: At) -> Status {
        let functions = Functions::of(api, self.call.role);
        let [first, second, result] = self.descriptors.in_order(self.call.role);
        let mut inputs = at.inputs;
        if self.call.role == Role::InputGradient {
            // The library takes the filters first.
            inputs.reverse();
        }
        let wide = self.call.dtype == DType::F64;
        let (one, zero, one_wide, zero_wide) = (1f32, 0f32, 1f64, 0f64);
        let scale = |narrow: &f32, double: &f64| -> *const c_void {
            if wide { ptr::from_ref(double).cast() } else { ptr::from_ref(narrow).cast() }
        };
        let pointer = |address: CUdeviceptr| ptr::without_provenance_mut::<c_void>(address as usize);
        // SAFETY: the descriptors say how long the operands are, and the caller that their memory is as long; the workspace
        // is as large as cuDNN asked for; both scales live until the call returns.
        unsafe {
            (functions.run)(
                handle,
                scale(&one, &one_wide),
                first,
                pointer(inputs[0]),
                second,
                pointer(inputs[1]),
                self.descriptors.convolution.raw,
                self.algorithm,
                pointer(at.workspace),
                self.workspace as usize,
                scale(&zero, &zero_wide),
                result,
                pointer(at.result),
            )
        }
    }
}

/// The functions of a role.
struct Functions {
    algorithms: Algorithms,
    workspace: Workspace,
    run: Run,
}

impl Functions {
    fn of(api: &Api, role: Role) -> Functions {
        let (algorithms, workspace, run) = match role {
            Role::Forward => (api.forward_algorithms, api.forward_workspace, api.forward),
            Role::InputGradient => (api.input_algorithms, api.input_workspace, api.input_gradient),
            Role::FilterGradient => (api.filter_algorithms, api.filter_workspace, api.filter_gradient),
        };
        Functions { algorithms, workspace, run }
    }
}

/// Input, filters and output of a convolution, and the convolution itself.
struct Descriptors {
    input: Descriptor,
    filters: Descriptor,
    output: Descriptor,
    convolution: Descriptor,
}

/// One of cuDNN's descriptors.
struct Descriptor {
    raw: Raw,
    destroy: unsafe extern "C" fn(Raw) -> Status,
}

// SAFETY: descriptors are plain data, which nothing changes once they are set.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// `None` if it cannot be made, or `set` fails.
    fn new(
        create: unsafe extern "C" fn(*mut Raw) -> Status,
        destroy: unsafe extern "C" fn(Raw) -> Status,
        set: impl FnOnce(Raw) -> Status,
    ) -> Option<Descriptor> {
        let mut raw = ptr::null_mut();
        // SAFETY: writes a descriptor.
        if unsafe { create(&mut raw) } != 0 {
            return None;
        }
        let made = Descriptor { raw, destroy };
        (set(raw) == 0).then_some(made)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.destroy)(self.raw) };
    }
}

impl Descriptors {
    /// `None` where cuDNN has no words for it.
    fn new(api: &'static Api, call: &Convolution) -> Option<Descriptors> {
        let dtype = match call.dtype {
            DType::F32 => cudnn::FLOAT,
            DType::F64 => cudnn::DOUBLE,
            DType::F16 => cudnn::HALF,
            DType::BF16 => cudnn::BFLOAT16,
            _ => return None,
        };
        if call.operands().iter().any(|operand| operand.shape.contains(&0)) || call.input.len() > 3 {
            return None;
        }
        // Images have two axes at least.
        let spatial = |extents: &[u64], fill: u64| -> Option<Vec<c_int>> {
            let missing = 2usize.saturating_sub(extents.len());
            let all = std::iter::repeat_n(fill, missing).chain(extents.iter().copied());
            all.map(|extent| c_int::try_from(extent).ok()).collect()
        };
        let shape = |first: [u64; 2], extents: &[u64]| -> Option<Vec<c_int>> {
            let first = first.map(|extent| c_int::try_from(extent).ok());
            first.into_iter().chain(spatial(extents, 1)?.into_iter().map(Some)).collect()
        };
        let tensor = |shape: Vec<c_int>| {
            let mut strides = vec![1; shape.len()];
            for axis in (1..shape.len()).rev() {
                strides[axis - 1] = shape[axis].checked_mul(strides[axis])?;
            }
            let rank = shape.len() as c_int;
            // SAFETY: both lists have that many elements.
            let set = |raw| unsafe { (api.set_tensor)(raw, dtype, rank, shape.as_ptr(), strides.as_ptr()) };
            Descriptor::new(api.create_tensor, api.destroy_tensor, set)
        };
        let each = call.channels / call.groups.max(1);
        let extents = shape([call.filters, each], &call.window)?;
        let set_filters = |raw| {
            let rank = extents.len() as c_int;
            // SAFETY: the list has that many elements.
            unsafe { (api.set_filter)(raw, dtype, cudnn::NCHW, rank, extents.as_ptr()) }
        };
        let lists = [spatial(&call.padding, 0)?, spatial(&call.stride, 1)?, spatial(&call.dilation, 1)?];
        let compute = if call.dtype == DType::F64 { cudnn::DOUBLE } else { cudnn::FLOAT };
        let math = match call.dtype {
            DType::F32 if call.fast => cudnn::DEFAULT_MATH,
            half if half.is_half() => cudnn::TENSOR_OP_MATH,
            _ => cudnn::FMA_MATH,
        };
        let groups = c_int::try_from(call.groups).ok()?;
        let set_convolution = |raw| {
            let [padding, stride, dilation] = lists.each_ref().map(|list| list.as_ptr());
            let axes = lists[0].len() as c_int;
            // SAFETY: each list has that many elements.
            unsafe {
                let mode = cudnn::CROSS_CORRELATION;
                let set = (api.set_convolution)(raw, axes, padding, stride, dilation, mode, compute);
                [set, (api.set_groups)(raw, groups), (api.set_math)(raw, math)].into_iter().max().unwrap_or(0)
            }
        };
        Some(Descriptors {
            input: tensor(shape([call.batch, call.channels], &call.input)?)?,
            filters: Descriptor::new(api.create_filter, api.destroy_filter, set_filters)?,
            output: tensor(shape([call.batch, call.filters], &call.output)?)?,
            convolution: Descriptor::new(api.create_convolution, api.destroy_convolution, set_convolution)?,
        })
    }

    /// As cuDNN's functions of a role take them: two operands and the result.
    fn in_order(&self, role: Role) -> [Raw; 3] {
        let [x, w, y] = [self.input.raw, self.filters.raw, self.output.raw];
        match role {
            Role::Forward => [x, w, y],
            Role::InputGradient => [w, y, x],
            Role::FilterGradient => [x, y, w],
        }
    }
}
