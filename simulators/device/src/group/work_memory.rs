//! Memory that exchanges need: a refusal of the system is an error.

use super::GroupError;

fn with_room(bytes: usize) -> Result<Vec<u8>, GroupError> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| GroupError::OutOfMemory { bytes: bytes as u64 })?;
    Ok(room)
}

/// So many zeros.
///
/// # Errors
/// If the system refuses the memory.
pub fn zeros(bytes: usize) -> Result<Vec<u8>, GroupError> {
    let mut zeros = with_room(bytes)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

/// Arrays one after another.
///
/// # Errors
/// If the system refuses the memory.
pub fn joined(arrays: &[&[u8]]) -> Result<Vec<u8>, GroupError> {
    let mut all = with_room(arrays.iter().map(|array| array.len()).sum())?;
    arrays.iter().for_each(|array| all.extend_from_slice(array));
    Ok(all)
}
