//! Groups over MPI: one process for each member, on one host or on many, in main memory.
//!
//! `world` makes this process a member of the group of all processes that `mpirun` or `srun` started. Its
//! arrays go through main memory, so it serves each device.
//!
//! MPI moves bytes only: sums are folded here, in the order of ranks, as in a group of threads. So all
//! members get the same bits, in each call, and halves are rounded once.
//!
//! All calls of MPI are made by one thread (`member.rs`), which is also how a member that waits in vain gets
//! an error: the thread stays in its call, and the group is closed.
//!
//! The crate is empty without the feature `link`, since MPI's library and libclang are needed to build it.

#[cfg(feature = "link")]
mod exchange;
#[cfg(feature = "link")]
mod member;

#[cfg(feature = "link")]
pub use member::world;
