//! Parts of complex numbers that were just made of parts, and views of views.

use super::super::terms::{Terms, WHOLE};
use super::Root::Op as Of;
use super::{Found, rules};
use crate::op::Op;
use crate::ops::complex::{ComplexOf, ImagPart, RealPart, ViewAsComplex, ViewAsReal};
use crate::ops::{Bound, Slot, Subtensor};
use std::sync::Arc;

rules! {
    real_of_complex on Of("real_part") => "the real part of complex(re, im) is re; of a view of pairs, every first element";
    imag_of_complex on Of("imag_part") => "the imaginary part of complex(re, im) is im; of a view of pairs, every second element";
    complex_of_parts on Of("complex") => "complex(real(z), imag(z)) is z";
    reals_of_complex on Of("view_as_real") => "view_as_real(view_as_complex(x)) is x";
    complex_of_reals on Of("view_as_complex") => "view_as_complex(view_as_real(z)) is z";
}

fn real_of_complex<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    part_of_made(t, op, inputs, 0)
}

fn imag_of_complex<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    part_of_made(t, op, inputs, 1)
}

fn part_of_made<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V], part: usize) -> Found<T> {
    let Some((made, from)) = t.owner(&inputs[0]) else { return Ok(None) };
    if made.downcast::<ComplexOf>().is_some() {
        // The type of the whole may know more extents than that of the part.
        let part = from[part].clone();
        return Ok(same_type(t, op, inputs, &part).then_some(part));
    }
    if made.downcast::<ViewAsComplex>().is_some() && t.ty(&from[0]).shape.last() == Some(&Some(2)) {
        let mut slots = vec![WHOLE; t.ty(&inputs[0]).ndim()];
        slots.push(Slot::Index(Bound::At(part as i64)));
        return t.apply(Arc::new(Subtensor { slots }), vec![from[0].clone()]).map(Some);
    }
    Ok(None)
}

/// Whether `new` has the type of the op's result.
fn same_type<T: Terms>(t: &T, op: &dyn Op, inputs: &[T::V], new: &T::V) -> bool {
    let given: Vec<_> = inputs.iter().map(|v| t.ty(v)).collect();
    let result = op.types(&given.iter().collect::<Vec<_>>());
    result.is_ok_and(|result| result.first().is_some_and(|ty| ty.includes(&t.ty(new))))
}

fn complex_of_parts<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some((re, of)), Some((im, other))) = (t.owner(&inputs[0]), t.owner(&inputs[1])) else {
        return Ok(None);
    };
    let parts = re.downcast::<RealPart>().is_some() && im.downcast::<ImagPart>().is_some();
    Ok((parts && of[0] == other[0]).then(|| of[0].clone()))
}

fn reals_of_complex<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((made, from)) = t.owner(&inputs[0]) else { return Ok(None) };
    let found = made.downcast::<ViewAsComplex>().is_some() && same_type(t, op, inputs, &from[0]);
    Ok(found.then(|| from[0].clone()))
}

fn complex_of_reals<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((made, from)) = t.owner(&inputs[0]) else { return Ok(None) };
    Ok(made.downcast::<ViewAsReal>().is_some().then(|| from[0].clone()))
}
