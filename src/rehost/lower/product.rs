//! Products: the device's library where it has one, else a Nest that folds over the contracted axis.

use super::build::{At, NestBuilder};
use super::{Lowered, Lowering};
use crate::graph::Node;
use crate::kernels::nest::{Fold, PhaseKind};
use crate::kernels::ops as scalar;
use crate::rehost::device::Matmul;
use crate::rehost::program::Step;
use crate::rehost::view::View;

impl Lowering<'_> {
    pub(super) fn dot(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let (m, k, n) = (inputs[0].shape[0], inputs[0].shape[1], inputs[1].shape[1]);
        let dtype = self.dtype(node.outputs[0]);
        let target = self.temp(dtype, &[m, n]);
        if self.library_pays(m, n, k) {
            let factors = [self.factor(&inputs[0]), self.factor(&inputs[1])];
            let [(a, a_at, a_strides), (b, b_at, b_strides)] = factors;
            let product =
                Matmul { dtype, batch: 1, m, n, k, a: a_strides, b: b_strides, fast: self.abilities.fast() };
            if self.abilities.has_matmul(&product) {
                self.program.steps.push(Step::Matmul { product, a: (a, a_at), b: (b, b_at), c: target });
                return Ok(vec![View::whole(target, &[m, n])]);
            }
        }
        let mut nest = NestBuilder::new("dot", &[m, n], &[k]);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let acc = dtype.register();
        let left = reduce.load(&inputs[0], &At::list(&[0, 2]));
        let right = reduce.load(&inputs[1], &At::list(&[2, 1]));
        let (left, right) = (reduce.convert(left, acc), reduce.convert(right, acc));
        let product = reduce.apply(scalar::MUL, &[left, right]);
        let fold = reduce.fold(Fold::Sum, product, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.folded(phase, fold, acc);
        point.store(target, &[m, n], &At::axes(2), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &[m, n])])
    }

    /// Whether a library's product is worth what a Nest would fuse with. Matrix-vector products stream one factor once: a Nest does
    /// that as fast. On a wide device so does a skinny or small product, whose time is that of a launch or two.
    fn library_pays(&self, m: u64, n: u64, k: u64) -> bool {
        if m <= 1 || n <= 1 || k == 0 {
            return false;
        }
        if !self.abilities.is_wide() {
            return true;
        }
        let flops = 2 * u128::from(m) * u128::from(n) * u128::from(k);
        let skinny = m.min(n).min(k) <= 64;
        flops > if skinny { 1 << 30 } else { 1 << 26 }
    }

    /// A factor as buffer, first element and strides a library accepts: one of the two is 1. Copied if it is not so.
    fn factor(&mut self, view: &View) -> (usize, u64, [i64; 3]) {
        let accepted = |strides: &[i64]| {
            let (rows, columns) = (view.shape[0] as i64, view.shape[1] as i64);
            (strides[1] == 1 && strides[0] >= columns) || (strides[0] == 1 && strides[1] >= rows)
        };
        match view.linear() {
            Some((offset, strides)) if offset >= 0 && accepted(&strides) => {
                (view.buffer, offset as u64, [0, strides[0], strides[1]])
            }
            _ => {
                let copy = self.own_copy(view);
                (copy.buffer, 0, [0, view.shape[1] as i64, 1])
            }
        }
    }
}
