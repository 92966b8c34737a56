//! The examples of the README and of the crate documentation, run on the host device.

#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../../examples/first.rs"]
mod first;
#[path = "../../examples/tour.rs"]
mod the_tour;

#[test]
fn the_first_program_runs() {
    first::main().unwrap();
}

#[test]
fn the_tour_runs() {
    the_tour::main().unwrap();
}
