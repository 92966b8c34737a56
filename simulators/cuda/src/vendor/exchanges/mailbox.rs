//! Exchanges of GPUs that reach each other's memory, by a kernel of ours: see `mailbox.cu`.
//!
//! The members must be on one host, each on a GPU that can access the memory of all the others, in one
//! process or in several. Then any reduction of any dtype is exchanged, with the bits that the members get in
//! main memory: folded in the order of ranks. Each member sends all others what they need at once, so it is
//! for small arrays; larger sums are NCCL's, where it is installed.

mod memory;

use super::CheckAt;
use super::communicator::kernel_of;
use crate::capture::CudaLaunch;
use crate::context::PrimaryContext;
use cudarc::driver::CudaFunction;
use cudarc::driver::sys::{self, CUdeviceptr, CUresult};
use memory::{Mailbox, PROCESS, turns_at};
use std::sync::{Arc, LazyLock};
use workalike_device::group::{Collective, CollectiveArray, CollectiveKind, Group, GroupError, gather};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

const KERNEL: &str = include_str!("mailbox.cu");

// As in mailbox.cu.
const MOST_MEMBERS: usize = 16;
const MOST_ARRAYS: usize = Collective::MOST_ARRAYS;
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

/// Whether the GPUs of all members can access each other's memory. All members call this at the same time,
/// and get the same. The context must be current.
pub(super) fn reach_each_other(
    context: &Arc<PrimaryContext>,
    group: &Arc<dyn Group>,
) -> Result<bool, GroupError> {
    let own = [*PROCESS, *HOST, context.cuda.ordinal() as u64];
    let all = gather(group, &own.map(u64::to_le_bytes).concat())?;
    let words: Vec<u64> = all.as_chunks().0.iter().copied().map(u64::from_le_bytes).collect();
    let (members, _) = words.as_chunks::<3>();
    // Another process may call a GPU by another number: whether it can be reached is tried then.
    let may_reach = |&[process, host, ordinal]: &[u64; 3]| match process == *PROCESS {
        true => ordinal == own[2] || can_access(context.cuda.ordinal(), ordinal as usize),
        false => host == *HOST && host != 0,
    };
    let may_reach_all = members.len() <= MOST_MEMBERS && members.iter().all(may_reach);
    if gather(group, &[may_reach_all.into()])?.contains(&0) {
        return Ok(false);
    }
    let is_one_process = members.iter().all(|[process, ..]| *process == *PROCESS);
    Ok(is_one_process || memory::meet(context, group, 0)?.is_some())
}

/// What tells this host from others, until it is started again; 0 if it is not known.
static HOST: LazyLock<u64> = LazyLock::new(|| {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.chars()
        .filter_map(|digit| digit.to_digit(16))
        .fold(0, |all, digit| all.rotate_left(4) ^ u64::from(digit))
});

/// Whether a GPU can access the memory of another. The driver's devices are their ordinals.
fn can_access(own: usize, other: usize) -> bool {
    let mut can = 0;
    // SAFETY: writes an int.
    let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, own as i32, other as i32) };
    asked == CUresult::CUDA_SUCCESS && can != 0
}

/// The mailboxes of all members, as one of them uses them.
pub(super) struct Mailboxes {
    /// By rank.
    all: Vec<Mailbox>,
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
        let loaded = kernel_of(context, KERNEL, "exchange");
        let exchange = loaded.map_err(|error| failure("a call of CUDA", error))?;
        let all = memory::meet(context, group, group.size())?;
        let all = all.ok_or_else(|| failure("finding a mailbox", "it cannot be accessed any more"))?;
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
        let turns = self.all[self.rank].address() + turns_at(size);
        let mut args = vec![words, turns];
        args.extend(self.all.iter().map(Mailbox::address));
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
