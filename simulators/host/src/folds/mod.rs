//! Folds (reductions), in an order that depends on nothing but the Nest.
//!
//! - `tiles`: folds of computed tiles, lane by lane, and finally over the lanes of one tile.
//! - `stream`: phases that only fold memory, without tiles. `strided_reduce` has their loops over numbers,
//!   `floats` those over rows of floats in vector registers, `column_reduce` those over narrow matrices.
//! - `mapped_reduce`, `mapped_loops`: folds over a mapped element.
//! - `argreduce`: argmax and argmin.

pub(super) mod argreduce;
pub(super) mod column_reduce;
pub(super) mod floats;
pub(super) mod mapped_loops;
pub(super) mod mapped_reduce;
pub(super) mod stream;
pub(super) mod strided_reduce;
pub(super) mod tiles;
