//! The shared variables of a model, as one thing.

use super::shared;
use super::shared::SharedVariable;
use crate::error::Result;
use crate::value::Value;

/// The shared variables of a model: a list for [`grad`](crate::grad::grad()), optimizers, `get_values` and
/// files, that grows as its layers are written.
///
/// ```
/// use workalike::prelude::*;
/// use workalike::Result;
/// fn layer(model: &mut Parameters, name: &str, x: &Variable, sizes: [usize; 2]) -> Result<Variable> {
///     let w = model.shared(&format!("{name}.w"), Value::zeros(DType::F32, &sizes)?);
///     let b = model.shared(&format!("{name}.b"), Value::zeros(DType::F32, &sizes[1..])?);
///     Ok((x.dot(w) + b).tanh())
/// }
/// let (x, mut model) = (matrix::<f32>("x"), Parameters::new());
/// let hidden = layer(&mut model, "hidden", &x, [4, 3])?;
/// let cost = layer(&mut model, "out", &hidden, [3, 1])?.sqr().mean(..);
/// let updates = adam(&model, grad(&cost, &model)?, 1e-3)?;
/// let train = function([&x]).output(cost).updates(updates).compile()?;
/// train.call(args![ndarray::Array2::<f32>::ones((2, 4))])?;
/// workalike::npz::save(std::env::temp_dir().join("model.npz"), model.values()?)?;
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    list: Vec<SharedVariable>,
}

impl Parameters {
    /// None yet.
    pub fn new() -> Parameters {
        Parameters::default()
    }

    /// A new [`shared`](crate::graph::shared()) variable, which is one of them.
    #[track_caller]
    pub fn shared(&mut self, name: &str, value: impl Into<Value>) -> SharedVariable {
        let parameter = shared(name, value);
        self.list.push(parameter.clone());
        parameter
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The first of this name.
    pub fn get(&self, name: &str) -> Option<&SharedVariable> {
        self.iter().find(|parameter| parameter.name() == Some(name))
    }

    /// They, in the order they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, SharedVariable> {
        self.list.iter()
    }

    /// Names and values, all read at one moment: what [`npz::save`](crate::npz::save) takes.
    ///
    /// # Errors
    /// As [`get_values`](crate::graph::get_values).
    pub fn values(&self) -> Result<Vec<(String, Value)>> {
        let names = self.iter().map(|parameter| parameter.name().unwrap_or_default().to_string());
        Ok(names.zip(super::get_values(self)?).collect())
    }
}

impl<'a> IntoIterator for &'a Parameters {
    type Item = &'a SharedVariable;
    type IntoIter = std::slice::Iter<'a, SharedVariable>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<SharedVariable> for Parameters {
    fn from_iter<I: IntoIterator<Item = SharedVariable>>(all: I) -> Parameters {
        Parameters { list: all.into_iter().collect() }
    }
}

impl Extend<SharedVariable> for Parameters {
    fn extend<I: IntoIterator<Item = SharedVariable>>(&mut self, more: I) {
        self.list.extend(more);
    }
}
