//! How the body of a loop takes and returns Variables: one, or several as an array, a tuple or a Vec.

use crate::graph::{SharedVariable, Variable};
use crate::ops::methods::fail;

/// One Variable or several: what a loop is given, and what its body returns.
///
/// A Variable, an array `[&x, &y]`, a tuple `(&x, &y)` of up to four, a Vec, or `()` for none. The body gets
/// the same form with owned Variables, so that it can take it apart: `|[x, y], h| ..`.
pub trait Pack {
    /// The same form, of owned Variables.
    type Variables;

    /// The Variables in order.
    fn into_list(self) -> Vec<Variable>;

    /// The form of these Variables; `None` if there are not as many as it holds.
    fn unpack(list: Vec<Variable>) -> Option<Self::Variables>;

    /// The form of these Variables. If there are not as many as it holds, poisoned ones.
    #[doc(hidden)]
    fn unpack_poisoned(list: Vec<Variable>) -> Self::Variables
    where
        Self: Sized,
    {
        let given = list.len();
        // The first error, if there is one, says more than their number.
        let poison = list.first().filter(|v| v.checked().is_err()).cloned().unwrap_or_else(|| {
            Variable::poison(fail("scan", format!("there are {given} results, which is not what was asked")))
        });
        Self::unpack(list).unwrap_or_else(|| Self::filled(&poison))
    }

    /// The form with this Variable in every place.
    #[doc(hidden)]
    fn filled(with: &Variable) -> Self::Variables;
}

macro_rules! one {
    ($($t:ty),*) => { $(
        impl Pack for $t {
            type Variables = Variable;
            fn into_list(self) -> Vec<Variable> {
                vec![self.into()]
            }
            fn unpack(mut list: Vec<Variable>) -> Option<Variable> {
                if list.len() == 1 { list.pop() } else { None }
            }
            fn filled(with: &Variable) -> Variable {
                with.clone()
            }
        }
    )* };
}

one!(Variable, &Variable, &SharedVariable, SharedVariable);

impl<T: Into<Variable>, const N: usize> Pack for [T; N] {
    type Variables = [Variable; N];
    fn into_list(self) -> Vec<Variable> {
        self.into_iter().map(Into::into).collect()
    }
    fn unpack(list: Vec<Variable>) -> Option<[Variable; N]> {
        list.try_into().ok()
    }
    fn filled(with: &Variable) -> [Variable; N] {
        std::array::from_fn(|_| with.clone())
    }
}

impl<T: Into<Variable>> Pack for Vec<T> {
    type Variables = Vec<Variable>;
    fn into_list(self) -> Vec<Variable> {
        self.into_iter().map(Into::into).collect()
    }
    fn unpack(list: Vec<Variable>) -> Option<Vec<Variable>> {
        Some(list)
    }
    fn filled(with: &Variable) -> Vec<Variable> {
        vec![with.clone()]
    }
}

impl Pack for () {
    type Variables = ();
    fn into_list(self) -> Vec<Variable> {
        vec![]
    }
    fn unpack(list: Vec<Variable>) -> Option<()> {
        list.is_empty().then_some(())
    }
    fn filled(_: &Variable) {}
}

macro_rules! tuple {
    ($($name:ident $variable:ident),*) => {
        impl<$($name: Into<Variable>),*> Pack for ($($name,)*) {
            type Variables = ($(tuple!(@ $name),)*);
            fn into_list(self) -> Vec<Variable> {
                let ($($variable,)*) = self;
                vec![$($variable.into()),*]
            }
            fn unpack(list: Vec<Variable>) -> Option<Self::Variables> {
                let [$($variable),*] = list.try_into().ok()?;
                Some(($($variable,)*))
            }
            fn filled(with: &Variable) -> Self::Variables {
                ($({ let $variable = with.clone(); $variable },)*)
            }
        }
    };
    (@ $name:ident) => { Variable };
}

tuple!(A a, B b);
tuple!(A a, B b, C c);
tuple!(A a, B b, C c, D d);
