//! Optimizers, as updates of shared variables: they take parameters and their gradients, and return the
//! argument of [`updates`](crate::function::FunctionBuilder::updates).
//!
//! ```
//! use workalike::optimizers::{adam, clip_norm};
//! use workalike::prelude::*;
//! let (x, w) = (vector::<f32>("x"), shared("w", [0f32, 0.0]));
//! let cost = (&x - &*w).sqr().sum(..);
//! let gradients = clip_norm(grad(&cost, [&w])?, 1.0)?;
//! let train = function([&x]).output(&cost).updates(adam([&w], gradients, 1e-3)?).compile()?;
//! train.call(args![[1f32, 2.0]])?;
//! assert!(w.get_value()?.to_vec::<f32>()?.iter().all(|w| (w - 1e-3).abs() < 1e-6));
//! # Ok::<(), workalike::Error>(())
//! ```
//!
//! The learning rate is a number or a 0-d Variable (an input, or a shared variable that follows a schedule);
//! it takes the parameter's dtype. State lies in shared variables named after the parameter (`w.adam.m`),
//! which are saved with the Function. They have the parameter's dtype and shape, float32 for halves, and
//! begin at 0.

use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, SharedVariable, Variable, shared, shared_dynamic};
use crate::ops::methods::fail;
use crate::value::Value;
use workalike_kernels::DType;

/// The argument of [`updates`](crate::function::FunctionBuilder::updates).
pub type Updates = Vec<(SharedVariable, Variable)>;

/// A parameter and its gradient, as its state's dtype.
struct TrainedParameter {
    variable: SharedVariable,
    /// In the dtype that the step is computed in.
    gradient: Variable,
    rate: Variable,
    dtype: DType,
}

impl TrainedParameter {
    /// A new shared variable of zeros, like this one.
    fn state(&self, name: &str) -> Result<SharedVariable> {
        let value = self.variable.get_value()?;
        let dynamic = self.variable.ty().shape.iter().enumerate().filter(|(_, e)| e.is_none());
        let axes: Vec<usize> = dynamic.map(|(axis, _)| axis).collect();
        let name = format!("{}.{name}", self.variable.name().unwrap_or("parameter"));
        let state = shared_dynamic(&name, Value::zeros(self.dtype, value.shape())?, &axes);
        state.checked()?;
        Ok(state)
    }

    /// The parameter, moved by a step.
    fn moved(&self, step: &Variable) -> Result<(SharedVariable, Variable)> {
        let moved = self.variable.try_cast(self.dtype)?.try_add(step)?;
        Ok((self.variable.clone(), moved.try_cast(self.variable.dtype())?))
    }
}

fn parameters(
    optimizer: &str,
    parameters: impl IntoIterator<Item = impl Into<SharedVariable>>,
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    rate: Operand,
) -> Result<Vec<TrainedParameter>> {
    let parameters: Vec<SharedVariable> = parameters.into_iter().map(Into::into).collect();
    let gradients: Vec<Variable> = gradients.into_iter().map(Into::into).collect();
    if parameters.len() != gradients.len() {
        let expected = format!("a gradient for each of {} parameters", parameters.len());
        return Err(Error::mismatch(optimizer, expected, gradients.len().to_string()));
    }
    let rate = Operand::resolve(vec![rate]).swap_remove(0);
    if rate.checked()?.ndim() != 0 {
        return Err(Error::mismatch(
            format!("{optimizer}'s learning rate"),
            "a number",
            rate.ty().to_string(),
        ));
    }
    let pairs = parameters.into_iter().zip(gradients);
    pairs
        .map(|(variable, gradient)| {
            let (own, given) = (variable.checked()?.ty(), gradient.checked()?.ty());
            if !own.dtype.is_float() || own.ndim() != given.ndim() {
                let what =
                    format!("{optimizer}: the gradient of {}", variable.name().unwrap_or("a parameter"));
                return Err(Error::mismatch(what, format!("that of floats {own}"), given.to_string()));
            }
            let dtype = own.dtype.register();
            let (gradient, rate) = (gradient.try_cast(dtype)?, rate.try_cast(dtype)?);
            Ok(TrainedParameter { variable, gradient, rate, dtype })
        })
        .collect()
}

