//! Rehearsals: launches of a recording's kernels on memory of their own, so that nothing is left to compile
//! for the first replay.
//!
//! PoCL compiles a kernel for its size of group at the first launch, and has no other way to ask for it. The
//! memory holds zeros, which are valid indices and sizes of what kernels loop over. Each operand has its own
//! part. Code of users is not run, since it need not end for zeros.

use crate::cl;
use crate::cl::Handle;
use crate::context::OpenClContext;
use crate::recording::{BufferArgument, OpenClStep, Raw};
use ocl::ffi::{self, cl_int, cl_mem};
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr;
use workalike_device::DeviceResult;

/// Most bytes of memory of a rehearsal. Kernels with larger operands are compiled at their first launch,
/// which takes longer than the compilation.
const MOST: u64 = 256 << 20;
/// Alignment in bytes of each operand, more than any type has.
const ALIGNMENT: u64 = 256;

/// Launches a step's kernel on other memory, and waits. Does nothing for steps that are no kernels, or that
/// cannot be rehearsed.
pub(crate) fn rehearse(context: &OpenClContext, queue: *mut c_void, step: &OpenClStep) -> DeviceResult<()> {
    let OpenClStep::Launch { kernel, own: Some(arguments), .. } = step else { return Ok(()) };
    let sizes = arguments.iter().map(|argument| argument.bytes.max(1).next_multiple_of(ALIGNMENT));
    let all = sizes.clone().fold(ALIGNMENT, u64::saturating_add);
    if all > MOST {
        return Ok(());
    }
    let Some(zeros) = zeros(context, queue, all as usize) else { return Ok(()) };
    let mut offset = 0;
    let elsewhere = arguments.iter().zip(sizes).map(|(argument, size)| {
        let own = BufferArgument { buffer: Raw(zeros.raw()), offset, ..*argument };
        offset += size;
        own
    });
    let elsewhere: Vec<BufferArgument> = elsewhere.collect();
    let launched = set(context, kernel.raw(), &elsewhere)
        .and_then(|()| step.enqueue(queue, &context.id, ptr::null_mut()));
    // The recording's own memory again, even after an error.
    let restored = set(context, kernel.raw(), arguments);
    // SAFETY: the queue is valid.
    let finished = cl::check(&context.id, "clFinish", unsafe { ffi::clFinish(queue) });
    launched.and(restored).and(finished)
}

/// A buffer of zeros, if there is memory for it.
fn zeros(context: &OpenClContext, queue: *mut c_void, bytes: usize) -> Option<Handle<cl::Buffer>> {
    let mut status: cl_int = 0;
    // SAFETY: no host pointer is given.
    let raw = unsafe {
        ffi::clCreateBuffer(context.handle.raw(), ffi::CL_MEM_READ_WRITE, bytes, ptr::null_mut(), &mut status)
    };
    // SAFETY: a new buffer, or null.
    let buffer: Handle<cl::Buffer> =
        unsafe { Handle::created(raw, &context.id, "clCreateBuffer", status) }.ok()?;
    let zero = 0u64;
    let (pattern, size, none) = ((&raw const zero).cast(), size_of::<u64>(), ptr::null());
    // SAFETY: the pattern is copied before the call returns; the buffer has a multiple of its size.
    let filled = unsafe {
        ffi::clEnqueueFillBuffer(queue, buffer.raw(), pattern, size, 0, bytes, 0, none, ptr::null_mut())
    };
    (filled == 0).then_some(buffer)
}

/// Sets the arguments of a kernel that are memory.
fn set(context: &OpenClContext, kernel: *mut c_void, arguments: &[BufferArgument]) -> DeviceResult<()> {
    for argument in arguments {
        let (buffer, offset): (cl_mem, u64) = (argument.buffer.0, argument.offset);
        let values = [
            (argument.at, size_of::<cl_mem>(), (&raw const buffer).cast()),
            (argument.at + 1, size_of::<u64>(), (&raw const offset).cast()),
        ];
        for (at, size, value) in values {
            // SAFETY: the kernel is valid and used by this thread alone; `value` points to a local of this
            // size, which OpenCL copies.
            let status = unsafe { ffi::clSetKernelArg(kernel, at, size, value) };
            cl::check(&context.id, "clSetKernelArg", status)?;
        }
    }
    Ok(())
}
