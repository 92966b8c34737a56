//! Views of views, and views that are the identity.

use super::super::terms::Terms;
use super::Root::Op as Of;
use super::{Found, rules};
use crate::graph::TensorType;
use crate::op::Op;
use crate::ops::elemwise::Elemwise;
use crate::ops::{BroadcastLike, BroadcastTo, DimShuffle, Extent, Reshape, ShapeOf};
use std::sync::Arc;

rules! {
    dimshuffle_identity on Of("dimshuffle") => "a dimshuffle that moves no axis is its input";
    dimshuffle_dimshuffle on Of("dimshuffle") => "a dimshuffle of a dimshuffle is one";
    reshape_same on Of("reshape") => "a reshape to the extents that are there is its input";
    reshape_reshape on Of("reshape") => "a reshape of a reshape is one, where the first cannot fail alone";
    broadcast_to_same on Of("broadcast_to") => "a broadcast to the extents that are there is its input";
    broadcast_like_same on Of("broadcast_like") => "a broadcast to the extents that are there is its input";
    sum_like_same on Of("sum_like") => "a sum to the extents that are there is its input";
    fill_beside on Of("elemwise") =>
        "an argument that is filled to the shape of another one of an elementwise op is not filled";
}

fn is_fixed(to: &BroadcastTo) -> bool {
    to.extents.iter().all(|e| matches!(e, Extent::Fixed(_)))
}

/// Whether the result of an op has the type of its first input, of which all extents are known.
fn keeps_type<T: Terms>(t: &T, op: &dyn Op, inputs: &[T::V]) -> bool {
    let types: Vec<TensorType> = inputs.iter().map(|v| t.ty(v)).collect();
    let result = op.types(&types.iter().collect::<Vec<_>>());
    is_known(&types[0]) && result.is_ok_and(|result| result.first() == Some(&types[0]))
}

fn is_known(ty: &TensorType) -> bool {
    ty.shape.iter().all(Option::is_some)
}

/// An extent that is given at run time may not fit.
fn broadcast_to_same<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(to) = op.downcast::<BroadcastTo>() else { return Ok(None) };
    Ok((is_fixed(to) && keeps_type(t, op, inputs)).then(|| inputs[0].clone()))
}

fn broadcast_like_same<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, like] = inputs else { return Ok(None) };
    let (of, to) = (t.ty(x).ndim(), t.ty(like).ndim());
    let equal = of == to && (0..to).all(|axis| t.equal_extents(x, like, axis));
    Ok((equal || (is_known(&t.ty(like)) && keeps_type(t, op, inputs))).then(|| x.clone()))
}

fn sum_like_same<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    broadcast_like_same(t, op, inputs)
}

/// The filled argument must have extent 1 or that of the other argument: otherwise the fill might be an
/// error, or might have extent 1 itself.
fn fill_beside<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(elemwise) = op.downcast::<Elemwise>() else { return Ok(None) };
    let mut args = inputs.to_vec();
    for at in 0..args.len() {
        let Some((op, of)) = t.owner(&args[at]) else { continue };
        // An extent that is given at run time may not fit.
        let to = op.downcast::<BroadcastTo>().filter(|to| is_fixed(to));
        let like = op.downcast::<BroadcastLike>().and(of.get(1));
        let (Some(filled), ty) = (of.first(), t.ty(&args[at])) else { continue };
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

fn is_identity(order: &[Option<usize>], rank: usize) -> bool {
    order.len() == rank && order.iter().enumerate().all(|(at, axis)| *axis == Some(at))
}

fn dimshuffle_identity<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(shuffle), [x]) = (op.downcast::<DimShuffle>(), inputs) else { return Ok(None) };
    Ok(is_identity(&shuffle.order, t.ty(x).ndim()).then(|| x.clone()))
}

fn dimshuffle_dimshuffle<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(outer), [x]) = (op.downcast::<DimShuffle>(), inputs) else { return Ok(None) };
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    let Some(inner) = op.downcast::<DimShuffle>() else { return Ok(None) };
    let order: Vec<Option<usize>> =
        outer.order.iter().map(|o| o.and_then(|axis| inner.order[axis])).collect();
    if is_identity(&order, t.ty(&args[0]).ndim()) {
        return Ok(Some(args[0].clone()));
    }
    t.apply(Arc::new(DimShuffle { order }), args).map(Some)
}

fn reshape_same<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(reshape) = op.downcast::<Reshape>() else { return Ok(None) };
    let types: Vec<TensorType> = inputs.iter().map(|v| t.ty(v)).collect();
    let result = reshape.types(&types.iter().collect::<Vec<_>>());
    let ty = &types[0];
    // At most one unknown extent follows from the others; one that is given at run time must be that of the
    // axis.
    let unknown = ty.shape.iter().filter(|e| e.is_none()).count();
    let own = |(axis, extent): (usize, &Extent)| match extent {
        Extent::Input(i) => t.owner(&inputs[i + 1]).is_some_and(|(op, of)| {
            op.downcast::<ShapeOf>().is_some_and(|shape| shape.axis == axis) && of[0] == inputs[0]
        }),
        _ => true,
    };
    let same = unknown <= 1
        && result.is_ok_and(|result| result.first() == Some(ty))
        && ty.shape.iter().all(|e| *e != Some(0))
        && reshape.extents.iter().enumerate().all(own);
    Ok(same.then(|| inputs[0].clone()))
}

fn reshape_reshape<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(reshape) = op.downcast::<Reshape>() else { return Ok(None) };
    let Some((op, args)) = t.owner(&inputs[0]) else { return Ok(None) };
    let Some(before) = op.downcast::<Reshape>() else { return Ok(None) };
    // The error of the first reshape must be kept: it always fits, or whenever the second does.
    let flat = before.extents == [Extent::Infer];
    let fixed = |extents: &[Extent]| extents.iter().all(|e| matches!(e, Extent::Fixed(_)));
    let known = is_known(&t.ty(&args[0])) && before.extents.iter().all(|e| !matches!(e, Extent::Input(_)));
    let both_fixed = fixed(&before.extents) && fixed(&reshape.extents);
    if !(flat || known || both_fixed) {
        return Ok(None);
    }
    let inner: Vec<T::V> = std::iter::once(args[0].clone()).chain(inputs[1..].iter().cloned()).collect();
    t.apply(Arc::new(reshape.clone()), inner).map(Some)
}
