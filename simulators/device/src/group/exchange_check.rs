//! Whether exchanges that devices made by themselves took place.

use super::Group;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::library::{Definition, DefinitionError, LibraryError, LibraryOp};
use workalike_kernels::nest::Operand;

/// A library op that comes after a member's exchanges: if one of them was cut off, since another member did
/// not come, it stores a report to the first of some words, unless there is one already. What follows on the
/// device then stores nothing.
#[derive(Clone, Debug)]
pub struct ExchangeCheck {
    /// The group.
    pub group: Arc<dyn Group>,
    /// What it stores; not 0.
    pub report: i64,
    /// The number of words, each an int64.
    pub words: u64,
    /// Whether it has an input, an int64 that the members have exchanged: another report, which it stores if
    /// all exchanges took place. 0 is none.
    pub takes_report: bool,
}

impl LibraryOp for ExchangeCheck {
    fn name(&self) -> String {
        "exchange_check".into()
    }

    fn dtype(&self) -> DType {
        DType::I64
    }

    fn extents(&self) -> Vec<u64> {
        vec![self.group.size() as u64]
    }

    fn operands(&self) -> Vec<Operand> {
        let taken = self.takes_report.then(|| Operand::contiguous(DType::I64, &[1], false));
        taken.into_iter().chain([Operand::contiguous(DType::I64, &[self.words], true)]).collect()
    }

    fn reads_outputs(&self) -> bool {
        true
    }

    fn is_joint(&self) -> bool {
        true
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let fail = |argument, expected: &str, found: String| {
            let (op, expected) = (LibraryOp::name(self), expected.into());
            Err(LibraryError { op, argument, expected, found })
        };
        match (self.report, self.words) {
            (0, _) => fail("report", "a number other than 0", "0".into()),
            (_, words) if words == 0 || words > 1 << 16 => {
                fail("words", "1 to 65536 words", words.to_string())
            }
            _ => Ok(()),
        }
    }

    fn flops(&self) -> f64 {
        0.0
    }

    /// In main memory an exchange that did not take place is an error at once: there is only what it takes.
    fn definition(&self) -> Option<Result<Definition, DefinitionError>> {
        Some(Ok(Box::new(|inputs: &[&[u8]], outputs: &mut [&mut [u8]]| {
            if let ([taken], [words]) = (inputs, outputs)
                && let Some((first, _)) = words.split_first_chunk_mut::<8>()
                && *first == [0; 8]
            {
                first.copy_from_slice(taken);
            }
            Ok(())
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::threads;
    use std::time::Duration;

    #[test]
    fn reports_that_would_not_be_seen_are_refused() {
        let group = threads(2, Duration::from_secs(1)).remove(0);
        let check = |report, words| {
            ExchangeCheck { group: group.clone(), report, words, takes_report: false }.verify()
        };
        assert_eq!(check(7, 17), Ok(()));
        assert!(check(0, 17).is_err() && check(7, 0).is_err() && check(7, u64::MAX).is_err());
    }

    #[test]
    fn the_first_report_stays() {
        let group = threads(2, Duration::from_secs(1)).remove(0);
        let check = ExchangeCheck { group, report: 7, words: 2, takes_report: true };
        let stored = |first: i64, taken: i64| {
            let mut words = [first, 5].map(i64::to_ne_bytes).concat();
            let run = check.definition().unwrap().unwrap();
            run(&[&taken.to_ne_bytes()], &mut [&mut words]).unwrap();
            words.as_chunks().0.iter().map(|word| i64::from_ne_bytes(*word)).collect::<Vec<_>>()
        };
        assert_eq!((stored(0, 3), stored(2, 3), stored(0, 0)), (vec![3, 5], vec![2, 5], vec![0, 5]));
    }
}
