//! Exchanges of GPUs that reach each other's memory, by a kernel of ours: see `mailbox.cu`.
//!
//! The members must be in one process, each on a GPU that can access the memory of all the others. Then any
//! reduction of any dtype is exchanged, with the bits that the members get in main memory: folded in the
//! order of ranks. Each member sends all others what they need at once, so it is for small arrays; larger
//! sums are NCCL's, where it is installed.

use super::CheckAt;
use super::communicator::kernel_of;
use crate::capture::CudaLaunch;
use crate::context::{OrDriver, PrimaryContext, Queue, lock};
use crate::vendor::streams::fill;
use cudarc::driver::sys::{self, CUdeviceptr, CUresult};
use cudarc::driver::{CudaFunction, result};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use workalike_device::group::{Collective, CollectiveArray, CollectiveKind, Group, GroupError, gather};
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

const KERNEL: &str = include_str!("mailbox.cu");

// As in mailbox.cu.
const MOST_MEMBERS: usize = 16;
const MOST_ARRAYS: usize = 64;
const THREADS: u64 = 512;
const BLOCKS: u64 = 64;
/// Bytes that a thread sends to a member in a turn.
const UNIT: u64 = 8;
/// Bytes of a unit in a mailbox.
const SLOT: u64 = 16;
/// Words of an array in the kernel's argument, and words before the arrays.
const ARRAY_WORDS: usize = 6;
const HEAD_WORDS: usize = 7 + MOST_MEMBERS;

/// Whether the kernel has the exchange.
pub(super) fn has(op: &Collective) -> bool {
    op.arrays.len() <= MOST_ARRAYS
}

/// Whether all members are in this process, on GPUs that can access each other's memory. All members call
/// this at the same time, and get the same.
pub(super) fn reach_each_other(context: &PrimaryContext, group: &Arc<dyn Group>) -> Result<bool, GroupError> {
    // What tells this process from others, on whatever host.
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    let own = [*PROCESS, context.cuda.ordinal() as u64].map(u64::to_le_bytes).concat();
    let all = gather(group, &own)?;
    let (words, _) = all.as_chunks::<8>();
    let (members, _) = words.as_chunks::<2>();
    let reaches = |[process, ordinal]: &[[u8; 8]; 2]| {
        let ordinal = u64::from_le_bytes(*ordinal) as usize;
        u64::from_le_bytes(*process) == *PROCESS
            && (ordinal == context.cuda.ordinal() || can_access(context.cuda.ordinal(), ordinal))
    };
    let few = members.len() <= MOST_MEMBERS;
    let reaches_all = few && members.iter().all(reaches);
    Ok(gather(group, &[reaches_all.into()])?.iter().all(|reaches| *reaches == 1))
}

/// Whether a GPU can access the memory of another. The driver's devices are their ordinals.
fn can_access(own: usize, other: usize) -> bool {
    let mut can = 0;
    // SAFETY: writes an int.
    let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, own as i32, other as i32) };
    asked == CUresult::CUDA_SUCCESS && can != 0
}

/// The memory of a mailbox, then of the turns of each block.
#[derive(Debug)]
struct MailboxMemory {
    context: Arc<PrimaryContext>,
    address: CUdeviceptr,
}

/// The mailboxes of this process, in which members find those of others.
static MAILBOXES: LazyLock<Mutex<HashMap<u64, Weak<MailboxMemory>>>> = LazyLock::new(Mutex::default);

impl MailboxMemory {
    /// Zeros, for so many members. The context must be current.
    fn new(context: &Arc<PrimaryContext>, members: usize) -> DeviceResult<MailboxMemory> {
        let bytes = MailboxMemory::turns(members) + BLOCKS * size_of::<u32>() as u64;
        let _quiet = context.gate.quiet_if_any();
        // Pooled memory would not be other GPUs' too.
        // SAFETY: the context is current. The size is a few MiB.
        let address = unsafe { result::malloc_sync(bytes as usize) }.or_driver(&context.id, "cuMemAlloc")?;
        let memory = MailboxMemory { context: context.clone(), address };
        let queue = Queue::new(context.clone())?;
        fill(&context.id, address, 0, bytes, queue.stream.cu_stream())?;
        queue.synchronize()?;
        Ok(memory)
    }

    /// The byte at which the turns start.
    fn turns(members: usize) -> u64 {
        2 * members as u64 * BLOCKS * THREADS * SLOT
    }
}

impl Drop for MailboxMemory {
    fn drop(&mut self) {
        if self.context.enter_drop() {
            let _quiet = self.context.gate.quiet_if_any();
            // SAFETY: it came from cuMemAlloc and is freed once. No kernel uses it: members hold all
            // mailboxes that their kernels use.
            self.context.park(unsafe { result::free_sync(self.address) });
        }
    }
}

