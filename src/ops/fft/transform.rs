//! Fourier transforms in main memory, by the crates rustfft and realfft.

use bytemuck::Pod;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use std::sync::{Arc, Mutex, PoisonError};
use workalike_kernels::DType;
use workalike_kernels::library::{Definition, DefinitionError, Fourier, FourierKind};

/// Lines along an axis that is not the last, gathered at a time: whole cache lines are read.
const LINES: usize = 16;

/// The definition of a library op, for [`InMemory`](workalike_kernels::library::InMemory).
///
/// # Errors
/// If the system refuses the work memory.
pub(super) fn define(call: &Fourier) -> Result<Definition, DefinitionError> {
    match call.dtype {
        DType::F32 => define_in::<f32>(call),
        _ => define_in::<f64>(call),
    }
}

fn define_in<T: FftNum + Pod>(call: &Fourier) -> Result<Definition, DefinitionError> {
    let plan = Mutex::new(ArrayTransform::<T>::new(call)?);
    Ok(Box::new(move |read: &[&[u8]], written: &mut [&mut [u8]]| {
        let (&[input], [output]) = (read, &mut *written) else {
            return Err(operands("an array to read and one to write"));
        };
        // Every call writes what it then reads, so what a panic left does not matter.
        plan.lock().unwrap_or_else(PoisonError::into_inner).run(input, output)
    }))
}

fn operands(expected: &str) -> DefinitionError {
    DefinitionError::Operands { expected: expected.into(), found: "others".into() }
}

/// A transform of an array, with its work memory.
pub(super) struct ArrayTransform<T: FftNum> {
    /// Extents of an array of complex numbers.
    extents: Vec<usize>,
    /// The transforms along these extents; none along the last one if the other array is real.
    axes: Vec<Option<Arc<dyn Fft<T>>>>,
    ends: RealConversion<T>,
    /// An array of complex numbers.
    array: Vec<Complex<T>>,
    /// [`LINES`] lines.
    lines: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
    /// A line of real numbers.
    reals: Vec<T>,
}

/// What turns real numbers into complex ones, or back.
enum RealConversion<T> {
    Complex,
    FromReal(Arc<dyn RealToComplex<T>>),
    ToReal(Arc<dyn ComplexToReal<T>>),
}

