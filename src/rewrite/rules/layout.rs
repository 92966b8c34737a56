//! Views of views, and views that change nothing.

use super::super::terms::Terms;
use super::Found;
use crate::graph::TensorType;
use crate::ops::{
    BroadcastLike, BroadcastTo, DimShuffle, Elemwise, Extent, Op, Reshape, ShapeOf, SumLike, downcast,
};
use std::sync::Arc;

pub(in super::super) fn rule<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    if let Some(outer) = downcast::<DimShuffle>(op) {
        return dimshuffle(t, outer, &inputs[0]);
    }
    if let Some(reshape) = downcast::<Reshape>(op) {
        return of_reshape(t, reshape, inputs);
    }
    if let Some(elemwise) = downcast::<Elemwise>(op) {
        return without_fills(t, elemwise, inputs);
    }
    let is_known = |ty: &TensorType| ty.shape.iter().all(Option::is_some);
    let like = downcast::<BroadcastLike>(op).is_some() || downcast::<SumLike>(op).is_some();
    let to = downcast::<BroadcastTo>(op).map(is_fixed);
    if like || to.is_some() {
        let types: Vec<_> = inputs.iter().map(|v| t.ty(v)).collect();
        // All extents are known, and are those that it has anyway: where one is given at run time, it may not fit.
        let known = is_known(&types[0]) && to.unwrap_or_else(|| is_known(&types[1]));
        let types: Vec<_> = types.iter().collect();
        let same = known && op.types(&types).is_ok_and(|result| result.first() == Some(types[0]));
        return Ok(same.then(|| inputs[0].clone()));
    }
    Ok(None)
}

fn is_fixed(to: &BroadcastTo) -> bool {
    to.extents.iter().all(|e| matches!(e, Extent::Fixed(_)))
}

/// Something elementwise whose arguments are filled to the shape of others: these broadcast by themselves. What is filled must have
/// extent 1 or that of the other: else the fill might have been an error, or might have been of extent 1 itself.
fn without_fills<T: Terms>(t: &mut T, elemwise: &Elemwise, inputs: &[T::V]) -> Found<T> {
    let mut args = inputs.to_vec();
    for at in 0..args.len() {
        let Some((op, of)) = t.owner(&args[at]) else { continue };
        // An extent that is given at run time may not fit.
        let to = downcast::<BroadcastTo>(op.as_ref()).filter(|to| is_fixed(to));
        let like = downcast::<BroadcastLike>(op.as_ref()).and(of.get(1));
        let (filled, ty) = (&of[0], t.ty(&args[at]));
        if (to.is_none() && like.is_none()) || t.ty(filled).ndim() != ty.ndim() {
            continue;
        }
        let fits = |other: &T::V| {
            (0..ty.ndim()).all(|axis| {
                let own = t.ty(filled).shape[axis] == Some(1) || t.equal_extents(filled, other, axis);
                own && t.equal_extents(like.unwrap_or(&args[at]), other, axis)
            })
        };
        if (0..args.len()).any(|other| other != at && fits(&args[other])) {
            args[at] = filled.clone();
        }
    }
    if args == inputs { Ok(None) } else { t.apply(Arc::new(*elemwise), args).map(Some) }
}

fn dimshuffle<T: Terms>(t: &mut T, outer: &DimShuffle, x: &T::V) -> Found<T> {
    let identity = |order: &[Option<usize>], rank: usize| {
        order.len() == rank && order.iter().enumerate().all(|(at, axis)| *axis == Some(at))
    };
    if identity(&outer.order, t.ty(x).ndim()) {
        return Ok(Some(x.clone()));
    }
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    let Some(inner) = downcast::<DimShuffle>(op.as_ref()) else { return Ok(None) };
    let order: Vec<Option<usize>> =
        outer.order.iter().map(|o| o.and_then(|axis| inner.order[axis])).collect();
    if identity(&order, t.ty(&args[0]).ndim()) {
        return Ok(Some(args[0].clone()));
    }
    t.apply(Arc::new(DimShuffle { order }), args).map(Some)
}

/// A reshape of a reshape; one to the extents that are there.
fn of_reshape<T: Terms>(t: &mut T, reshape: &Reshape, inputs: &[T::V]) -> Found<T> {
    let ty = t.ty(&inputs[0]);
    let types: Vec<_> = inputs.iter().map(|v| t.ty(v)).collect();
    let result = reshape.types(&types.iter().collect::<Vec<_>>());
    // One unknown extent at most follows from the others; one that is given at run time must be that of the axis.
    let unknown = ty.shape.iter().filter(|e| e.is_none()).count();
    let own = |(axis, extent): (usize, &Extent)| match extent {
        Extent::Input(i) => t.owner(&inputs[i + 1]).is_some_and(|(op, of)| {
            downcast::<ShapeOf>(op.as_ref()).is_some_and(|shape| shape.axis == axis) && of[0] == inputs[0]
        }),
        _ => true,
    };
    let same = unknown <= 1 && result.is_ok_and(|r| r.first() == Some(&ty));
    if same && ty.shape.iter().all(|e| *e != Some(0)) && reshape.extents.iter().enumerate().all(own) {
        return Ok(Some(inputs[0].clone()));
    }
    let Some((op, args)) = t.owner(&inputs[0]) else { return Ok(None) };
    let Some(before) = downcast::<Reshape>(op.as_ref()) else { return Ok(None) };
    // What the first one refuses must still be refused: it fits always, or whenever the second does.
    let flat = before.extents == [Extent::Infer];
    let fixed = |extents: &[Extent]| extents.iter().all(|e| matches!(e, Extent::Fixed(_)));
    let known = t.ty(&args[0]).shape.iter().all(Option::is_some)
        && before.extents.iter().all(|e| !matches!(e, Extent::Input(_)));
    let both_fixed = fixed(&before.extents) && fixed(&reshape.extents);
    if !(flat || known || both_fixed) {
        return Ok(None);
    }
    let inner: Vec<T::V> = std::iter::once(args[0].clone()).chain(inputs[1..].iter().cloned()).collect();
    t.apply(Arc::new(reshape.clone()), inner).map(Some)
}