/// The mailboxes of all members, as one of them uses them.
pub(super) struct Mailboxes {
    /// By rank.
    all: Vec<Arc<MailboxMemory>>,
    rank: usize,
    exchange: CudaFunction,
}

impl Mailboxes {
    /// Makes this member's, and finds those of the others, who do the same now and
    /// [reach each other](reach_each_other). The context must be current.
    pub(super) fn meet(
        context: &Arc<PrimaryContext>,
        group: &Arc<dyn Group>,
    ) -> Result<Mailboxes, GroupError> {
        let driver = |error: DeviceError| failure("a call of CUDA", error);
        let exchange = kernel_of(context, KERNEL, "exchange").map_err(driver)?;
        let own = Arc::new(MailboxMemory::new(context, group.size()).map_err(driver)?);
        let id = {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut known = lock(&MAILBOXES);
            known.retain(|_, memory| memory.strong_count() > 0);
            known.insert(id, Arc::downgrade(&own));
            id
        };
        let ids = gather(group, &id.to_le_bytes())?;
        let find = |id: &[u8; 8]| lock(&MAILBOXES).get(&u64::from_le_bytes(*id)).and_then(Weak::upgrade);
        let found = ids.as_chunks().0.iter().map(find).collect::<Option<Vec<Arc<MailboxMemory>>>>();
        let all = found.ok_or_else(|| failure("finding a mailbox", "a member has left"))?;
        for other in all.iter().filter(|other| !Arc::ptr_eq(&other.context, context)) {
            enable_access(context, &other.context).map_err(driver)?;
        }
        // From now on all of them may be written to.
        gather(group, &[])?;
        Ok(Mailboxes { all, rank: group.rank(), exchange })
    }