impl<T: FftNum + Pod> ArrayTransform<T> {
    /// For a verified op.
    ///
    /// # Errors
    /// If the system refuses the work memory.
    pub(super) fn new(call: &Fourier) -> Result<ArrayTransform<T>, DefinitionError> {
        let refused = |_| DefinitionError::OutOfMemory { bytes: call.points().saturating_mul(16) };
        let extents = |list: Vec<u64>| list.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
        let points = extents(call.extents.clone()).map_err(refused)?;
        let extents = extents(call.complex_extents()).map_err(refused)?;
        // The planners allocate without a way to fail, so as much memory is asked for first: twiddle factors,
        // and a convolution where an extent has large prime factors.
        let longest = points.iter().copied().max().unwrap_or(1);
        let planned = longest.saturating_mul(8);
        let asked = Vec::<Complex<T>>::new().try_reserve_exact(planned);
        asked.map_err(|_| DefinitionError::OutOfMemory {
            bytes: planned.saturating_mul(size_of::<Complex<T>>()) as u64,
        })?;
        let direction = match call.transform {
            FourierKind::Forward | FourierKind::RealForward => FftDirection::Forward,
            FourierKind::Inverse | FourierKind::RealInverse => FftDirection::Inverse,
        };
        let last = points.last().copied().unwrap_or(1);
        let ends = match call.transform {
            FourierKind::Forward | FourierKind::Inverse => RealConversion::Complex,
            FourierKind::RealForward => {
                RealConversion::FromReal(RealFftPlanner::new().plan_fft_forward(last))
            }
            FourierKind::RealInverse => RealConversion::ToReal(RealFftPlanner::new().plan_fft_inverse(last)),
        };
        let mut planner = FftPlanner::new();
        let complex = if call.has_reals() { extents.len() - 1 } else { extents.len() };
        let axes: Vec<_> = extents
            .iter()
            .enumerate()
            .map(|(axis, &extent)| (axis < complex).then(|| planner.plan_fft(extent, direction)))
            .collect();
        let mut scratch = axes.iter().flatten().map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0);
        scratch = scratch.max(match &ends {
            RealConversion::Complex => 0,
            RealConversion::FromReal(fft) => fft.get_scratch_len(),
            RealConversion::ToReal(fft) => fft.get_scratch_len(),
        });
        let array = zeros(extents.iter().product())?;
        let lines = if extents.len() > 1 { longest.saturating_mul(LINES) } else { 0 };
        let reals = zeros(if call.has_reals() { last } else { 0 })?;
        Ok(ArrayTransform {
            axes,
            ends,
            array,
            lines: zeros(lines)?,
            scratch: zeros(scratch)?,
            reals,
            extents,
        })
    }

    /// Transforms arrays that lie one after another.
    ///
    /// # Errors
    /// If the slices are not arrays of the op.
    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), DefinitionError> {
        let complex = size_of::<Complex<T>>() * self.array.len();
        let last = self.extents.last().copied().unwrap_or(1);
        let reals = size_of::<T>() * self.reals.len() * (self.array.len() / last.max(1));
        let (read, written) = match self.ends {
            RealConversion::Complex => (complex, complex),
            RealConversion::FromReal(_) => (reals, complex),
            RealConversion::ToReal(_) => (complex, reals),
        };
        if !input.len().is_multiple_of(read) || input.len() / read * written != output.len() {
            return Err(operands(&format!("arrays of {read} bytes to read and of {written} to write")));
        }
        for (input, output) in input.chunks_exact(read).zip(output.chunks_exact_mut(written)) {
            self.load(input)?;
            (0..self.extents.len()).for_each(|axis| self.along(axis));
            self.store(output)?;
        }
        Ok(())
    }

    /// Fills the complex array.
    fn load(&mut self, input: &[u8]) -> Result<(), DefinitionError> {
        let RealConversion::FromReal(fft) = &self.ends else {
            bytemuck::cast_slice_mut::<Complex<T>, u8>(&mut self.array).copy_from_slice(input);
            return Ok(());
        };
        let lines = input.chunks_exact(size_of::<T>() * self.reals.len());
        for (line, row) in lines.zip(self.array.chunks_exact_mut(self.reals.len() / 2 + 1)) {
            bytemuck::cast_slice_mut::<T, u8>(&mut self.reals).copy_from_slice(line);
            let done = fft.process_with_scratch(&mut self.reals, row, &mut self.scratch);
            done.map_err(|_| operands("lines of real numbers"))?;
        }
        Ok(())
    }

    fn store(&mut self, output: &mut [u8]) -> Result<(), DefinitionError> {
        let RealConversion::ToReal(fft) = &self.ends else {
            output.copy_from_slice(bytemuck::cast_slice(&self.array));
            return Ok(());
        };
        let n = self.reals.len();
        let lines = output.chunks_exact_mut(size_of::<T>() * n);
        for (line, row) in lines.zip(self.array.chunks_exact_mut(n / 2 + 1)) {
            // Those of a real array; realfft refuses others.
            row[0].im = T::zero();
            if n.is_multiple_of(2) {
                row[n / 2].im = T::zero();
            }
            let done = fft.process_with_scratch(row, &mut self.reals, &mut self.scratch);
            done.map_err(|_| operands("lines of complex numbers"))?;
            line.copy_from_slice(bytemuck::cast_slice(&self.reals));
        }
        Ok(())
    }

    /// Transforms the complex array along an axis.
    fn along(&mut self, axis: usize) {
        let Some(fft) = &self.axes[axis] else { return };
        let (n, inner) = (self.extents[axis], self.extents[axis + 1..].iter().product::<usize>());
        if inner == 1 {
            fft.process_with_scratch(&mut self.array, &mut self.scratch);
            return;
        }
        for block in self.array.chunks_exact_mut(n * inner) {
            for first in (0..inner).step_by(LINES) {
                let count = LINES.min(inner - first);
                let lines = &mut self.lines[..count * n];
                for (step, row) in block.chunks_exact(inner).enumerate() {
                    row[first..first + count]
                        .iter()
                        .enumerate()
                        .for_each(|(at, x)| lines[at * n + step] = *x);
                }
                fft.process_with_scratch(lines, &mut self.scratch);
                for (step, row) in block.chunks_exact_mut(inner).enumerate() {
                    let row = &mut row[first..first + count];
                    row.iter_mut().enumerate().for_each(|(at, x)| *x = lines[at * n + step]);
                }
            }
        }
    }
}

fn zeros<E: Clone + Pod>(count: usize) -> Result<Vec<E>, DefinitionError> {
    let bytes = count.saturating_mul(size_of::<E>()) as u64;
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| DefinitionError::OutOfMemory { bytes })?;
    list.resize(count, E::zeroed());
    Ok(list)
}
