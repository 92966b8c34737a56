//! Discrete Fourier transforms.

use super::{Definition, DefinitionError, InMemory, LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// Which transform. None is scaled: an inverse of a forward transform is the input times the number of its
/// elements. A complex number is a pair, real part first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FourierKind {
    /// `y[k] = sum over j of x[j] exp(-2 pi i j k / n)`, of complex numbers.
    Forward,
    /// The same with `exp(+2 pi i j k / n)`.
    Inverse,
    /// [`FourierKind::Forward`] of real numbers: the first `n / 2 + 1` elements along the last axis.
    RealForward,
    /// [`FourierKind::Inverse`] to real numbers, from the first `n / 2 + 1` elements, of one axis. The
    /// imaginary parts of elements 0 and, if `n` is even, `n / 2` are 0.
    RealInverse,
}

/// Fourier transforms of a batch of contiguous arrays of float32 or float64. One operand is read and one is
/// written: `(batch, extents..)` of real numbers, and `(batch, extents.., 2)` of complex ones. The last
/// extent of complex numbers that belong to real ones is `n / 2 + 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fourier {
    /// The dtype of both operands.
    pub dtype: DType,
    /// Which transform.
    pub transform: FourierKind,
    /// Number of arrays.
    pub batch: u64,
    /// Extents of an array of real numbers, or of complex ones that belong to none: 1 to 3, at least 1 each.
    pub extents: Vec<u64>,
    /// The implementation in main memory.
    pub in_memory: InMemory<Fourier>,
}

impl Fourier {
    /// Whether one of the operands is real.
    pub fn has_reals(&self) -> bool {
        matches!(self.transform, FourierKind::RealForward | FourierKind::RealInverse)
    }

    /// Elements of an array of real numbers, or of complex ones that belong to none.
    pub fn points(&self) -> u64 {
        self.extents.iter().fold(1, |all, extent| all.saturating_mul(*extent))
    }

    /// The extents of arrays of complex numbers.
    pub fn complex_extents(&self) -> Vec<u64> {
        let mut extents = self.extents.clone();
        if let Some(last) = extents.last_mut().filter(|_| self.has_reals()) {
            *last = *last / 2 + 1;
        }
        extents
    }
}

impl LibraryOp for Fourier {
    fn name(&self) -> String {
        match self.transform {
            FourierKind::Forward => "fft".into(),
            FourierKind::Inverse => "ifft".into(),
            FourierKind::RealForward => "rfft".into(),
            FourierKind::RealInverse => "irfft".into(),
        }
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    /// Batch and extents.
    fn extents(&self) -> Vec<u64> {
        [&[self.batch], &self.extents[..]].concat()
    }

    fn operands(&self) -> Vec<Operand> {
        let reals = [&[self.batch], &self.extents[..]].concat();
        let complex = [&[self.batch], &self.complex_extents()[..], &[2]].concat();
        match self.transform {
            FourierKind::Forward | FourierKind::Inverse => {
                vec![read(self.dtype, &complex), written(self.dtype, &complex)]
            }
            FourierKind::RealForward => vec![read(self.dtype, &reals), written(self.dtype, &complex)],
            FourierKind::RealInverse => vec![read(self.dtype, &complex), written(self.dtype, &reals)],
        }
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        let known = matches!(self.dtype, DType::F32 | DType::F64);
        check.require(known, "dtype", || ("float32 or float64".into(), self.dtype))?;
        let most = if self.transform == FourierKind::RealInverse { 1 } else { 3 };
        let fits = (1..=most).contains(&self.extents.len()) && !self.extents.contains(&0);
        let texts = || (format!("1 to {most} extents of at least 1"), format!("{:?}", self.extents));
        check.require(fits, "extents", texts)?;
        check.size("extents", self.dtype, &[&[self.batch, 4], &self.extents[..]].concat())
    }

    /// `5 n log2(n)` for `n` complex numbers, the convention of FFTW's benchmarks, and half of that for real
    /// ones.
    fn flops(&self) -> f64 {
        let points = self.points() as f64;
        let each = if self.has_reals() { 2.5 } else { 5.0 };
        self.batch as f64 * each * points * points.log2()
    }

    fn definition(&self) -> Option<Result<Definition, DefinitionError>> {
        self.in_memory.0.map(|define| define(self))
    }

    fn has_definition(&self) -> bool {
        self.in_memory.0.is_some()
    }
}
