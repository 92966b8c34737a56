//! The engine.
pub mod device;
