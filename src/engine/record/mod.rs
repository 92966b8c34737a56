//! A compiled Program bound to memory, as recordings of the device that are replayed.
//!
//! The owner is [`Recorded`]; a [`BoundProgram`] is one with its Program.
//!
//! | module | content |
//! |---|---|
//! | `regions` | the region of each buffer |
//! | `segment` | work of the device between two host nodes, as one recording |
//! | `control`, `long_loop`, `unrolled_while` | loops and branches that are no single recording |
//! | `iteration_layout` | where a body's buffers are in each iteration |
//! | `recorded` | a whole Program: inputs copied in, Segments replayed |
//! | `exchanges` | exchanges of members of a group through main memory |
//! | `updates` | new values of shared variables, at the end of a call |
//! | `caller_recordings` | the same over memory of the caller |
//! | `block`, `sequence`, `sample_ring` | many calls as one Segment, with their inputs and samples |
//! | `stepwise` | step by step, for debugging |
//! | `results` | the results of a run, in place and on the host |

mod block;
mod caller_recordings;
mod control;
mod exchanges;
mod iteration_layout;
mod long_loop;
mod recorded;
mod regions;
mod results;
mod sample_ring;
mod segment;
mod sequence;
mod stepwise;
mod unrolled_while;
mod updates;

pub(crate) use block::{BlockKey, RecordedBlock, Unrolled, lcm};
pub(crate) use caller_recordings::{CallerRecordings, RecordingChoice, VariantId};
pub(crate) use control::way;
pub(crate) use recorded::{BoundProgram, Recorded};
pub(crate) use regions::Elsewhere;
pub(crate) use results::RunResults;
pub(crate) use sample_ring::{SampleRing, SampledTensor};
pub(crate) use sequence::Sequence;
