//! Replays on the host allocate no memory. The global allocator of this program counts, per thread.
//!
//! The calling thread must not allocate in any replay. Other threads (the workers of the pool, the test
//! harness) allocate a bounded number of times when they start, and when they start depends on the load of
//! the machine. A replay that allocates in a worker does so every time. So one round of replays without an
//! allocation in any thread is enough.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use workalike::DType;
use workalike::engine::Open;
use workalike::engine::device::{Command, LibraryOutput, Numerics, Region};
use workalike::host::Host;
use workalike::kernels::library::{LibraryNonZero, LibraryOp, Sorting};
use workalike::kernels::nest::Operand;
use workalike::prelude::*;

/// Rounds of replays in which other threads may still be starting.
const ROUNDS: usize = 1000;

static BY_ALL_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Needs neither memory nor a destructor, so the allocator may use it.
    static BY_THIS_THREAD: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is forwarded to the system allocator with its arguments, and the counters allocate
// nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BY_ALL_THREADS.fetch_add(1, Relaxed);
        BY_THIS_THREAD.set(BY_THIS_THREAD.get() + 1);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc` for `layout`, which is that of
        // `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees that `alloc` above returned `at` for this layout, and it calls
        // `System.alloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn ops_that_order_and_select_allocate_nothing_when_replayed() {
    let sorting = |shape: [u64; 3], kept: u64, indices: bool, only: Option<Vec<u64>>| {
        let values = !indices || kept < shape[1];
        let dtype = DType::F32;
        let sorting = Sorting { dtype, shape, kept, descending: false, values, indices, only };
        Arc::new(sorting) as Arc<dyn LibraryOp>
    };
    let ops = [
        sorting([1, 100_000, 1], 100_000, false, Some(vec![0, 30_000, 50_000, 50_001])),
        sorting([5, 20_000, 1], 20_000, false, Some(vec![10_000])),
        sorting([1000, 100, 1], 100, false, Some(vec![50])),
        sorting([1000, 40, 1], 40, false, None),
        sorting([2, 20_000, 1], 20_000, true, None),
        sorting([20, 30, 50], 30, true, None),
        sorting([1, 30_000, 1], 10, true, None),
        Arc::new(LibraryNonZero { dtype: DType::F32, len: 100_000, kept: 100_000, taken: None }),
    ];
    for threads in [1, 2] {
        let device = Host::threads(threads).open().unwrap();
        let module = device.compile(&[], Numerics::default()).unwrap();
        for op in &ops {
            let scratch = device.library(&**op, None).unwrap();
            let count = |operand: &Operand| operand.shape.iter().product::<u64>();
            let memory = |bytes| Region::whole(device.allocate(bytes).unwrap());
            let regions = |operands: Vec<Operand>| -> Vec<Region> {
                operands.iter().map(|o| memory(count(o) * o.dtype.size() as u64)).collect()
            };
            let (inputs, outputs) = (regions(op.inputs()), regions(op.outputs()));
            assert_eq!(op.dtype(), DType::F32);
            let count = count(&op.inputs()[0]);
            let elements = (0..count).flat_map(|at| ((at * 7919 % 100_003) as f32).to_le_bytes());
            device.upload(&elements.collect::<Vec<u8>>(), &inputs[0]).unwrap();
            let scratch = (scratch > 0).then(|| memory(scratch));
            let target = LibraryOutput::Memory(outputs);
            let command = Command::Library { op: op.clone(), inputs, target, scratch };
            let mut recording = device.record(&module, &[command]).unwrap();
            recording.replay().unwrap();
            let clean = (0..ROUNDS).any(|_| {
                let (here, all) = (BY_THIS_THREAD.get(), BY_ALL_THREADS.load(Relaxed));
                (0..3).for_each(|_| recording.replay().unwrap());
                assert_eq!(BY_THIS_THREAD.get(), here, "{op:?} on {threads} threads");
                BY_ALL_THREADS.load(Relaxed) == all
            });
            assert!(clean, "a worker allocates in each replay of {op:?} on {threads} threads");
        }
    }
}

#[test]
fn linear_algebra_allocates_nothing_in_each_iteration() {
    let a = shared("a", array![[4f64, 1., 0.], [1., 5., 2.], [0., 2., 6.]]);
    let (x, l, d) =
        (shared("x", array![1f64, 2., 3.]), shared("l", Array2::<f64>::zeros((3, 3))), shared("d", 0f64));
    let f = function([] as [&Variable; 0])
        .update(&x, linalg::solve(&a, &x))
        .update(&l, linalg::cholesky(&a))
        .update(&d, linalg::det(&a))
        .compile()
        .unwrap();
    let counts = || {
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let mut allocated = |iterations: u64| {
            let before = BY_THIS_THREAD.get();
            sim.run_n(iterations, args![]).unwrap();
            BY_THIS_THREAD.get() - before
        };
        // Plans and recordings are made in the first runs.
        (0..3).for_each(|_| _ = (allocated(64), allocated(640)));
        (allocated(64), allocated(640))
    };
    // The engine allocates once per block of iterations. Blocks are short where recording them took long, as
    // it does now and then beside other work; an allocation in each iteration is in each round.
    let counted: [(usize, usize); 5] = std::array::from_fn(|_| counts());
    let few_enough = |(few, many): &(usize, usize)| many - few <= (640 - 64) / 8;
    assert!(counted.iter().any(few_enough), "in 64 iterations, and in 640: {counted:?}");
}
