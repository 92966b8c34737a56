//! Lists of anything that can be converted to their elements.

/// A list of `T`: an array, a `Vec` or another iterable of things that convert to `T`; a tuple of up to
/// twelve different things that do; or `()` for none.
///
/// `Form` keeps the two kinds of implementation apart and is always inferred.
///
/// ```
/// use workalike::prelude::*;
/// let (x, lr) = (vector::<f64>("x"), scalar::<f64>("lr"));
/// let f = function((&x, In::new(&lr).default(0.1))).output(&x * &lr).compile()?;
/// assert_eq!(f.call(args![vec![10.0]])?[0].to_vec::<f64>()?, [1.0]);
/// let g = function(()).output(shared("w", 2.0)).compile()?;
/// assert_eq!(g.call(args![])?[0].item::<f64>()?, 2.0);
/// # Ok::<(), workalike::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of `{T}`",
    note = "give an array or Vec of Variables, a tuple such as (&x, In::new(&y)), or () for none"
)]
pub trait IntoList<T, Form> {
    /// Its elements, in order.
    fn into_list(self) -> Vec<T>;
}

/// The `Form` of iterables.
#[derive(Debug)]
pub enum Iterable {}

impl<T, I: IntoIterator<Item: Into<T>>> IntoList<T, Iterable> for I {
    fn into_list(self) -> Vec<T> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T> IntoList<T, ()> for () {
    fn into_list(self) -> Vec<T> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<T, $first: Into<T>, $($rest: Into<T>),*> IntoList<T, ($first, $($rest,)*)> for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn into_list(self) -> Vec<T> {
                let ($first, $($rest,)*) = self;
                vec![$first.into(), $($rest.into()),*]
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H I J K L);
