//! Which epilogues of convolutions cuDNN knows by name: `act(convolution + added + bias)`, `act` ReLU or
//! none.
//!
//! [`epilogue`] reads the scalar SSA of an elementwise Nest so. `added` lies as the result does, and may be
//! what is stored; `bias` has one element for each filter, and cuDNN takes no epilogue without one. ReLU is
//! `maximum(x, 0)`. What is read twice or scaled is left to a Nest, and so is a result that is as long as its
//! bias: it may be stored over the bias, which cuDNN does not allow.

use workalike_kernels::DType;
use workalike_kernels::library::{Convolution, Role};
use workalike_kernels::nest::{Index, Inst, Nest, Operand};
use workalike_kernels::{ops, verify};

/// Operands in a sum at most: the convolution, what is added, a bias.
const OPERANDS: usize = 3;

/// An epilogue in cuDNN's words; operands by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epilogue {
    pub(crate) added: Option<usize>,
    pub(crate) bias: usize,
    pub(crate) relu: bool,
    pub(crate) result: usize,
}

/// What of an epilogue decides how it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// Something as long as the result is added.
    pub(crate) added: bool,
    pub(crate) relu: bool,
}

impl Epilogue {
    pub(crate) fn form(&self) -> Form {
        Form { added: self.added.is_some(), relu: self.relu }
    }
}

/// The epilogue that a Nest is to a convolution, which it has as this operand; `None` if cuDNN has no such.
pub(crate) fn epilogue(call: &Convolution, nest: &Nest, operand: usize) -> Option<Epilogue> {
    let ([phase], true) = (&nest.phases[..], nest.is_map() && nest.grid == nest.axes.len()) else {
        return None;
    };
    let [store] = &phase.stores[..] else { return None };
    if call.role != Role::Forward || !call.dtype.is_float() || store.add || store.when.is_some() {
        return None;
    }
    let images = Images::of(call)?;
    let written = nest.operands.iter().filter(|o| o.written).count();
    if images.elements == 0 || nest.grid_points() != images.elements || written != 1 {
        return None;
    }
    let stored = nest.operands.get(store.operand)?;
    if stored.dtype != call.dtype || !images.reach(stored, &store.index, &nest.axes)?.whole {
        return None;
    }
    let dtypes = verify::dtypes(nest, 0).ok()?;
    let mut sums: Vec<Option<Sum>> = Vec::with_capacity(dtypes.len());
    for (inst, dtype) in phase.block.insts.iter().zip(dtypes) {
        // All is computed at the type of the sums; a half among it only looks as if it were rounded.
        let fits = dtype == call.dtype || dtype == call.dtype.register();
        sums.push(if fits { Sum::of(inst, (&images, call.dtype), nest, &sums) } else { None });
    }
    sums.get(store.value as usize)?.as_ref()?.named(operand, store.operand)
}

/// The extents of a result, its axes of space as one.
struct Images {
    filters: u64,
    /// Positions of one filter's output.
    plane: u64,
    /// Elements of one image.
    image: u64,
    elements: u64,
}

impl Images {
    fn of(call: &Convolution) -> Option<Images> {
        let plane = call.output.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent))?;
        let image = call.filters.checked_mul(plane)?;
        Some(Images { filters: call.filters, plane, image, elements: call.batch.checked_mul(image)? })
    }

    /// Which of an operand's elements the points read; `None` if cuDNN cannot read them so.
    fn reach(&self, operand: &Operand, index: &[Index], axes: &[u64]) -> Option<Reach> {
        let mut steps = vec![0i64; axes.len()];
        let mut first = 0i64;
        for (index, stride) in index.iter().zip(&operand.strides) {
            if index.dynamic.is_some() {
                return None;
            }
            first = first.checked_add(index.offset.checked_mul(*stride)?)?;
            for &(axis, coefficient) in &index.terms {
                let step = steps.get_mut(axis)?;
                *step = step.checked_add(coefficient.checked_mul(*stride)?)?;
            }
        }
        if first != 0 {
            return None;
        }
        let (mut whole, mut by_filter, mut position) = (true, true, 1u64);
        for (&extent, &step) in axes.iter().zip(&steps).rev().filter(|(extent, _)| **extent != 1) {
            let step = u64::try_from(step).ok()?;
            let past = position.checked_mul(extent)?;
            whole &= step == position;
            by_filter &= self.filter_step(position, past) == Some(step);
            position = past;
        }
        (whole || by_filter).then_some(Reach { whole, by_filter })
    }

    /// Filters from one point to the next along an axis whose points are so many elements apart, and which
    /// ends before `past`; `None` if they are not as many everywhere.
    fn filter_step(&self, position: u64, past: u64) -> Option<u64> {
        if self.filters == 1 || past <= self.plane || position >= self.image {
            return Some(0);
        }
        let along = position >= self.plane && past <= self.image;
        along.then(|| position.checked_div(self.plane)).flatten()
    }
}

