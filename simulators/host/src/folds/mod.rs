//! Folds: many numbers into one, in an order that depends on nothing but the Nest.
//!
//! - `tiles`: tiles that instructions have made are folded lane by lane, and at the end the lanes of one.
//! - `stream`: phases that only fold what lies in memory go without tiles. `strided_reduce` has their loops over numbers, `floats` those over rows
//!   of floats in vector registers, `scaled_rows` rows that have a factor each, `column_reduce` few columns, `widening_sum` sums of narrow integers.
//! - `mapped_reduce`, `mapped_loops`: folds of what is made of each element as it is read.
//! - `argreduce`, `argreduce_lanes`: where the extreme of a row first stands.

pub(super) mod argreduce;
#[cfg(target_arch = "x86_64")]
pub(super) mod argreduce_lanes;
pub(super) mod column_reduce;
pub(super) mod floats;
pub(super) mod mapped_loops;
pub(super) mod mapped_reduce;
pub(super) mod scaled_rows;
pub(super) mod stream;
pub(super) mod strided_reduce;
pub(super) mod tiles;
pub(super) mod widening_sum;
