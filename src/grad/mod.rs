//! Differentiation: reverse mode over the ops' own rules ([`grad`], [`Grad`]), and derivatives composed of it
//! ([`jvp`], [`jacobian`], [`hessian`], [`hvp`]). [`verify_grad`] compares with differences.

mod check;
mod jacobians;

pub use check::verify_grad;
pub use jacobians::{hessian, hvp, jacobian, jvp, vjp};

use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Apply, Variable, rebuild};
use crate::list::IntoList;
use crate::ops::backpropagate::{ByKey, backpropagate};
use crate::ops::methods::fail;
use crate::ops::zeros_like;
use crate::rewrite;
use crate::value::Value;

/// The gradient of `cost`, a 0-d float, with respect to each of `wrt`; each has the type of its Variable.
///
/// The cost is stabilized first (a `log(softmax(x))` in it is differentiated as `log_softmax(x)`), as
/// `compile` will.
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f64>("x");
/// let g = grad(&x.sqr().sum(..), [&x])?;
/// let f = function([&x]).output(&g[0]).compile()?;
/// assert_eq!(f.call(args![vec![1.0, 2.0]])?[0].to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// If an expression is ill-typed, the cost is not a 0-d float, or does not depend on one of `wrt` in a
/// differentiable way.
#[doc(alias("gradient", "value_and_grad", "backward"))]
#[track_caller]
pub fn grad<Form>(cost: impl Into<Variable>, wrt: impl IntoList<Variable, Form>) -> Result<Vec<Variable>> {
    Grad::of(&cost.into()).wrt(wrt.into_list())
}

/// The gradient of a Variable on which the cost does not depend smoothly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disconnected {
    /// An error.
    #[default]
    Error,
    /// Zeros.
    Zero,
}

/// A gradient with options: of a cost, of known gradients, or of both; with Variables held constant.
///
/// ```
/// use workalike::grad::{Disconnected, Grad};
/// use workalike::prelude::*;
/// let (x, y) = (vector::<f64>("x"), vector::<f64>("y"));
/// let square = x.sqr();
/// // The gradient through `square`, given that its own gradient is y.
/// let g = Grad::known([(&square, &y)]).wrt([&x])?;
/// let f = function([&x, &y]).output(&g[0]).compile()?;
/// assert_eq!(f.call(args![vec![1.0, 2.0], vec![10.0, 100.0]])?[0].to_vec::<f64>()?, [20.0, 400.0]);
/// let zero = Grad::of(&y.sum(..)).disconnected(Disconnected::Zero).wrt([&x])?;
/// # let _ = zero;
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Grad {
    cost: Option<Variable>,
    known: Vec<(Variable, Variable)>,
    constant: Vec<Variable>,
    disconnected: Disconnected,
}

impl Grad {
    /// Of a cost, a 0-d float.
    pub fn of(cost: &Variable) -> Grad {
        Grad { cost: Some(cost.clone()), ..Grad::default() }
    }

    /// Of anything whose gradient is known: pairs of an expression and its gradient, of the same type.
    pub fn known(pairs: impl IntoIterator<Item = (impl Into<Variable>, impl Into<Variable>)>) -> Grad {
        Grad::default().and_known(pairs)
    }

    /// More known gradients; those of one expression add up.
    #[must_use]
    pub fn and_known(
        mut self,
        pairs: impl IntoIterator<Item = (impl Into<Variable>, impl Into<Variable>)>,
    ) -> Grad {
        self.known.extend(pairs.into_iter().map(|(v, g)| (v.into(), g.into())));
        self
    }

    /// Nothing is propagated through these: they count as constants.
    #[must_use]
    pub fn consider_constant(mut self, list: impl IntoIterator<Item = impl Into<Variable>>) -> Grad {
        self.constant.extend(list.into_iter().map(Into::into));
        self
    }

    /// Sets the gradient of a Variable on which the cost does not depend smoothly; an error by default.
    #[must_use]
    pub fn disconnected(mut self, policy: Disconnected) -> Grad {
        self.disconnected = policy;
        self
    }

    /// The gradient with respect to each of these.
    ///
    /// # Errors
    /// If an expression is ill-typed, the cost is not a 0-d float, a known gradient has another type than its
    /// expression, or one of `wrt` is disconnected and that is an error.
    #[track_caller]
    pub fn wrt(&self, wrt: impl IntoIterator<Item = impl Into<Variable>>) -> Result<Vec<Variable>> {
        let wrt: Vec<Variable> = wrt.into_iter().map(Into::into).collect();
        let _scope = source_location::enter();
        let given = wrt.iter().zip(self.wrt_connected(&wrt)?);
        given
            .map(|(variable, gradient)| match (gradient, self.disconnected) {
                (Some(gradient), _) => Ok(gradient),
                (None, Disconnected::Zero) => Ok(zeros_like(variable)),
                (None, Disconnected::Error) => {
                    let what = variable.name().map_or_else(|| format!("{variable:?}"), Into::into);
                    Err(fail(
                        "grad",
                        format!(
                            "expected a cost that depends smoothly on {what}, got one that does not; for a gradient of \
                             zeros, Grad::of(&cost).disconnected(Disconnected::Zero)"
                        ),
                    ))
                }
            })
            .collect()
    }

    /// The gradient with respect to each of these; `None` where there is no smooth dependence.
    ///
    /// # Errors
    /// As [`Grad::wrt`], except for disconnected Variables.
    #[track_caller]
    pub fn wrt_connected(&self, wrt: &[Variable]) -> Result<Vec<Option<Variable>>> {
        let _scope = source_location::enter();
        let pairs = self.known.iter().flat_map(|(v, g)| [v, g]);
        for variable in self.cost.iter().chain(wrt).chain(&self.constant).chain(pairs) {
            variable.checked()?;
        }
        let mut seeds: Vec<(Variable, Variable)> = Vec::new();
        if let Some(cost) = &self.cost {
            if cost.ndim() != 0 || !cost.dtype().is_float() {
                return Err(fail("grad", {
                    let part =
                        if cost.dtype().is_complex() { "; take its real() part or its abs()" } else { "" };
                    format!("expected a cost that is a 0-d float, got {}{part}", cost.ty())
                }));
            }
            let one = Variable::constant(Value::from(1.0f64).cast(cost.dtype())?);
            seeds.push((self.stabilized(cost, wrt)?, one));
        }
        seeds.extend(self.known.iter().cloned());
        let grads = backpropagate(seeds, wrt, &self.constant)?;
        Ok(wrt.iter().map(|variable| grads.get(&variable.key()).cloned()).collect())
    }

    /// The cost in the form that is differentiated.
    fn stabilized(&self, cost: &Variable, wrt: &[Variable]) -> Result<Variable> {
        // Variables that are named here must stay in the graph, so their nodes are not rewritten.
        let named = wrt.iter().chain(&self.constant).chain(self.known.iter().map(|k| &k.0));
        let mut known: ByKey = named.map(|v| (v.key(), v.clone())).collect();
        if known.contains_key(&cost.key()) {
            return Ok(cost.clone());
        }
        // A rule must not look through a named Variable: an expression of the Variable's inputs does not
        // depend on it.
        let named = known.keys().copied().collect();
        let rule = |apply: &Apply, inputs: &[Variable]| rewrite::stabilized(apply, inputs, &named);
        let roots = [cost.clone()];
        Ok(rebuild(&roots, &mut known, rule)?.swap_remove(0))
    }
}
