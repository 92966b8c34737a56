//! The shapes of random draws.

use super::super::creation::extent_scalar;
use super::super::methods::fail;
use super::super::shape::{Extent, ShapeOf};
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable};

/// The shape of a draw: see [`IntoSize`].
#[derive(Clone, Debug)]
pub struct Size(Form);

#[derive(Clone, Debug)]
enum Form {
    Extents(Vec<Operand>),
    Like(Variable),
}

/// The shape of an array, whatever it is at each call, as the size of a draw.
///
/// ```
/// use workalike::prelude::*;
/// let x = matrix::<f32>("x");
/// let kept = RandomStreams::new(1).bernoulli(0.5, like(&x));
/// let f = function([&x]).output(where_(kept, &x * 2.0, 0.0)).compile()?;
/// assert_eq!(f.call(args![Value::zeros(DType::F32, &[3, 5])?])?[0].shape(), [3, 5]);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn like(x: impl Into<Variable>) -> Size {
    Size(Form::Like(x.into()))
}

impl Size {
    /// The extents, and the 0-d Variables among them.
    pub(super) fn extents(self) -> Result<(Vec<Extent>, Vec<Variable>)> {
        // The extents of an array are not negative.
        let shaped = matches!(self.0, Form::Like(_));
        let list = match self.0 {
            Form::Extents(list) => list,
            Form::Like(x) => {
                let x = x.checked()?;
                let known = |axis: usize| x.ty().shape.get(axis).copied().flatten();
                let extent = |axis: usize| match known(axis) {
                    Some(n) => Ok(Operand::Int(n as i128)),
                    None => ShapeOf::of(x, axis).map(Operand::Variable),
                };
                (0..x.ndim()).map(extent).collect::<Result<_>>()?
            }
        };
        let (extents, further) = Extent::list("draw", list)?;
        if extents.contains(&Extent::Infer) {
            return Err(fail("draw", "extent -1 is negative".into()));
        }
        let checked = |extent: Variable| match shaped {
            true => Ok(extent),
            false => extent_scalar("draw", extent),
        };
        Ok((extents, further.into_iter().map(checked).collect::<Result<_>>()?))
    }
}

/// What can be the size of a draw: an array, a slice or a `Vec` of numbers or of 0-d integer Variables, a
/// tuple of both, `()` for a draw without axes, or [`like`] an array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no size of a draw",
    note = "give extents, as [64, 8] or (&n, 8); () for a single number; or like(&x)"
)]
pub trait IntoSize {
    /// The size.
    fn into_size(self) -> Size;
}

impl IntoSize for Size {
    fn into_size(self) -> Size {
        self
    }
}

impl IntoSize for () {
    fn into_size(self) -> Size {
        Size(Form::Extents(vec![]))
    }
}

fn listed(extents: impl IntoIterator<Item = impl IntoOperand>) -> Size {
    Size(Form::Extents(extents.into_iter().map(IntoOperand::into_operand).collect()))
}

impl<E: IntoOperand, const N: usize> IntoSize for [E; N] {
    fn into_size(self) -> Size {
        listed(self)
    }
}

impl<E: IntoOperand + Clone, const N: usize> IntoSize for &[E; N] {
    fn into_size(self) -> Size {
        listed(self.iter().cloned())
    }
}

impl<E: IntoOperand + Clone> IntoSize for &[E] {
    fn into_size(self) -> Size {
        listed(self.iter().cloned())
    }
}

impl<E: IntoOperand> IntoSize for Vec<E> {
    fn into_size(self) -> Size {
        listed(self)
    }
}

impl<E: IntoOperand + Clone> IntoSize for &Vec<E> {
    fn into_size(self) -> Size {
        listed(self.iter().cloned())
    }
}

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<$first: IntoOperand, $($rest: IntoOperand),*> IntoSize for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn into_size(self) -> Size {
                let ($first, $($rest,)*) = self;
                Size(Form::Extents(vec![$first.into_operand(), $($rest.into_operand()),*]))
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H);
