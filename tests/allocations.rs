//! Replays on the host allocate no memory: counted, over all threads, by the allocator of this program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use workalike::DType;
use workalike::host::Host;
use workalike::kernels::call::{Call, NonZero, Sorting};
use workalike::rehost::device::{Command, Numerics, Region};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn calls_that_order_and_select_allocate_nothing_when_replayed() {
    let sorting = |shape: [u64; 3], kept: u64, indices: bool, only: Option<Vec<u64>>| {
        let values = !indices || kept < shape[1];
        Call::Sort(Sorting { dtype: DType::F32, shape, kept, descending: false, values, indices, only })
    };
    let calls = [
        sorting([1, 100_000, 1], 100_000, false, Some(vec![0, 30_000, 50_000, 50_001])),
        sorting([5, 20_000, 1], 20_000, false, Some(vec![10_000])),
        sorting([1000, 100, 1], 100, false, Some(vec![50])),
        sorting([1000, 40, 1], 40, false, None),
        sorting([2, 20_000, 1], 20_000, true, None),
        sorting([20, 30, 50], 30, true, None),
        sorting([1, 30_000, 1], 10, true, None),
        Call::NonZero(NonZero { dtype: DType::F32, len: 100_000, kept: 100_000, taken: None }),
    ];
    for threads in [1, 2] {
        let device = Host::threads(threads).open().unwrap();
        let module = device.compile(&[], Numerics::default()).unwrap();
        for call in &calls {
            let scratch = device.call_scratch(call).unwrap();
            let arrays = call.inputs().into_iter().chain(call.outputs());
            let sizes = arrays.map(|(dtype, count)| count * dtype.size() as u64);
            let sizes = sizes.chain((scratch > 0).then_some(scratch));
            let args: Vec<_> = sizes.map(|bytes| Region::whole(device.allocate(bytes).unwrap())).collect();
            let (dtype, count) = call.inputs()[0];
            assert_eq!(dtype, DType::F32);
            let elements = (0..count).flat_map(|at| ((at * 7919 % 100_003) as f32).to_le_bytes());
            device.upload(&elements.collect::<Vec<u8>>(), &args[0]).unwrap();
            let command = Command::Call { call: call.clone(), args };
            let mut recording = device.record(&module, &[command]).unwrap();
            recording.replay().unwrap();
            let before = ALLOCATIONS.load(Relaxed);
            (0..3).for_each(|_| recording.replay().unwrap());
            assert_eq!(ALLOCATIONS.load(Relaxed), before, "{call:?} on {threads} threads");
        }
    }
}
