//! Numbers, text and lists to bytes and back, in the encoding of bincode 2's standard configuration. bincode
//! encodes and decodes numbers. Text and lists are read here, since bincode allocates memory for them before
//! it looks for the bytes.
//!
//! Text and lists start with their length. An optional item starts with a byte 0 or 1. The decoder allocates
//! no memory that a [`Budget`] does not allow, and none for items that the remaining bytes cannot hold.

use super::bad;
use crate::error::{Error, Result};
use crate::fallible;
use bincode::config::Configuration;

/// One byte for a number below 251, else three, five or nine; signed numbers in zigzag.
const ENCODING: Configuration = bincode::config::standard();
/// Maximum encoded size of a number, in bytes.
const WIDEST: usize = 9;

/// Bytes being written.
#[derive(Default)]
pub(super) struct Encoder(pub(super) Vec<u8>);

impl Encoder {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        fallible::reserve(&mut self.0, bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn byte(&mut self, byte: u8) -> Result<()> {
        self.bytes(&[byte])
    }

    pub(super) fn number(&mut self, number: u64) -> Result<()> {
        self.integer(number)
    }

    pub(super) fn signed(&mut self, number: i64) -> Result<()> {
        self.integer(number)
    }

    fn integer(&mut self, number: impl bincode::Encode) -> Result<()> {
        let mut bytes = [0; WIDEST];
        let length = bincode::encode_into_slice(number, &mut bytes, ENCODING);
        self.bytes(&bytes[..length.map_err(|e| Error::Internal(e.to_string()))?])
    }

    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        self.number(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    pub(super) fn option<T>(
        &mut self,
        item: Option<T>,
        write: impl FnOnce(&mut Encoder, T) -> Result<()>,
    ) -> Result<()> {
        self.byte(u8::from(item.is_some()))?;
        item.map_or(Ok(()), |item| write(self, item))
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Encoder, T) -> Result<()>,
    ) -> Result<()> {
        self.number(items.len() as u64)?;
        items.into_iter().try_for_each(|item| write(self, item))
    }

    pub(super) fn ids(&mut self, ids: &[u32]) -> Result<()> {
        self.list(ids.iter(), |to, &id| to.number(id.into()))
    }
}

/// Memory that loading may still take, in bytes.
pub(super) struct Budget {
    left: u64,
    used: u64,
}

/// Bytes of an allocation with the allocator's overhead, as of glibc's malloc.
const fn allocation(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        1..=24 => 32,
        _ => (bytes.saturating_add(8)).next_multiple_of(16),
    }
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Budget {
        Budget { left: bytes, used: 0 }
    }

    /// Counts an allocation of `bytes`, before it is made.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        self.take_each(1, bytes)
    }

    /// Counts `count` allocations of `bytes` each.
    pub(super) fn take_each(&mut self, count: usize, bytes: usize) -> Result<()> {
        let all = allocation(bytes as u64).saturating_mul(count as u64);
        self.used = self.used.saturating_add(all);
        match self.left.checked_sub(all) {
            Some(left) => self.left = left,
            None => {
                return bad(
                    "loading it would take more than four times its size of memory and 16 MiB: it is damaged",
                );
            }
        }
        Ok(())
    }

    /// Bytes counted so far.
    pub(super) fn used(&self) -> u64 {
        self.used
    }
}

