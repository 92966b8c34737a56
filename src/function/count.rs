//! Numbers of steps.

use crate::error::{Error, Result};

/// A number of steps, samples or the like, of any integer type; not negative.
pub trait Count {
    /// As a u64.
    ///
    /// # Errors
    /// If it is negative.
    fn count(self) -> Result<u64>;
}

macro_rules! counts {
    ($($t:ty),*) => { $(impl Count for $t {
        #[track_caller]
        fn count(self) -> Result<u64> {
            u64::try_from(self).map_err(|_| Error::mismatch("count", "a number from 0 on", self.to_string()))
        }
    })* };
}
counts!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
