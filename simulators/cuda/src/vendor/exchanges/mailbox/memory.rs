//! The memory of mailboxes: this member's, and that of others, in this process or in others of the host.

use super::{BLOCKS, SLOT, THREADS, failure};
use crate::context::{OrDriver, PrimaryContext, Queue, lock};
use crate::vendor::streams::fill;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUipcMem_flags, CUipcMemHandle, CUresult};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use workalike_device::group::{Group, GroupError, gather};
use workalike_device::{DeviceError, DeviceResult};

/// What tells this process from others, on whatever host.
pub(super) static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));

/// The mailboxes of this process, in which members find those of others.
static MAILBOXES: LazyLock<Mutex<HashMap<u64, Weak<MailboxMemory>>>> = LazyLock::new(Mutex::default);

/// The memory of a mailbox: slots, the turns of each block, and its number.
#[derive(Debug)]
pub(super) struct MailboxMemory {
    context: Arc<PrimaryContext>,
    address: CUdeviceptr,
    number: u64,
    /// Whether other processes may have it.
    exported: AtomicBool,
}

impl MailboxMemory {
    /// Zeros, with slots for so many members. The context must be current.
    fn new(context: &Arc<PrimaryContext>, slots: usize) -> DeviceResult<MailboxMemory> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // No two of a host have the same.
        let number = PROCESS.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let bytes = number_at(slots) + size_of::<u64>() as u64;
        let allocated = {
            let _quiet = context.gate.quiet_if_any();
            // Pooled memory would not be other GPUs' too.
            // SAFETY: the context is current. The size is a few MiB.
            unsafe { result::malloc_sync(bytes as usize) }
        };
        let address = allocated.or_driver(&context.id, "cuMemAlloc")?;
        let memory =
            MailboxMemory { context: context.clone(), address, number, exported: AtomicBool::new(false) };
        let queue = Queue::new(context.clone())?;
        let stream = queue.stream.cu_stream();
        fill(&context.id, address, 0, bytes, stream)?;
        let (word, at) = (number.to_le_bytes(), address + number_at(slots));
        // SAFETY: the memory has 8 bytes there. The call has read `word`, which is pageable, when it returns.
        unsafe { sys::cuMemcpyHtoDAsync_v2(at, word.as_ptr().cast(), word.len(), stream) }
            .or_driver(&context.id, "cuMemcpyHtoDAsync")?;
        queue.synchronize()?;
        Ok(memory)
    }

    /// Makes a handle by which other processes of the host can open it; zeros if the driver has none. It is
    /// kept until the process ends then, for nothing says when they do not write to it any more.
    fn export(&self) -> [u8; HANDLE] {
        let mut handle = CUipcMemHandle { reserved: [0; HANDLE] };
        // SAFETY: the address is the start of memory that cuMemAlloc gave.
        if unsafe { sys::cuIpcGetMemHandle(&mut handle, self.address) } != CUresult::CUDA_SUCCESS {
            return [0; HANDLE];
        }
        self.exported.store(true, Ordering::Relaxed);
        handle.reserved.map(|byte| byte as u8)
    }
}

/// Bytes of a handle for other processes.
const HANDLE: usize = 64;

impl Drop for MailboxMemory {
    fn drop(&mut self) {
        if !self.exported.load(Ordering::Relaxed) && self.context.enter_drop() {
            let _quiet = self.context.gate.quiet_if_any();
            // SAFETY: it came from cuMemAlloc and is freed once. No kernel uses it: members of this process
            // hold all mailboxes that their kernels use, and others do not have it.
            self.context.park(unsafe { result::free_sync(self.address) });
        }
    }
}

/// The byte of a mailbox with slots for so many members at which the turns start.
pub(super) fn turns_at(slots: usize) -> u64 {
    2 * slots as u64 * BLOCKS * THREADS * SLOT
}

/// The byte at which its number is.
fn number_at(slots: usize) -> u64 {
    turns_at(slots) + BLOCKS * size_of::<u32>() as u64
}

/// A mailbox of another process, as a context of this one sees it.
#[derive(Debug)]
pub(super) struct OpenedMemory {
    context: Arc<PrimaryContext>,
    address: CUdeviceptr,
}

impl OpenedMemory {
    /// `None` if this GPU cannot access it. The context must be current.
    fn open(context: &Arc<PrimaryContext>, card: &Card, slots: usize) -> DeviceResult<Option<OpenedMemory>> {
        let handle = CUipcMemHandle { reserved: card.handle.map(|byte| byte as core::ffi::c_char) };
        let lazy = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut address = 0;
        let opened = {
            let _quiet = context.gate.quiet_if_any();
            // SAFETY: writes an address. A handle that is none of this host's is refused.
            unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, handle, lazy) }
        };
        if opened != CUresult::CUDA_SUCCESS {
            return Ok(None);
        }
        let memory = OpenedMemory { context: context.clone(), address };
        let queue = Queue::new(context.clone())?;
        let (mut word, at) = ([0; 8], address + number_at(slots));
        // SAFETY: all members' mailboxes have the same size, with 8 bytes there; `word` outlives the wait.
        unsafe {
            sys::cuMemcpyDtoHAsync_v2(word.as_mut_ptr().cast(), at, word.len(), queue.stream.cu_stream())
        }
        .or_driver(&context.id, "cuMemcpyDtoHAsync")?;
        queue.synchronize()?;
        Ok((u64::from_le_bytes(word) == card.number).then_some(memory))
    }
}

