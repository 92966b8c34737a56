//! Copies between host and device, and within the device.

use super::{get, noise, part, put, region};
use crate::{Test, open, tests};
use std::sync::Arc;
use workalike::engine::device::{Device, HostBlock};

/// Tests of this file, for any CUDA device.
pub(crate) const TESTS: &[Test] = tests![
    downloads_to_host_memory_of_the_device_are_direct_and_outlive_it,
    bytes_come_back_as_they_went,
    neighbours_are_left_alone,
    a_source_may_change_once_upload_returns,
    device_copies_keep_their_place_in_the_order,
];

fn host_memory(device: &Arc<dyn Device>, bytes: usize) -> Box<dyn HostBlock> {
    device.host_memory(bytes).unwrap()
}

fn downloads_to_host_memory_of_the_device_are_direct_and_outlive_it() {
    let device = open();
    let bytes = 9 << 20;
    let mut block = host_memory(&device, bytes);
    assert!(block.bytes().len() >= bytes && block.bytes().iter().all(|b| *b == 0));
    for round in 0..3 {
        let noise = noise(bytes - 3, round);
        let there = put(&device, &noise);
        device.download(&there, &mut block.bytes_mut()[2..bytes - 1]).unwrap();
        assert!(block.bytes()[2..bytes - 1] == noise[..]);
        // Other memory beside it, as before.
        assert!(get(&device, &there) == noise);
    }
    let first = block.bytes()[2];
    drop(device);
    assert_eq!(block.bytes()[2], first);
    std::thread::spawn(move || drop(block)).join().unwrap();
    let device = open();
    // No more than a few GiB, and never a failure.
    assert!(device.host_memory(1 << 40).is_none());
    assert_eq!(get(&device, &put(&device, &[1, 2, 3])), [1, 2, 3]);
}

fn bytes_come_back_as_they_went() {
    let device = open();
    const MIB: usize = 1 << 20;
    for size in [1, 3, 4, 255, 4096, 65_537, MIB, MIB + 1, 8 * MIB, 8 * MIB + 3, 65 * MIB + 5, 150 * MIB] {
        for offset in [0, 1, 256] {
            let whole = region(&device, (size + 2 * offset) as u64);
            let middle = part(&whole, offset as u64, size as u64);
            let data = noise(size, size + offset);
            device.upload(&data, &middle).unwrap();
            assert!(get(&device, &middle) == data, "{size} bytes at {offset}");
        }
    }
}

fn neighbours_are_left_alone() {
    let device = open();
    let whole = put(&device, &[7; 1000]);
    device.upload(&[1; 100], &part(&whole, 450, 100)).unwrap();
    let mut want = vec![7; 1000];
    want[450..550].fill(1);
    assert_eq!(get(&device, &whole), want);
}

fn a_source_may_change_once_upload_returns() {
    let device = open();
    let regions: Vec<_> = (0..40).map(|_| region(&device, 3 << 20)).collect();
    let mut data = vec![0; 3 << 20];
    for (i, r) in regions.iter().enumerate() {
        data.fill(i as u8);
        device.upload(&data, r).unwrap();
    }
    data.fill(255);
    for (i, r) in regions.iter().enumerate() {
        assert!(get(&device, r).iter().all(|b| *b == i as u8), "{i}");
    }
}

fn device_copies_keep_their_place_in_the_order() {
    let device = open();
    let (a, b) = (put(&device, &noise(5000, 1)), put(&device, &noise(5000, 2)));
    device.copy(&part(&a, 100, 700), &part(&b, 4000, 700)).unwrap();
    device.upload(&noise(5000, 3), &a).unwrap();
    let mut want = noise(5000, 2);
    want[4000..4700].copy_from_slice(&noise(5000, 1)[100..800]);
    assert_eq!(get(&device, &b), want);
    assert_eq!(get(&device, &a), noise(5000, 3));
    device.synchronize().unwrap();
}