/// Gradient descent: `w <- w - rate * g`.
///
/// # Errors
/// If there is not one gradient for each parameter, of its rank, or a parameter is no float.
#[track_caller]
pub fn sgd(
    list: impl IntoIterator<Item = impl Into<SharedVariable>>,
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    rate: impl IntoOperand,
) -> Result<Updates> {
    let _scope = source_location::enter();
    let list = parameters("sgd", list, gradients, rate.into_operand())?;
    list.iter().map(|p| p.moved(&-(&p.rate * &p.gradient))).collect()
}

/// Gradient descent with momentum: `v <- momentum * v - rate * g`, `w <- w + v`, with the new v (I. Sutskever
/// et al., "On the importance of initialization and momentum in deep learning", 2013). State: `w.momentum.v`.
///
/// # Errors
/// As [`sgd`].
#[track_caller]
pub fn momentum(
    list: impl IntoIterator<Item = impl Into<SharedVariable>>,
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    rate: impl IntoOperand,
    momentum: f64,
) -> Result<Updates> {
    let _scope = source_location::enter();
    let list = parameters("momentum", list, gradients, rate.into_operand())?;
    velocity(&list, "momentum", momentum, |_, v| v.clone())
}

/// Nesterov's momentum: `v <- momentum * v - rate * g`, `w <- w + momentum * v - rate * g`, with the new v
/// (the form of Y. Bengio et al., "Advances in optimizing recurrent networks", 2012). State: `w.nesterov.v`.
///
/// # Errors
/// As [`sgd`].
#[track_caller]
pub fn nesterov(
    list: impl IntoIterator<Item = impl Into<SharedVariable>>,
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    rate: impl IntoOperand,
    momentum: f64,
) -> Result<Updates> {
    let _scope = source_location::enter();
    let list = parameters("nesterov", list, gradients, rate.into_operand())?;
    velocity(&list, "nesterov", momentum, |p, v| v * momentum - &p.rate * &p.gradient)
}

/// Updates of velocities, and of parameters by a step that follows from the new one.
fn velocity(
    list: &[TrainedParameter],
    name: &str,
    momentum: f64,
    step: impl Fn(&TrainedParameter, &Variable) -> Variable,
) -> Result<Updates> {
    let mut updates = Updates::new();
    for p in list {
        let v = p.state(&format!("{name}.v"))?;
        let new = &*v * momentum - &p.rate * &p.gradient;
        updates.push(p.moved(&step(p, &new))?);
        updates.push((v, new));
    }
    Ok(updates)
}

/// RMSProp with its options (T. Tieleman and G. Hinton, Coursera lecture 6.5, 2012): `v <- decay * v + (1 -
/// decay) * g^2`, `w <- w - rate * g / (sqrt(v) + epsilon)`, with the new v. State: `w.rmsprop.v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsProp {
    /// How much of the mean square is kept at each step; 0.99 by default.
    pub decay: f64,
    /// Added to the root; 1e-8 by default.
    pub epsilon: f64,
}

impl Default for RmsProp {
    fn default() -> RmsProp {
        RmsProp { decay: 0.99, epsilon: 1e-8 }
    }
}

impl RmsProp {
    /// The updates.
    ///
    /// # Errors
    /// As [`sgd`].
    #[track_caller]
    pub fn updates(
        &self,
        list: impl IntoIterator<Item = impl Into<SharedVariable>>,
        gradients: impl IntoIterator<Item = impl Into<Variable>>,
        rate: impl IntoOperand,
    ) -> Result<Updates> {
        let _scope = source_location::enter();
        let list = parameters("rmsprop", list, gradients, rate.into_operand())?;
        let mut updates = Updates::new();
        for p in &list {
            let v = p.state("rmsprop.v")?;
            let new = &*v * self.decay + p.gradient.sqr() * (1.0 - self.decay);
            updates.push(p.moved(&-(&p.rate * &p.gradient / (new.sqrt() + self.epsilon)))?);
            updates.push((v, new));
        }
        Ok(updates)
    }
}

/// [`RmsProp`] with its defaults, which are PyTorch's.
///
/// # Errors
/// As [`sgd`].
#[track_caller]
pub fn rmsprop(
    list: impl IntoIterator<Item = impl Into<SharedVariable>>,
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    rate: impl IntoOperand,
) -> Result<Updates> {
    RmsProp::default().updates(list, gradients, rate)
}

