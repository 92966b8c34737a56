//! Tables to bytes and back: the only file that names bincode.
//!
//! Always from a slice, always with a limit, and never with bytes left over: without them bincode 2.0.1 aborts the process
//! on hostile lengths. The tables are flat and hold no zero-sized items, so neither recursion nor empty loops can be provoked.

use super::wire::Tables;
use crate::error::{Error, Result};
use bincode::config;

/// More than any graph of a million nodes needs.
const LIMIT: usize = 512 << 20;

pub(super) fn encode(tables: &Tables) -> Result<Vec<u8>> {
    bincode::serde::encode_to_vec(tables, config::standard())
        .map_err(|e| Error::Internal(format!("the tables could not be encoded: {e}")))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Tables, String> {
    let config = config::standard().with_limit::<LIMIT>();
    let (tables, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|e| format!("the tables are damaged: {e}"))?;
    if used != bytes.len() {
        return Err(format!("the tables are damaged: {} bytes are left over", bytes.len() - used));
    }
    Ok(tables)
}
