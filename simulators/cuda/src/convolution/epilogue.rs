//! The epilogues of convolutions that cuDNN has: `act(convolution + added + bias)`, where `act` is ReLU or
//! nothing.
//!
//! [`epilogue`] matches the scalar SSA of an elementwise Nest with this form. `added` has the layout of the
//! result, and may be the result's memory; `bias` has one element for each filter, and cuDNN has no epilogue
//! without one. ReLU is `maximum(x, 0)`. A Nest that reads an operand twice or scales one is not matched, nor
//! one whose result is as long as its bias: the result may be stored over the bias, which cuDNN does not
//! allow.

use workalike_kernels::DType;
use workalike_kernels::library::{Convolution, Role};
use workalike_kernels::nest::{Index, Inst, Nest, Operand};
use workalike_kernels::{ops, verify};

/// Maximum number of operands in a sum: the convolution, the addend, the bias.
const OPERANDS: usize = 3;

/// An epilogue of cuDNN; operands are positions in the Nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epilogue {
    pub(crate) added: Option<usize>,
    pub(crate) bias: usize,
    pub(crate) relu: bool,
    pub(crate) result: usize,
}

/// The properties of an epilogue on which the choice of an algorithm depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// Whether there is an addend as long as the result.
    pub(crate) added: bool,
    pub(crate) relu: bool,
}

impl Epilogue {
    pub(crate) fn form(&self) -> Form {
        Form { added: self.added.is_some(), relu: self.relu }
    }
}

/// The Nest as an epilogue of a convolution, which is its operand `operand`; `None` if cuDNN has no such
/// epilogue.
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
        // cuDNN computes at the type of sums, so values of the Nest that are halves are not rounded.
        let fits = dtype == call.dtype || dtype == call.dtype.register();
        sums.push(if fits { Sum::of(inst, (&images, call.dtype), nest, &sums) } else { None });
    }
    sums.get(store.value as usize)?.as_ref()?.named(operand, store.operand)
}

/// The extents of a result, with its spatial axes as one.
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

    /// Which element of an operand each point reads; `None` if cuDNN has no such pattern.
    fn reach(&self, operand: &Operand, index: &[Index], axes: &[u64]) -> Option<Reach> {
        let address = operand.affine(index, axes.len())?;
        if address.offset != 0 {
            return None;
        }
        let whole = address.is_row_major(axes);
        let (mut by_filter, mut position) = (true, 1u64);
        let steps = axes.iter().zip(&address.coefficients).rev();
        for (&extent, &step) in steps.filter(|(extent, _)| **extent != 1) {
            let step = u64::try_from(step).ok()?;
            let past = position.checked_mul(extent)?;
            by_filter &= self.filter_step(position, past) == Some(step);
            position = past;
        }
        (whole || by_filter).then_some(Reach { whole, by_filter })
    }

    /// Filters from one point to the next along an axis whose points are `position` elements apart and which
    /// ends before element `past`; `None` if that number varies along the axis.
    fn filter_step(&self, position: u64, past: u64) -> Option<u64> {
        if self.filters == 1 || past <= self.plane || position >= self.image {
            return Some(0);
        }
        let along = position >= self.plane && past <= self.image;
        along.then(|| position.checked_div(self.plane)).flatten()
    }
}

/// Which element of an operand each point reads. For one image with one position both may be true.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// The element at the point's row-major position.
    whole: bool,
    /// The element of the point's filter.
    by_filter: bool,
}

impl Reach {
    /// Whether this is a bias shorter than the result, which an update in place cannot overwrite.
    fn is_bias(self) -> bool {
        self.by_filter && !self.whole
    }
}

/// A sum of unscaled operands.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// Empty: zero.
    terms: Vec<(usize, Reach)>,
    /// Whether negative sums become zero.
    relu: bool,
}

impl Sum {
    /// The sum that an instruction computes, from the sums of earlier instructions.
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
            _ => None,
        }
    }

    fn plus(&self, other: &Sum) -> Option<Sum> {
        let terms = [&self.terms[..], &other.terms[..]].concat();
        let fits = !self.relu && !other.relu && terms.len() <= OPERANDS;
        fits.then_some(Sum { terms, relu: false })
    }

    /// The maximum of the two, one of which must be zero.
    fn or_zero(&self, other: &Sum) -> Option<Sum> {
        match (self.terms.is_empty(), other.terms.is_empty()) {
            (false, true) => Some(Sum { relu: true, ..self.clone() }),
            (true, false) => Some(Sum { relu: true, ..other.clone() }),
            _ => None,
        }
    }

    /// The sum as an epilogue of `operand`.
    fn named(&self, operand: usize, result: usize) -> Option<Epilogue> {
        let (own, others): (Vec<_>, Vec<_>) = self.terms.iter().partition(|term| term.0 == operand);
        if !matches!(own[..], [(_, reach)] if reach.whole) {
            return None;
        }
        let (bias, added) = match others[..] {
            // The result may be stored over the addend, not over the bias.
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
