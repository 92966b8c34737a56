//! The Nests that store to views.

use super::DeviceView;
use crate::error::Result;
use workalike_device::{Command, DeviceError, Numerics, Region};
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike_kernels::verify::Verified;
use workalike_kernels::{DType, Scalar, Width};

/// What is stored.
pub(super) enum StoredValue<'a> {
    Number(Scalar),
    View(&'a DeviceView),
}

/// The memory that a view reaches, from an aligned start, and the position of each element in it. A program
/// that goes from row to row has one kernel, or a few, since the start is not part of the Nest.
struct ViewWindow {
    region: Region,
    first: i64,
    /// The strides of the view's axes that have one, in elements.
    strides: Vec<(usize, i64)>,
}

impl ViewWindow {
    fn of(view: &DeviceView) -> ViewWindow {
        let size = view.dtype().size() as u64;
        let whole = view.array.region();
        let reach = |end: fn(isize, isize) -> isize| {
            let along = view.strides.iter().zip(&view.shape);
            let far = along.map(|(stride, extent)| end(0, stride * (*extent as isize - 1))).sum::<isize>();
            // A view's elements are all within its array.
            (view.offset as isize + far) as u64
        };
        let (lowest, highest) = (reach(isize::min), reach(isize::max));
        let alignment = view.array.device().properties().alignment.max(size);
        let offset = (whole.offset + lowest * size) / alignment * alignment;
        let bytes = whole.offset + (highest + 1) * size - offset;
        let first = (whole.offset + view.offset as u64 * size - offset) / size;
        let along = view.strides.iter().zip(&view.shape).enumerate();
        let strides = along.filter(|(_, (_, extent))| **extent > 1).map(|(axis, (s, _))| (axis, *s as i64));
        let strides = strides.collect();
        ViewWindow { region: Region { offset, bytes, ..whole.clone() }, first: first as i64, strides }
    }

    /// The position of one of an element's words.
    fn index(&self, word: i64, words: i64) -> Vec<Index> {
        let mut index = Index::constant(self.first * words + word);
        self.strides.iter().for_each(|&(axis, stride)| index.add_term(axis, stride * words));
        vec![index]
    }

    fn operand(&self, bits: DType, written: bool) -> Operand {
        Operand::contiguous(bits, &[self.region.bytes / bits.size() as u64], written)
    }
}

impl DeviceView {
    /// Stores to each of its elements.
    pub(super) fn store(&self, source: StoredValue<'_>) -> Result<()> {
        self.array.forget_bounds();
        if self.shape.contains(&0) {
            return Ok(());
        }
        let (nest, args) = self.nest(source);
        let device = self.array.device();
        let id = &device.properties().id;
        let nest = Verified::new(nest).map_err(|e| DeviceError::driver(id, "store", e))?;
        let module = device.compile(&[nest], Numerics::default())?;
        Ok(device.record(&module, &[Command::Launch { nest: 0, args }])?.replay()?)
    }

    /// The Nest that stores, and its arguments. It moves bits, so that every device has the dtype; a complex
    /// number is two words.
    fn nest(&self, source: StoredValue<'_>) -> (Nest, Vec<Region>) {
        let bits = match self.dtype().real().width() {
            Width::Bits8 => DType::U8,
            Width::Bits16 => DType::U16,
            Width::Bits32 => DType::U32,
            Width::Bits64 | Width::Bits128 => DType::U64,
        };
        let words = if self.dtype().is_complex() { 2 } else { 1 };
        let mut block = Block::default();
        let (mut operands, mut args) = (Vec::new(), Vec::new());
        let from = match &source {
            StoredValue::Number(number) => Err(*number),
            StoredValue::View(view) => Ok(ViewWindow::of(view)),
        };
        if let Ok(window) = &from {
            operands.push(window.operand(bits, false));
            args.push(window.region.clone());
        }
        let window = ViewWindow::of(self);
        let operand = operands.len();
        operands.push(window.operand(bits, true));
        args.push(window.region.clone());
        let mut stores = Vec::new();
        for word in 0..words {
            let value = block.push(match &from {
                Err(number) => Inst::Const(word_of(*number, bits, word as usize)),
                Ok(from) => Inst::Load { operand: 0, index: from.index(word, words) },
            });
            stores.push(Store { operand, index: window.index(word, words), value, when: None, add: false });
        }
        let axes: Vec<u64> = self.shape.iter().map(|&extent| extent as u64).collect();
        let phase = Phase { kind: PhaseKind::Point, block, folds: vec![], stores };
        (Nest { name: "store".into(), grid: axes.len(), axes, operands, phases: vec![phase] }, args)
    }
}

/// A word of a number's bytes.
fn word_of(number: Scalar, bits: DType, word: usize) -> Scalar {
    let bytes = &number.to_le_bytes()[word * bits.size()..][..bits.size()];
    Scalar::from_le_bytes(bits, bytes).unwrap_or(Scalar::from_i128(bits, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use ndarray::{Array2, s};

    /// A program that goes from row to row compiles once.
    #[test]
    fn rows_share_a_kernel() {
        let device = Host::auto().open().unwrap();
        let x = DeviceArray::upload(&device, Array2::<f32>::zeros((8, 64))).unwrap();
        let nest = |row: usize| {
            x.slice(s![row, ..;-2]).unwrap().nest(StoredValue::Number(Scalar::from_f64(DType::F32, 1.0)))
        };
        let (first, last) = (nest(0), nest(7));
        assert_eq!(first.0, last.0);
        assert_eq!([first.1[0].offset, last.1[0].offset], [0, 7 * 256]);
        // The elements of a row begin at 1 and end at 63.
        assert_eq!(first.1[0].bytes, 256);
    }
}
