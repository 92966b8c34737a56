//! Extents that a user vouches for.

use super::{Attr, Attributes, Gradient, Known, Op, expect_inputs};
use crate::error::{Error, Result};
use crate::graph::{TensorType, Variable};
use crate::value::Value;
use std::any::Any;

/// Its input, whose extents are these where one is given; an error where they are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecifyShape {
    /// One for each axis.
    pub extents: Vec<Option<usize>>,
}

impl SpecifyShape {
    fn check(&self, shape: &[usize]) -> Result<(), String> {
        let fits = shape.len() == self.extents.len()
            && shape.iter().zip(&self.extents).all(|(have, want)| want.is_none_or(|w| w == *have));
        if fits { Ok(()) } else { Err(format!("expected a shape of {}, got {shape:?}", self.text())) }
    }

    fn text(&self) -> String {
        let extents: Vec<String> =
            self.extents.iter().map(|e| e.map_or("?".into(), |e| e.to_string())).collect();
        format!("[{}]", extents.join(", "))
    }
}

impl Op for SpecifyShape {
    fn id(&self) -> &'static str {
        "specify_shape"
    }

    fn attributes(&self) -> Attributes {
        let extents = self.extents.iter().map(|e| e.map_or(-1, |e| e as i64)).collect();
        vec![("extents".into(), Attr::Ints(extents))]
    }

    fn label(&self) -> String {
        format!("specify_shape{}", self.text())
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let mut ty = inputs[0].clone();
        if ty.ndim() != self.extents.len() {
            return Err(format!("{} extents for {ty}", self.extents.len()));
        }
        for (have, want) in ty.shape.iter_mut().zip(&self.extents) {
            if let (Some(a), Some(b)) = (*have, *want)
                && a != b
            {
                return Err(format!("expected a shape of {}, got {}", self.text(), inputs[0]));
            }
            *have = have.or(*want);
        }
        Ok(vec![ty])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        self.check(inputs[0].shape)?;
        Ok(vec![inputs[0].shape.to_vec()])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].clone()])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        self.check(inputs[0].shape()).map_err(|m| Error::mismatch(self.label(), "that shape", m))?;
        Ok(vec![inputs[0].clone()])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
