//! The service with devices that fail while it answers.

#![allow(clippy::unwrap_used)] // tests

use workalike::prelude::*;
use workalike_examples::service::serve;

#[test]
fn no_answer_comes_from_mixed_weights() {
    serve(&Host::auto().open().unwrap(), 4, 250).unwrap();
}

/// At the start, while Programs are planned, and while serving: wherever the device fails, the host takes
/// over.
#[test]
fn a_device_that_fails_is_replaced_by_the_host() {
    for commands in [0, 3, 30, 100, 300, 1000] {
        let failing = Host::auto().failing_after(commands);
        serve(&failing.open().unwrap(), 3, 60).unwrap();
        assert!(failing.has_failed());
    }
}
