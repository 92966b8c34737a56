//! Extents as a program gives them: numbers of any integer type, 0-d Variables, or the shape of an array.

use super::creation::extent_scalar;
use super::methods::fail;
use super::shape::{Extent, ShapeOf};
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable};

/// The extents of an array: see [`IntoSize`].
#[derive(Clone, Debug)]
pub struct Size(SizeSource);

#[derive(Clone, Debug)]
enum SizeSource {
    Extents(Vec<Operand>),
    Like(Variable),
}

/// The shape of an array, whatever it is at each call, as the size of another.
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
    Size(SizeSource::Like(x.into()))
}

impl Size {
    /// Numbers and 0-d Variables.
    pub(super) fn operands(self) -> Result<Vec<Operand>> {
        match self.0 {
            SizeSource::Extents(list) => Ok(list),
            SizeSource::Like(x) => {
                let x = x.checked()?;
                let known = |axis: usize| x.ty().shape.get(axis).copied().flatten();
                let extent = |axis: usize| match known(axis) {
                    Some(n) => Ok(Operand::Int(n as i128)),
                    None => ShapeOf::of(x, axis).map(Operand::Variable),
                };
                (0..x.ndim()).map(extent).collect()
            }
        }
    }

    /// The extents (one may be inferred), and the 0-d Variables among them.
    pub(super) fn extents_or_inferred(self, op: &str) -> Result<(Vec<Extent>, Vec<Variable>)> {
        Extent::list(op, self.operands()?)
    }

    /// The extents, none of them inferred, and the 0-d Variables among them. What takes these finds negative
    /// ones.
    pub(super) fn extents(self, op: &str) -> Result<(Vec<Extent>, Vec<Variable>)> {
        let (extents, further) = self.extents_or_inferred(op)?;
        if extents.contains(&Extent::Infer) {
            return Err(fail(op, "extent -1 is negative".into()));
        }
        Ok((extents, further))
    }

    /// [`Size::extents`]; of Variables each call finds negative ones.
    pub(super) fn checked_extents(self, op: &'static str) -> Result<(Vec<Extent>, Vec<Variable>)> {
        // The extents of an array are not negative.
        let shaped = matches!(self.0, SizeSource::Like(_));
        let (extents, further) = self.extents(op)?;
        let checked = |extent: Variable| match shaped {
            true => Ok(extent),
            false => extent_scalar(op, extent),
        };
        Ok((extents, further.into_iter().map(checked).collect::<Result<_>>()?))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match &self.0 {
            SizeSource::Extents(list) => list.len(),
            SizeSource::Like(x) => x.ndim(),
        }
    }

    /// The numbers, where no Variable can stand.
    pub(super) fn numbers(self, op: &str) -> Result<Vec<isize>> {
        let whole = |operand: Operand| match operand {
            Operand::Int(n) => isize::try_from(n).map_err(|_| fail(op, format!("{n} is out of range"))),
            other => Err(fail(op, format!("expected a whole number, got {other}"))),
        };
        match self.0 {
            SizeSource::Extents(list) => list.into_iter().map(whole).collect(),
            SizeSource::Like(x) => {
                Err(fail(op, format!("expected whole numbers, got the shape of {}", x.ty())))
            }
        }
    }
}

/// What can be a size: a number of any integer type or a 0-d integer Variable, for one axis; an array, a
/// slice or a `Vec` of them, or a tuple of both, for several; `()` for none; or the size that [`like`]
/// takes from an array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of extents",
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
        Size(SizeSource::Extents(vec![]))
    }
}

fn listed(extents: impl IntoIterator<Item = impl IntoOperand>) -> Size {
    Size(SizeSource::Extents(extents.into_iter().map(IntoOperand::into_operand).collect()))
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

macro_rules! single {
    ($($t:ty),*) => { $(impl IntoSize for $t {
        fn into_size(self) -> Size {
            listed([self])
        }
    })* };
}
single!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, Variable, &Variable);

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<$first: IntoOperand, $($rest: IntoOperand),*> IntoSize for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn into_size(self) -> Size {
                let ($first, $($rest,)*) = self;
                Size(SizeSource::Extents(vec![$first.into_operand(), $($rest.into_operand()),*]))
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H);
