//! Selections in the form for GPUs, run on any device, against a stable sort.

use super::corpus::gpu;
use super::device;
use super::routines::{data, run, words};
use std::sync::Arc;
use workalike_device::LibraryOp;
use workalike_kernels::DType;
use workalike_kernels::library::Sorting;

#[test]
fn selections() {
    let Some(device) = device() else { return };
    let spread: fn(u64) -> Vec<i32> = data;
    let equal = |n: u64| (0..n).map(|i| if i % 5000 == 17 { -3 } else { 7 }).collect();
    let ascending = |n: u64| (0..n as i32).collect();
    // Where there are few rows, of many lanes, parts of rows come first.
    let firsts = [1, 60, 1000].map(|kept| (kept, None));
    let places = [vec![0], vec![4499, 4500], vec![10, 4000, 8999]].map(|only| (9000, Some(only)));
    let cases =
        [1000, 40_000].into_iter().flat_map(|lanes| firsts.iter().chain(&places).map(move |c| (lanes, c)));
    for ((lanes, (kept, only)), values) in cases.flat_map(|case| {
        [spread, equal as _, ascending as _].map(|values: fn(u64) -> Vec<i32>| (case, values))
    }) {
        for descending in [false, true] {
            let (outer, n, kept) = (2, 9000, *kept);
            let (values_too, indices, only) = (true, true, only.clone());
            let op = Sorting {
                dtype: DType::I32,
                shape: [outer, n, 1],
                kept,
                descending,
                values: values_too,
                indices,
                only: only.clone(),
            };
            let target = gpu(if only.is_some() { 1000 } else { lanes });
            assert!(op.routine(&target).unwrap().text.contains("select"), "{op:?}");
            let op: Arc<dyn LibraryOp> = Arc::new(op);
            let (x, count) = (values(outer * n), (outer * kept) as usize);
            let zeros = [vec![0; 4 * count], vec![0; 8 * count]];
            let got = run(&device, &target, &op, std::slice::from_ref(&x), &zeros);
            let indices: Vec<i64> =
                got[1].chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect();
            for row in 0..outer {
                let element = |i: u64| x[(row * n + i) as usize];
                let mut order: Vec<u64> = (0..n).collect();
                order.sort_by_key(|&i| if descending { -i64::from(element(i)) } else { element(i).into() });
                for place in only.clone().unwrap_or_else(|| (0..kept).collect()) {
                    let (to, from) = ((row * kept + place) as usize, order[place as usize]);
                    let found = (words(&got[0])[to], indices[to]);
                    assert_eq!(found, (element(from), from as i64), "{only:?}, {kept}: {place} of row {row}");
                }
            }
        }
    }
}
