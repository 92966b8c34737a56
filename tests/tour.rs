//! The example of the README and of the crate's front page, run on the host device.

#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../examples/tour.rs"]
mod tour;

#[test]
fn the_tour_runs() {
    tour::main().unwrap();
}
