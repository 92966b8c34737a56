//! Devices and their memory, through the Device trait.
#![allow(clippy::unwrap_used)] // nothing here but tests

mod common;

use common::{device, region};
use std::sync::Arc;
use workalike::engine::Open;
use workalike::engine::device::{Command, Numerics, Region};
use workalike::error::DeviceError;
use workalike_opencl::{DeviceKind, OpenCl, list};

#[test]
fn the_list_and_the_device_agree() {
    let Some(device) = device() else { return };
    let all = list().unwrap();
    let info = all.iter().find(|info| info.id() == device.properties().id).unwrap();
    let properties = device.properties();
    assert_eq!(info.name, properties.name);
    assert!(!properties.name.is_empty() && properties.driver.contains("OpenCL"));
    assert!(properties.alignment.is_power_of_two() && properties.alignment >= 256);
    assert!(properties.units > 0 && properties.lanes >= u64::from(properties.units));
    assert!(properties.memory >= properties.largest_allocation && properties.largest_allocation > 0);
    assert!(info.max_group > 0 && info.local_memory > 0 && info.unusable.is_none());
    if all.iter().any(|i| i.kind == DeviceKind::Gpu && i.unusable.is_none()) {
        assert_eq!(info.kind, DeviceKind::Gpu, "a GPU comes first");
    }
    for (position, info) in all.iter().enumerate() {
        assert!(all[..position].iter().all(|other| other.id() != info.id()));
    }
}

#[test]
fn a_device_that_is_not_there_is_missing() {
    for selector in [OpenCl::device(99, 0), OpenCl::device(0, 99)] {
        let error = selector.open().unwrap_err();
        assert!(matches!(&error, DeviceError::Missing { .. }), "{error}");
        assert!(
            error.to_string().contains("opencl:") && error.to_string().contains("pocl-opencl-icd"),
            "{error}"
        );
    }
}

#[test]
fn bytes_go_there_and_back() {
    let Some(device) = device() else { return };
    let memory = device.allocate(1000).unwrap();
    assert_eq!(memory.bytes(), 1000);
    let bytes: Vec<u8> = (0..1000).map(|i| (i * 7) as u8).collect();
    device.upload(&bytes, &Region::whole(memory.clone())).unwrap();
    // Transfers need no alignment.
    device.upload(&[1, 2, 3], &region(&memory, 501, 3)).unwrap();
    device.copy(&region(&memory, 0, 11), &region(&memory, 600, 11)).unwrap();
    let mut expected = bytes.clone();
    expected[501..504].copy_from_slice(&[1, 2, 3]);
    expected.copy_within(0..11, 600);
    let mut found = vec![0; 1000];
    device.download(&Region::whole(memory.clone()), &mut found).unwrap();
    assert_eq!(found, expected);
    let mut found = vec![0; 5];
    device.download(&region(&memory, 500, 5), &mut found).unwrap();
    assert_eq!(found, expected[500..505]);
}

#[test]
fn clear_and_copy_are_recorded_with_offsets() {
    let Some(device) = device() else { return };
    let module = device.compile(&[], Numerics::default()).unwrap();
    assert_eq!(module.source(), "");
    let (a, b) = (device.allocate(256).unwrap(), device.allocate(256).unwrap());
    device.upload(&[9; 256], &Region::whole(a.clone())).unwrap();
    device.upload(&[5; 256], &Region::whole(b.clone())).unwrap();
    let mut recording = device
        .record(
            &module,
            &[
                Command::Clear { target: region(&a, 3, 5) },
                Command::Clear { target: region(&a, 64, 32) },
                Command::Copy { source: region(&a, 0, 96), target: region(&b, 100, 96) },
                Command::Clear { target: region(&a, 7, 0) },
            ],
        )
        .unwrap();
    let mut half = vec![9u8; 96];
    half[3..8].fill(0);
    half[64..96].fill(0);
    for _ in 0..2 {
        recording.replay().unwrap();
        let mut found = vec![1; 256];
        device.download(&Region::whole(b.clone()), &mut found).unwrap();
        assert_eq!(found[100..196], half);
        assert!(found[..100].iter().chain(&found[196..]).all(|&x| x == 5));
        device.upload(&[5; 256], &Region::whole(b.clone())).unwrap();
    }
}

#[test]
fn memory_may_be_dropped_while_it_is_used() {
    let Some(device) = device() else { return };
    let bytes = 1 << 22;
    let last = device.allocate(bytes).unwrap();
    let first = device.allocate(bytes).unwrap();
    device.upload(&vec![77; bytes as usize], &Region::whole(first.clone())).unwrap();
    device.copy(&Region::whole(first.clone()), &Region::whole(last.clone())).unwrap();
    drop(first);
    let mut found = vec![0; bytes as usize];
    device.download(&Region::whole(last), &mut found).unwrap();
    assert!(found.iter().all(|&b| b == 77));
}

#[test]
fn two_queues_share_memory() {
    let Some(one) = device() else { return };
    let Some(two) = device() else { return };
    assert!(!Arc::ptr_eq(&one, &two));
    let memory = one.allocate(4).unwrap();
    one.upload(&[1, 2, 3, 4], &Region::whole(memory.clone())).unwrap();
    one.synchronize().unwrap();
    let mut found = [0; 4];
    two.download(&Region::whole(memory), &mut found).unwrap();
    assert_eq!(found, [1, 2, 3, 4]);
}

#[test]
fn too_much_memory_is_an_error() {
    let Some(device) = device() else { return };
    for bytes in [u64::MAX, 1 << 60, device.properties().largest_allocation + 1] {
        let error = device.allocate(bytes).unwrap_err();
        assert!(matches!(error, DeviceError::OutOfMemory { requested, .. } if requested == bytes), "{error}");
    }
    assert!(device.allocate(0).unwrap().bytes() >= 1);
}

#[test]
fn wrong_regions_are_errors() {
    let Some(device) = device() else { return };
    let memory = device.allocate(16).unwrap();
    let refused = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Driver { .. } | DeviceError::Argument(_))))
    };
    refused(device.upload(&[0; 8], &region(&memory, 0, 9)));
    refused(device.upload(&[0; 8], &region(&memory, 9, 8)));
    refused(device.upload(&[0; 8], &region(&memory, u64::MAX, 8)));
    refused(device.download(&region(&memory, 16, 1), &mut [0]));
    refused(device.copy(&region(&memory, 0, 4), &region(&memory, 8, 8)));
    refused(device.copy(&region(&memory, 0, 8), &region(&memory, 4, 8)));
    let module = device.compile(&[], Numerics::default()).unwrap();
    let launch = Command::Launch { nest: 0, args: vec![Region::whole(memory.clone())] };
    refused(device.record(&module, &[launch]).map(drop));
}
