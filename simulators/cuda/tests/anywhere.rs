//! What must hold on every host, with CUDA or without.

use workalike::engine::Open;
use workalike::error::DeviceError;
use workalike_cuda::{Cuda, list, why_not};

#[test]
fn a_host_has_devices_or_a_reason_why_not() {
    let devices = list();
    match why_not() {
        Some(reason) => assert!(reason.len() > 20 && reason.contains(". "), "{reason}"),
        None => assert!(!devices.is_empty()),
    }
    for (at, device) in devices.iter().enumerate() {
        assert_eq!(device.ordinal, at);
        assert!(!device.name.is_empty() && device.memory > 0 && device.units > 0, "{device:?}");
    }
}

#[test]
fn opening_says_the_same_as_why_not() {
    match (Cuda::auto().open(), why_not()) {
        (Ok(device), None) => assert_eq!(device.properties().id, "cuda:0"),
        (Err(DeviceError::Missing { device, why, help }), Some(reason)) => {
            assert_eq!(device, "cuda:0");
            assert_eq!(format!("{why}. {help}"), reason);
        }
        (opened, reason) => panic!("{opened:?}, but {reason:?}"),
    }
}

#[test]
fn a_device_beyond_the_last_is_missing_not_a_panic() {
    let Err(DeviceError::Missing { device, .. }) = Cuda::device(4711).open() else { panic!("it opened") };
    assert_eq!(device, "cuda:4711");
}

#[test]
fn asking_from_many_threads_at_once_is_fine() {
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (list(), Cuda::device(0).open().is_ok()))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|a| a == &answers[0]));
}
