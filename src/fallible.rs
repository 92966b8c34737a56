//! Vectors whose size a user, a file or a device decides: out of memory is an error, never an abort.

use crate::error::{DeviceError, Error, Result};

/// The error for an allocation of `bytes` that the system refused.
pub(crate) fn refused(bytes: usize) -> Error {
    Error::Device(DeviceError::OutOfMemory {
        device: "host".into(),
        requested: bytes as u64,
        available: "the system gives this process no more".into(),
    })
}

/// Room for `more` further elements.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    list.try_reserve(more)
        .map_err(|_| refused(list.len().saturating_add(more).saturating_mul(size_of::<T>())))
}

/// An empty vector with room for exactly `count` elements.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| refused(count.saturating_mul(size_of::<T>())))?;
    Ok(list)
}

/// `count` copies of an element: `vec![element; count]`.
pub(crate) fn filled<T: Clone>(element: T, count: usize) -> Result<Vec<T>> {
    let mut list = with_capacity(count)?;
    list.resize(count, element);
    Ok(list)
}

/// The elements of an iterator, as `collect` gathers them.
pub(crate) fn collected<T>(elements: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let elements = elements.into_iter();
    let mut list = with_capacity(elements.size_hint().0)?;
    for element in elements {
        if list.len() == list.capacity() {
            reserve(&mut list, 1)?;
        }
        list.push(element);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(filled(0u64, usize::MAX / 8).is_err());
        assert!(with_capacity::<u8>(usize::MAX).is_err());
        assert!(reserve(&mut vec![0u32; 3], usize::MAX).is_err());
        assert_eq!(filled(7u8, 3).unwrap(), [7; 3]);
        assert_eq!(collected((0..1000).filter(|n| n % 3 == 0)).unwrap().len(), 334);
    }
}