    /// The kernel of an exchange, which may make the check too. `at` are the addresses of the inputs, then
    /// those of the outputs; `words` is that of the words that host and device share.
    pub(super) fn launch(
        &self,
        arrays: &[CollectiveArray],
        at: &[CUdeviceptr],
        words: CUdeviceptr,
        check: Option<&CheckAt>,
    ) -> Result<CudaLaunch, GroupError> {
        let (inputs, outputs) = at.split_at(arrays.len().min(at.len()));
        if inputs.len() != outputs.len() || outputs.is_empty() || arrays.len() > MOST_ARRAYS {
            return Err(failure("an exchange", format!("{} operands", at.len())));
        }
        let size = self.all.len();
        let turns = self.all[self.rank].address + MailboxMemory::turns(size);
        let mut args = vec![words, turns];
        args.extend(self.all.iter().map(|memory| memory.address));
        args.resize(2 + MOST_MEMBERS, 0);
        args.extend(check.map_or([0; 3], |check| [check.status, check.report as u64, check.taken]));
        args.extend([pair(self.rank as u32, size as u32), pair(arrays.len() as u32, 0)]);
        let mut units = 0;
        for (array, (&input, &output)) in arrays.iter().zip(inputs.iter().zip(outputs)) {
            let part = ArrayWords::of(array, (self.rank, size))?;
            units += part.bytes.div_ceil(UNIT);
            args.extend([input, output, part.bytes, part.stride]);
            args.extend([pair(part.kind, part.fold), pair(part.dtype, part.source)]);
        }
        args.resize(HEAD_WORDS + MOST_ARRAYS * ARRAY_WORDS, 0);
        let blocks = units.div_ceil(THREADS).clamp(1, BLOCKS) as u32;
        let launch = CudaLaunch::printed(self.exchange.cu_function(), (blocks, THREADS as u32), args);
        Ok(CudaLaunch { packed: true, ..launch })
    }
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

/// What the kernel does with an array, in its words.
#[derive(Debug, PartialEq)]
struct ArrayWords {
    /// What a member sends to another.
    bytes: u64,
    /// From what is sent to a member to what is sent to the next.
    stride: u64,
    kind: u32,
    fold: u32,
    dtype: u32,
    source: u32,
}

impl ArrayWords {
    /// Of the member of this rank of so many.
    fn of(array: &CollectiveArray, (rank, size): (usize, usize)) -> Result<ArrayWords, GroupError> {
        const FOLDED: u32 = 0;
        const GATHERED: u32 = 1;
        const PICKED: u32 = 2;
        let bytes = array.bytes();
        let plain = ArrayWords { bytes, stride: 0, kind: FOLDED, fold: 0, dtype: 0, source: NONE };
        let picked = |source: Option<usize>| ArrayWords {
            kind: PICKED,
            source: source.map_or(NONE, |rank| rank as u32),
            ..plain
        };
        let folded = |fold| folded(array.dtype, fold).ok_or_else(|| failure(array.kind.name(), array.dtype));
        Ok(match &array.kind {
            CollectiveKind::AllReduce(fold) => {
                let (dtype, fold) = folded(*fold)?;
                ArrayWords { dtype, fold, ..plain }
            }
            CollectiveKind::ReduceScatter(fold) => {
                let (dtype, fold) = folded(*fold)?;
                let bytes = bytes / size.max(1) as u64;
                ArrayWords { bytes, stride: bytes, dtype, fold, ..plain }
            }
            CollectiveKind::AllGather => ArrayWords { kind: GATHERED, ..plain },
            CollectiveKind::Broadcast { root } => picked(Some(*root)),
            CollectiveKind::Permute(route) => picked(route.source(rank, size)),
        })
    }
}

/// The source that is no member.
const NONE: u32 = u32::MAX;

/// The kernel's words for a dtype and a fold.
fn folded(dtype: DType, fold: Fold) -> Option<(u32, u32)> {
    let (sum, max, min) = (0, 1, 2);
    let fold = match fold {
        // Bools are bytes, whose sum is an or.
        Fold::Sum if dtype == DType::Bool => max,
        Fold::Sum => sum,
        Fold::Max => max,
        Fold::Min => min,
        _ => return None,
    };
    let dtype = match dtype {
        DType::I8 => 0,
        DType::I16 => 1,
        DType::I32 => 2,
        DType::I64 => 3,
        DType::Bool | DType::U8 => 4,
        DType::U16 => 5,
        DType::U32 => 6,
        DType::U64 => 7,
        DType::F16 => 8,
        DType::BF16 => 9,
        DType::F32 => 10,
        DType::F64 => 11,
        // Complex arrays are exchanged as their parts.
        DType::C64 | DType::C128 => return None,
    };
    Some((dtype, fold))
}

/// Two members of 4 bytes of the kernel's argument.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// An error of an exchange through GPUs' memory.
pub(super) fn failure(call: &str, message: impl ToString) -> GroupError {
    GroupError::Transport {
        transport: "memory of other GPUs".into(),
        call: call.into(),
        message: message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::watch::SharedWords;
    use super::*;
    use workalike_device::group::Route;

    /// The value of a name that the kernel's source defines.
    fn defined(name: &str) -> u64 {
        let start = format!("#define {name} ");
        let line = KERNEL.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        line.parse().unwrap()
    }

    #[test]
    fn the_kernel_has_the_same_sizes() {
        assert_eq!(defined("MOST_MEMBERS"), MOST_MEMBERS as u64);
        assert_eq!(defined("MOST_ARRAYS"), MOST_ARRAYS as u64);
        assert_eq!((defined("THREADS"), defined("BLOCKS")), (THREADS, BLOCKS));
        let words = [SharedWords::ENDED, SharedWords::CUT_OFF].map(|word| word as u64);
        assert_eq!([defined("ENDED"), defined("CUT_OFF")], words);
        // The most that a kernel's parameters may have.
        const { assert!((HEAD_WORDS + MOST_ARRAYS * ARRAY_WORDS) * 8 <= 4096) }
    }

    /// The position of a name in an enum of the kernel's source.
    fn position(of: &str, name: &str) -> u32 {
        let (_, rest) = KERNEL.split_once(&format!("enum {of} : u32 {{")).unwrap();
        let names = rest.split_once('}').unwrap().0;
        names.split(',').position(|own| own.trim() == name).unwrap() as u32
    }

    #[test]
    fn the_kernel_has_the_same_words() {
        let names = [(DType::I16, "I16"), (DType::Bool, "U8"), (DType::BF16, "BF16"), (DType::F64, "F64")];
        for (dtype, name) in names {
            assert_eq!(folded(dtype, Fold::Min), Some((position("Type", name), position("Fold", "MIN"))));
        }
        assert_eq!(folded(DType::Bool, Fold::Sum).unwrap().1, position("Fold", "MAX"));
        assert_eq!(folded(DType::C64, Fold::Sum), None);
    }

    #[test]
    fn each_kind_is_a_part() {
        let part = |kind| {
            let array = CollectiveArray { kind, dtype: DType::F32, elements: 12 };
            let part = ArrayWords::of(&array, (1, 3)).unwrap();
            (part.bytes, part.stride, part.kind, part.source)
        };
        let kind = |name| position("Kind", name);
        assert_eq!(part(CollectiveKind::AllReduce(Fold::Sum)), (48, 0, kind("FOLD"), NONE));
        assert_eq!(part(CollectiveKind::ReduceScatter(Fold::Max)), (16, 16, kind("FOLD"), NONE));
        assert_eq!(part(CollectiveKind::AllGather), (48, 0, kind("GATHER"), NONE));
        assert_eq!(part(CollectiveKind::Broadcast { root: 2 }), (48, 0, kind("PICK"), 2));
        assert_eq!(part(CollectiveKind::Permute(Route::Shift(1))), (48, 0, kind("PICK"), 0));
        assert_eq!(part(CollectiveKind::Permute([(0, 2)].into())), (48, 0, kind("PICK"), NONE));
    }
}