/// Adam with its options (D. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015, algorithm
/// 1): `t <- t + 1`, `m <- beta1 * m + (1 - beta1) * g`, `v <- beta2 * v + (1 - beta2) * g^2`, `w <- w - rate
/// * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)`, with the new ones. State: `w.adam.m`,
/// `w.adam.v`, and one `adam.t`, int64, for all parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// How much of the mean gradient is kept at each step; 0.9 by default.
    pub beta1: f64,
    /// How much of the mean square is kept at each step; 0.999 by default.
    pub beta2: f64,
    /// Added to the root; 1e-8 by default.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl Adam {
    /// The updates.
    ///
    /// # Errors
    /// As [`sgd`]; if a beta is not from 0 to below 1.
    #[track_caller]
    pub fn updates(
        &self,
        list: impl IntoIterator<Item = impl Into<SharedVariable>>,
        gradients: impl IntoIterator<Item = impl Into<Variable>>,
        rate: impl IntoOperand,
    ) -> Result<Updates> {
        let _scope = source_location::enter();
        let list = parameters("adam", list, gradients, rate.into_operand())?;
        if let Some(beta) = [self.beta1, self.beta2].iter().find(|b| !(0.0..1.0).contains(*b)) {
            return Err(Error::mismatch("adam's beta", "a number from 0 to below 1", beta.to_string()));
        }
        let t = shared("adam.t", 0i64);
        let next = &*t + 1;
        let mut updates = Updates::new();
        for p in &list {
            let (m, v) = (p.state("adam.m")?, p.state("adam.v")?);
            let steps = next.cast(p.dtype);
            // 1 - beta^t, without cancellation if it is small.
            let correction = |beta: f64| -(&steps * beta.ln()).expm1();
            let new_m = &*m * self.beta1 + &p.gradient * (1.0 - self.beta1);
            let new_v = &*v * self.beta2 + p.gradient.sqr() * (1.0 - self.beta2);
            let mean = &new_m / correction(self.beta1);
            let root = (&new_v / correction(self.beta2)).sqrt();
            updates.push(p.moved(&-(&p.rate * mean / (root + self.epsilon)))?);
            updates.extend([(m, new_m), (v, new_v)]);
        }
        updates.push((t, next));
        Ok(updates)
    }
}

/// [`Adam`] with its defaults.
///
/// # Errors
/// As [`sgd`].
#[track_caller]
pub fn adam(
    list: impl IntoIterator<Item = impl Into<SharedVariable>>,
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    rate: impl IntoOperand,
) -> Result<Updates> {
    Adam::default().updates(list, gradients, rate)
}

/// Gradients scaled so that the norm of all together is at most `most`: each becomes `g * most / max(norm,
/// most)`, where `norm` is the root of the sum of all squares (R. Pascanu et al., "On the difficulty of
/// training recurrent neural networks", 2013).
///
/// # Errors
/// If an expression is ill-typed, or a gradient is no float.
#[track_caller]
pub fn clip_norm(
    gradients: impl IntoIterator<Item = impl Into<Variable>>,
    most: impl IntoOperand,
) -> Result<Vec<Variable>> {
    let gradients: Vec<Variable> = gradients.into_iter().map(Into::into).collect();
    let _scope = source_location::enter();
    let mut dtype: Option<DType> = None;
    for gradient in &gradients {
        let own = gradient.checked()?.dtype();
        if !own.is_float() {
            let what = format!("expected gradients of floats, got {}", gradient.ty());
            return Err(fail("clip_norm", what));
        }
        dtype = Some(dtype.map_or(own.register(), |d| d.promote(own.register())));
    }
    let Some(dtype) = dtype else { return Ok(gradients) };
    let most = Operand::resolve(vec![most.into_operand()]).swap_remove(0).try_cast(dtype)?;
    let squares: Vec<Variable> =
        gradients.iter().map(|g| g.try_cast(dtype)?.try_sqr()?.try_sum(..)).collect::<Result<_>>()?;
    let total =
        squares.into_iter().reduce(|a, b| a + b).ok_or_else(|| Error::Internal("no gradients".into()))?;
    let scale = &most / total.sqrt().maximum(&most);
    gradients.iter().map(|g| g.try_cast(dtype)?.try_mul(&scale)?.try_cast(g.dtype())).collect()
}