/// Bytes being read.
pub(super) struct Decoder<'a> {
    left: &'a [u8],
    pub(super) budget: Budget,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8], budget: Budget) -> Decoder<'a> {
        Decoder { left: bytes, budget }
    }

    /// The budget, once everything is read; an error if bytes are left.
    pub(super) fn finish(self) -> Result<Budget> {
        match self.left.len() {
            0 => Ok(self.budget),
            more => bad(format!("the tables are damaged: {more} bytes are left over")),
        }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.left.split_at_checked(count) {
            Some((bytes, left)) => {
                self.left = left;
                Ok(bytes)
            }
            None => bad(format!("the tables are damaged: {count} bytes expected, {} left", self.left.len())),
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.bytes(1).map(|b| b[0])
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        self.integer()
    }

    pub(super) fn signed(&mut self) -> Result<i64> {
        self.integer()
    }

    fn integer<T: bincode::Decode<()>>(&mut self) -> Result<T> {
        match bincode::decode_from_slice(self.left, ENCODING) {
            Ok((number, length)) => {
                self.bytes(length)?;
                Ok(number)
            }
            Err(error) => bad(format!("the tables are damaged: {error}")),
        }
    }

    pub(super) fn id(&mut self) -> Result<u32> {
        let number = self.number()?;
        match u32::try_from(number) {
            Ok(id) => Ok(id),
            Err(_) => bad(format!("the tables are damaged: id {number}")),
        }
    }

    /// A number of items, each of at least `least` bytes.
    pub(super) fn count(&mut self, least: usize) -> Result<usize> {
        let count = self.number()?;
        match usize::try_from(count)
            .ok()
            .filter(|n| n.checked_mul(least).is_some_and(|b| b <= self.left.len()))
        {
            Some(count) => Ok(count),
            None => bad(format!(
                "the tables are damaged: {count} items in the {} bytes that are left",
                self.left.len()
            )),
        }
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let length = self.count(1)?;
        self.budget.take(length)?;
        let bytes = self.bytes(length)?;
        let Ok(text) = std::str::from_utf8(bytes) else {
            return bad("the tables are damaged: text is not UTF-8");
        };
        let mut copy = String::new();
        copy.try_reserve_exact(length).map_err(|_| fallible::refused(length))?;
        copy.push_str(text);
        Ok(copy)
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            other => bad(format!("the tables are damaged: an optional item begins with {other}")),
        }
    }

    /// A list of items, each of at least `least` bytes in the file.
    pub(super) fn list<T>(
        &mut self,
        least: usize,
        read: impl FnMut(&mut Decoder<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.count(least)?;
        self.items(count, read)
    }

    /// `count` items, where `count` is from [`Decoder::count`].
    pub(super) fn items<T>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Decoder<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.budget.take(count.saturating_mul(size_of::<T>()))?;
        let mut items = fallible::with_capacity(count)?;
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    pub(super) fn ids(&mut self) -> Result<Vec<u32>> {
        self.list(1, Decoder::id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_text_are_bincodes_and_come_back() {
        let config = bincode::config::standard();
        let numbers = [0u64, 250, 251, 65535, 65536, u64::from(u32::MAX), 1 << 32, u64::MAX];
        for number in numbers {
            for signed in [number as i64, (number as i64).wrapping_neg()] {
                let mut ours = Encoder::default();
                ours.number(number).unwrap();
                ours.signed(signed).unwrap();
                ours.text("übermut").unwrap();
                ours.option(Some(3), |to, id| to.number(id)).unwrap();
                ours.ids(&[1, 300]).unwrap();
                let theirs = (number, signed, "übermut", Some(3u32), vec![1u32, 300]);
                assert_eq!(ours.0, bincode::serde::encode_to_vec(theirs, config).unwrap());
                let mut from = Decoder::new(&ours.0, Budget::new(1 << 20));
                assert_eq!(from.number().unwrap(), number);
                assert_eq!(from.signed().unwrap(), signed);
                assert_eq!(from.text().unwrap(), "übermut");
                assert_eq!(from.option(Decoder::id).unwrap(), Some(3));
                assert_eq!(from.ids().unwrap(), [1, 300]);
                assert!(from.finish().unwrap().used() > 0);
            }
        }
    }

    #[test]
    fn no_length_beyond_the_bytes_left_is_accepted() {
        for length in [4u64, 500_000_000, u64::MAX] {
            let mut bytes = Encoder::default();
            bytes.number(length).unwrap();
            bytes.bytes(b"abc").unwrap();
            let decoder = || Decoder::new(&bytes.0, Budget::new(u64::MAX));
            assert!(decoder().text().is_err());
            assert!(decoder().ids().is_err());
        }
        let mut within = Encoder::default();
        within.ids(&[0; 100]).unwrap();
        assert!(Decoder::new(&within.0, Budget::new(399)).ids().is_err());
        assert!(Decoder::new(&within.0, Budget::new(500)).ids().is_ok());
    }
}