impl Drop for OpenedMemory {
    fn drop(&mut self) {
        if self.context.enter_drop() {
            let _quiet = self.context.gate.quiet_if_any();
            // SAFETY: cuIpcOpenMemHandle gave it to this context, and it is closed once. No kernel uses it:
            // members hold all mailboxes that their kernels use.
            self.context.park(unsafe { sys::cuIpcCloseMemHandle(self.address) }.result());
        }
    }
}

/// A member's mailbox, as another member uses it.
#[derive(Debug)]
pub(super) enum Mailbox {
    Here(Arc<MailboxMemory>),
    Elsewhere(OpenedMemory),
}

impl Mailbox {
    pub(super) fn address(&self) -> CUdeviceptr {
        match self {
            Mailbox::Here(memory) => memory.address,
            Mailbox::Elsewhere(memory) => memory.address,
        }
    }
}

/// What a member tells the others of its mailbox.
struct Card {
    process: u64,
    number: u64,
    handle: [u8; HANDLE],
}

impl Card {
    const BYTES: usize = 16 + HANDLE;

    fn bytes(&self) -> Vec<u8> {
        [&self.process.to_le_bytes()[..], &self.number.to_le_bytes(), &self.handle].concat()
    }

    fn of(bytes: &[u8; Card::BYTES]) -> Card {
        let ([process, number], handle) = (words(bytes), std::array::from_fn(|at| bytes[16 + at]));
        Card { process, number, handle }
    }
}

/// The first two words.
fn words(bytes: &[u8; Card::BYTES]) -> [u64; 2] {
    [0, 8].map(|start| u64::from_le_bytes(std::array::from_fn(|at| bytes[start + at])))
}

/// Makes this member's mailbox, with slots for so many members, and finds those of the others, by rank; all
/// members do the same now. `None` for all if one of them does not reach another's. The context must be
/// current.
pub(super) fn meet(
    context: &Arc<PrimaryContext>,
    group: &Arc<dyn Group>,
    slots: usize,
) -> Result<Option<Vec<Mailbox>>, GroupError> {
    let driver = |error: DeviceError| failure("a call of CUDA", error);
    let own = Arc::new(MailboxMemory::new(context, slots).map_err(driver)?);
    {
        let mut known = lock(&MAILBOXES);
        known.retain(|_, memory| memory.strong_count() > 0);
        known.insert(own.number, Arc::downgrade(&own));
    }
    let processes = gather(group, &PROCESS.to_le_bytes())?;
    let is_one = processes.chunks_exact(8).all(|process| process == PROCESS.to_le_bytes());
    let handle = if is_one { [0; HANDLE] } else { own.export() };
    let cards = gather(group, &Card { process: *PROCESS, number: own.number, handle }.bytes())?;
    let find = |card: &[u8; Card::BYTES]| find(context, &Card::of(card), slots);
    let found = cards.as_chunks().0.iter().map(find).collect::<Result<Option<Vec<Mailbox>>, _>>()?;
    // From now on all of them may be written to.
    let all_found = gather(group, &[found.is_some().into()])?.iter().all(|found| *found == 1);
    Ok(found.filter(|_| all_found))
}

/// A member's mailbox, which the kernels of a context can access from now on.
fn find(context: &Arc<PrimaryContext>, card: &Card, slots: usize) -> Result<Option<Mailbox>, GroupError> {
    let driver = |error: DeviceError| failure("a call of CUDA", error);
    if card.process != *PROCESS {
        let opened = OpenedMemory::open(context, card, slots).map_err(driver)?;
        return Ok(opened.map(Mailbox::Elsewhere));
    }
    let memory = lock(&MAILBOXES).get(&card.number).and_then(Weak::upgrade);
    let memory = memory.ok_or_else(|| failure("finding a mailbox", "a member has left"))?;
    if !Arc::ptr_eq(&memory.context, context) {
        enable_access(context, &memory.context).map_err(driver)?;
    }
    Ok(Some(Mailbox::Here(memory)))
}

/// Lets the kernels of a context, which must be current, access another's memory.
fn enable_access(context: &PrimaryContext, other: &PrimaryContext) -> DeviceResult<()> {
    let _quiet = context.gate.quiet_if_any();
    // SAFETY: both contexts are primary ones, which are kept until the process ends.
    match unsafe { sys::cuCtxEnablePeerAccess(other.cuda.cu_ctx(), 0) } {
        CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
        status => status.or_driver(&context.id, "cuCtxEnablePeerAccess"),
    }
}
