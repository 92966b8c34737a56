//! The Programs of a method: one [`Planned`] for each signature, compiled and recorded.
//!
//! | module | content |
//! |---|---|
//! | `method` | [`EngineMethod`]: a definition and its Programs |
//! | `plan_cache`, `evicted` | the Programs that are kept, and those planned again after they were not |
//! | `planned` | a compiled Program and its recordings |
//! | `specialization` | kernels for any size, and for one size later |

mod evicted;
mod method;
mod plan_cache;
mod planned;
mod specialization;

pub(crate) use method::EngineMethod;
pub(crate) use planned::Planned;
