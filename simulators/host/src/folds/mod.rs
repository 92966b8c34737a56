//! Folds: many numbers into one, in an order that depends on nothing but the Nest.
//!
//! - `tiles`: tiles that instructions have made are folded lane by lane, and at the end the lanes of one.
//! - `stream`: phases that only fold what lies in memory go without tiles. `sweeps` has their loops over numbers, `floats` those over rows
//!   of floats in vector registers, `spread` rows that have a factor each, `narrow` few columns, `totals` sums of narrow integers.
//! - `sights`, `seen`: folds of what is made of each element as it is read.
//! - `first`, `tracked`: where the extreme of a row first stands.

pub(super) mod first;
pub(super) mod floats;
pub(super) mod narrow;
pub(super) mod seen;
pub(super) mod sights;
pub(super) mod spread;
pub(super) mod stream;
pub(super) mod sweeps;
pub(super) mod tiles;
pub(super) mod totals;
#[cfg(target_arch = "x86_64")]
pub(super) mod tracked;
