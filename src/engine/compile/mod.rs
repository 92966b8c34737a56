//! From a Function in device form to a compiled Program: shapes, lowering, fusion, layout, kernels.
//!
//! | module | content |
//! |---|---|
//! | `definition` | [`Definition`]: what all signatures share; [`Definition::draft`] makes a Program |
//! | `compiled` | [`Compiled`]: a Program for one signature, with kernels and constants |
//! | `exchanges` | the comparison of what members of a group will exchange |
//! | `owned_results` | which results can be written to memory of the caller |
//! | `status` | how a method's errors are noted and taken from its status words |

mod compiled;
mod definition;
mod exchanges;
mod owned_results;
mod status;

pub(crate) use compiled::Compiled;
pub(crate) use definition::{Definition, ShapeMethod};
pub(crate) use owned_results::{is_overwritable, owned_outputs};
