//! Loading is linear: memory is at most four times the size of the file plus 16 MiB, and time is proportional
//! to the size. The global allocator of this program counts memory per thread.

#![allow(clippy::unwrap_used)]

mod bombs;
mod tables;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use workalike::prelude::*;

thread_local! {
    /// Bytes that this thread holds, and the maximum.
    static TAKEN: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counting;

fn count(bytes: isize) {
    // A thread that ends has lost its counter.
    let _ = TAKEN.try_with(|taken| {
        let (now, most) = taken.get();
        taken.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call is forwarded to the system allocator with its arguments, and the counter allocates
// nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc` for `layout`, which is that of
        // `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed` for `layout`, which is that
        // of `System.alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller guarantees that one of the functions above returned `at` for this layout, and
        // both call `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The result of an action, and the most bytes that it held.
fn measured<T>(action: impl FnOnce() -> T) -> (T, usize) {
    let start = TAKEN.get().0;
    TAKEN.set((start, start));
    let result = action();
    (result, (TAKEN.get().1 - start) as usize)
}

fn check(what: &str, file: &[u8]) -> workalike::Result<Bundle> {
    let (bundle, peak) = measured(|| Bundle::from_bytes(file));
    // The bytes of the file are counted, as if it were read.
    let (peak, bound) = (peak + file.len(), 4 * file.len() + (16 << 20));
    assert!(peak <= bound, "{what}: a file of {} bytes took {peak}, more than {bound}", file.len());
    bundle
}

#[test]
fn no_file_takes_more_than_its_share() {
    for kind in bombs::KINDS {
        for size in [1_000, 60_000, 400_000, 4_000_000] {
            let bundle = check(kind, &bombs::bomb(kind, size));
            // The Bundle is dropped within the measured time.
            drop(bundle);
        }
    }
}

#[test]
fn overlapping_and_shared_tensors_are_refused() {
    let error = |kind| check(kind, &bombs::bomb(kind, 60_000)).unwrap_err().to_string();
    assert!(error("tensors").contains("overlap"), "{}", error("tensors"));
    assert!(error("overlap").contains("overlap"));
    assert!(error("shared").contains("the tensor of another one"), "{}", error("shared"));
    assert!(error("axes").contains("at most 64"), "{}", error("axes"));
    assert!(error("text").contains("bytes that are left"), "{}", error("text"));
}

/// A file with constants, defaults, updates, names and several methods.
fn valid() -> Vec<u8> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let w = shared("w", Array2::<f32>::ones((3, 2)));
    let p = softmax(x.dot(&w), -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let g = grad(&cost, [&w]).unwrap();
    let lr = scalar::<f32>("lr");
    let noise = constant(Array1::<f32>::linspace(0.0, 1.0, 500));
    let train = function([In::new(&x), In::new(&y), In::new(&lr).default(0.1f32)])
        .output_named("cost", &cost)
        .output(noise.sum(..))
        .update(&w, &w - &lr * &g[0])
        .compile()
        .unwrap();
    let predict = function([&x]).output(p.argmax(-1)).compile().unwrap();
    Bundle::new().with("train", &train).with("predict", &predict).to_bytes().unwrap()
}

#[test]
fn no_damaged_file_takes_more_than_its_share() {
    let file = valid();
    check("valid", &file).unwrap();
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    for at in 128..file.len() {
        let mut damaged = file.clone();
        damaged[at] = [0, 1, 250, 251, 252, 253, 254, 255][next(8)];
        for _ in 0..next(3) {
            let further = 128 + next(file.len() - 128);
            damaged[further] = next(256) as u8;
        }
        let _ = check("damaged", &tables::with_checksums(damaged));
    }
}

#[test]
fn large_graphs_are_saved_and_loaded() {
    let x = vector::<f32>("x");
    let mut y = x.clone();
    for _ in 0..60_000 {
        y = (y + 1.0).sin();
    }
    let f = function([&x]).output(&y).compile().unwrap();
    let file = Bundle::new().with("f", &f).to_bytes().unwrap();
    let back = check("a large graph", &file).unwrap();
    assert_eq!(back["f"].graph().nodes.len(), f.graph().nodes.len());
    assert_eq!(back.to_bytes().unwrap(), file);
    let many = (0..5000).fold(Bundle::new(), |bundle, i| bundle.with(&format!("{i}"), &f));
    assert_eq!(check("many functions", &many.to_bytes().unwrap()).unwrap().len(), 5000);
}
