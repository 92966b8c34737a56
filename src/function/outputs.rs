//! The outputs of a call.

use crate::value::Value;
use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

/// Which output: by position or by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKey<'k> {
    /// By position, from 0.
    Position(usize),
    /// By name.
    Name(&'k str),
}

impl From<usize> for OutputKey<'_> {
    fn from(position: usize) -> Self {
        OutputKey::Position(position)
    }
}

impl From<&usize> for OutputKey<'_> {
    fn from(position: &usize) -> Self {
        OutputKey::Position(*position)
    }
}

impl<'k> From<&'k str> for OutputKey<'k> {
    fn from(name: &'k str) -> Self {
        OutputKey::Name(name)
    }
}

impl<'k> From<&&'k str> for OutputKey<'k> {
    fn from(name: &&'k str) -> Self {
        OutputKey::Name(name)
    }
}

impl<'k> From<&'k String> for OutputKey<'k> {
    fn from(name: &'k String) -> Self {
        OutputKey::Name(name)
    }
}

impl<'k> From<&&'k String> for OutputKey<'k> {
    fn from(name: &&'k String) -> Self {
        OutputKey::Name(name)
    }
}

/// The outputs of a call: one Value per output, by position or name.
///
/// ```
/// use workalike::prelude::*;
/// let x = scalar::<f64>("x");
/// let f = function([&x]).output_named("square", x.sqr()).output_named("half", &x / 2.0).compile()?;
/// let outputs = f.call(args![3.0])?;
/// assert_eq!((outputs[0].item::<f64>()?, outputs["half"].item::<f64>()?), (9.0, 1.5));
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    values: Vec<Value>,
    names: Arc<[Option<String>]>,
}

impl Outputs {
    pub(super) fn new(values: Vec<Value>, names: Arc<[Option<String>]>) -> Outputs {
        Outputs { values, names }
    }

    /// The output of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let position = self.names.iter().position(|n| n.as_deref() == Some(name))?;
        self.values.get(position)
    }

    /// Name (if it has one) and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&str>, &Value)> {
        self.names.iter().map(Option::as_deref).zip(&self.values)
    }

    /// The values, in order.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }

    /// Number of outputs.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Index<usize> for Outputs {
    type Output = Value;

    /// # Panics
    /// If there is no such output.
    fn index(&self, position: usize) -> &Value {
        &self.values[position]
    }
}

impl Index<&str> for Outputs {
    type Output = Value;

    /// # Panics
    /// If there is no output of this name; [`Outputs::get`] asks first.
    fn index(&self, name: &str) -> &Value {
        let known: Vec<&str> = self.names.iter().flatten().map(String::as_str).collect();
        // Indexing is documented to panic, as of any map.
        self.get(name).unwrap_or_else(|| {
            panic!("there is no output {name}; the named outputs are {}", known.join(", "))
        })
    }
}

/// For outputs by name in a map.
impl From<Outputs> for HashMap<String, Value> {
    fn from(outputs: Outputs) -> HashMap<String, Value> {
        let named = outputs.names.iter().cloned().zip(outputs.values).enumerate();
        named.map(|(i, (name, value))| (name.unwrap_or_else(|| i.to_string()), value)).collect()
    }
}
