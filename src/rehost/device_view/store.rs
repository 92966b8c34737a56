//! The Nests that store to views.

use super::DeviceView;
use crate::error::Result;
use crate::rehost::device::{Command, DeviceError, Numerics, Region};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike_kernels::verify::Verified;

/// What is stored.
pub(super) enum Source<'a> {
    Number(Scalar),
    View(&'a DeviceView),
}

/// The memory that a view reaches, from an aligned start, and the position of each element in it. A program
/// that goes from row to row has one kernel, or a few, since the start is not part of the Nest.
struct Window {
    region: Region,
    index: Index,
}

impl Window {
    fn of(view: &DeviceView) -> Window {
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
        let mut index = Index::constant(first as i64);
        for (axis, (&stride, &extent)) in view.strides.iter().zip(&view.shape).enumerate() {
            if extent > 1 {
                index.add_term(axis, stride as i64);
            }
        }
        Window { region: Region { offset, bytes, ..whole.clone() }, index }
    }

    fn operand(&self, bits: DType, written: bool) -> Operand {
        Operand::contiguous(bits, &[self.region.bytes / bits.size() as u64], written)
    }
}

impl DeviceView {
    /// Stores to each of its elements.
    pub(super) fn store(&self, source: Source<'_>) -> Result<()> {
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

    /// The Nest that stores, and its arguments. It moves bits, so that every device has the dtype.
    fn nest(&self, source: Source<'_>) -> (Nest, Vec<Region>) {
        let bits = [DType::U8, DType::U16, DType::U32, DType::U64]
            .into_iter()
            .find(|bits| bits.size() == self.dtype().size())
            .unwrap_or(DType::U8);
        let mut block = Block::default();
        let (mut operands, mut args) = (Vec::new(), Vec::new());
        let value = match source {
            Source::Number(number) => block.push(Inst::Const(Scalar::from_i128(bits, number.bits().into()))),
            Source::View(view) => {
                let window = Window::of(view);
                operands.push(window.operand(bits, false));
                args.push(window.region);
                block.push(Inst::Load { operand: 0, index: vec![window.index] })
            }
        };
        let window = Window::of(self);
        let operand = operands.len();
        operands.push(window.operand(bits, true));
        args.push(window.region);
        let store = Store { operand, index: vec![window.index], value, when: None, add: false };
        let axes: Vec<u64> = self.shape.iter().map(|&extent| extent as u64).collect();
        let phase = Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store] };
        (Nest { name: "store".into(), grid: axes.len(), axes, operands, phases: vec![phase] }, args)
    }
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
            x.slice(s![row, ..;-2]).unwrap().nest(Source::Number(Scalar::from_f64(DType::F32, 1.0)))
        };
        let (first, last) = (nest(0), nest(7));
        assert_eq!(first.0, last.0);
        assert_eq!([first.1[0].offset, last.1[0].offset], [0, 7 * 256]);
        // The elements of a row begin at 1 and end at 63.
        assert_eq!(first.1[0].bytes, 256);
    }
}