/// Which of an operand's elements the points read. Of one image with one position it may be both.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// Each that of its own row-major position.
    whole: bool,
    /// Each that of its filter.
    by_filter: bool,
}

impl Reach {
    /// Shorter than the result, so that no update in place makes the two one.
    fn is_bias(self) -> bool {
        self.by_filter && !self.whole
    }
}

/// A sum of elements of operands, none of them scaled.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// None of them: zero.
    terms: Vec<(usize, Reach)>,
    /// Zero where the sum is below.
    relu: bool,
}

impl Sum {
    /// What an instruction computes, of the sums before it.
    fn of(inst: &Inst, (images, dtype): (&Images, DType), nest: &Nest, sums: &[Option<Sum>]) -> Option<Sum> {
        let sum = |value: &u32| sums.get(*value as usize)?.as_ref();
        match inst {
            // Not the negative zero, which ReLU would keep.
            Inst::Const(number) => (number.to_f64().to_bits() == 0).then(Sum::default),
            Inst::Load { operand, index } => {
                let described = nest.operands.get(*operand)?;
                let reach = images.reach(described, index, &nest.axes)?;
                let sum = Sum { terms: vec![(*operand, reach)], relu: false };
                (described.dtype == dtype).then_some(sum)
            }
            Inst::Cast { value, .. } => sum(value).cloned(),
            Inst::Op { op, args } => match (*op, &args[..]) {
                (ops::ADD, [a, b]) => sum(a)?.plus(sum(b)?),
                (ops::MAXIMUM, [a, b]) => sum(a)?.or_zero(sum(b)?),
                _ => None,
            },
            Inst::Axis(_) | Inst::Folded { .. } | Inst::Position { .. } => None,
        }
    }

    fn plus(&self, other: &Sum) -> Option<Sum> {
        let terms = [&self.terms[..], &other.terms[..]].concat();
        let fits = !self.relu && !other.relu && terms.len() <= OPERANDS;
        fits.then_some(Sum { terms, relu: false })
    }

    /// The larger of the two, one of which must be zero.
    fn or_zero(&self, other: &Sum) -> Option<Sum> {
        match (self.terms.is_empty(), other.terms.is_empty()) {
            (false, true) => Some(Sum { relu: true, ..self.clone() }),
            (true, false) => Some(Sum { relu: true, ..other.clone() }),
            _ => None,
        }
    }

    /// The epilogue that it is to this operand.
    fn named(&self, operand: usize, result: usize) -> Option<Epilogue> {
        let (own, others): (Vec<_>, Vec<_>) = self.terms.iter().partition(|term| term.0 == operand);
        if !matches!(own[..], [(_, reach)] if reach.whole) {
            return None;
        }
        let (bias, added) = match others[..] {
            // What is stored over may be what is added, not the bias.
            [(bias, reach)] if reach.is_bias() && bias != result => (bias, None),
            [(bias, reach), (added, along)] | [(added, along), (bias, reach)]
                if reach.is_bias() && along.whole && bias != result =>
            {
                (bias, Some(added))
            }
            _ => return None,
        };
        Some(Epilogue { added, bias, relu: self.relu, result })
    }
}

#[cfg(test)]
mod tests;
