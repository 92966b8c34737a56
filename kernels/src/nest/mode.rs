//! Index modes: the meaning of an index out of range.

use super::{Inst, Phase};

/// The position that stands for an integer out of range, along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexMode {
    /// The nearest position.
    Clamp,
    /// The integer modulo the extent, as Python's `%`.
    Wrap,
    /// NumPy's rule for indices that are known to be valid: a negative integer counts from the end. An
    /// integer still out of range stands for the nearest position.
    FromEnd,
    /// NumPy's rule: as [`FromEnd`](IndexMode::FromEnd), and an integer outside of `-extent..extent` is
    /// reported. If several points report, any one of the reports is kept.
    Report {
        /// The operand of the status word: a written i64 of rank 0 that the phase does not load.
        status: usize,
        /// The number that is stored there: that of the graph node with the index.
        node: i64,
    },
}

impl IndexMode {
    /// The position among `extent` that an integer stands for; 0 if `extent` is 0.
    pub fn position(self, value: i64, extent: u64) -> i64 {
        let (value, extent) = (i128::from(value), i128::from(extent));
        let nearest = |at: i128| at.clamp(0, (extent - 1).max(0));
        let position = match self {
            IndexMode::Clamp => nearest(value),
            IndexMode::Wrap => value.checked_rem_euclid(extent).unwrap_or(0),
            IndexMode::FromEnd | IndexMode::Report { .. } => {
                nearest(if value < 0 { value + extent } else { value })
            }
        };
        // Extents are below 2^63, as `verify` requires.
        i64::try_from(position).unwrap_or(i64::MAX)
    }

    /// Whether an integer is out of range for `extent` positions, counted from either end.
    pub fn is_outside(value: i64, extent: u64) -> bool {
        let (value, extent) = (i128::from(value), i128::from(extent));
        value < -extent || value >= extent
    }

    /// The operand that it reports to.
    pub fn status(self) -> Option<usize> {
        match self {
            IndexMode::Report { status, .. } => Some(status),
            IndexMode::Clamp | IndexMode::Wrap | IndexMode::FromEnd => None,
        }
    }

    /// The mode with its operand renumbered: `operands` gives the new number of each.
    #[must_use]
    pub fn renumbered(self, operands: &[usize]) -> IndexMode {
        match self {
            IndexMode::Report { status, node } => IndexMode::Report { status: operands[status], node },
            other => other,
        }
    }
}

impl Inst {
    /// The status operand, if the instruction reports. Such an instruction is computed even if its value is
    /// unused.
    pub fn status(&self) -> Option<usize> {
        match self {
            Inst::Position { mode, .. } => mode.status(),
            _ => None,
        }
    }

    /// Removes the report, but not the value.
    pub fn silence(&mut self) {
        if let Inst::Position { mode, .. } = self
            && mode.status().is_some()
        {
            *mode = IndexMode::FromEnd;
        }
    }
}

impl Phase {
    /// Whether one of the Nest's indices is reported if it is out of range.
    pub fn reports(&self) -> bool {
        self.block.insts.iter().any(|inst| inst.status().is_some())
    }
}
