//! Folds: many numbers into one, in an order that depends on nothing but the Nest.
//!
//! - `tiles`: tiles that instructions have made are folded lane by lane, and at the end the lanes of one.
//! - `stream`: phases that only fold what lies in memory go without tiles. `strided_reduce` has their loops
//!   over numbers, `floats` those over rows of floats in vector registers, `column_reduce` few columns.
//! - `mapped_reduce`, `mapped_loops`: folds of what is made of each element as it is read.
//! - `argreduce`: where the extreme of a row first stands.

pub(super) mod argreduce;
pub(super) mod column_reduce;
pub(super) mod floats;
pub(super) mod mapped_loops;
pub(super) mod mapped_reduce;
pub(super) mod stream;
pub(super) mod strided_reduce;
pub(super) mod tiles;
