//! Many steps in one go.

use super::Simulator;
use crate::error::{Error, Result};
use crate::function::{Args, Outputs};
use crate::rehost::engine::DeviceArray;
use crate::value::Value;

impl Simulator {
    /// Runs the first method `n` times without coming back to the host. Inputs stay as they are, but those given as
    /// [`each`](crate::function::each) take a slice a step. Outputs are those of the last step (none if `n` is 0).
    ///
    /// # Errors
    /// If the arguments do not fit, a sequence does not have `n` slices, or the device fails.
    pub fn run_n(&mut self, n: u64, args: Args) -> Result<Outputs> {
        self.run_n_at(0, n, args, false)
    }

    /// [`Simulator::run_n`] for a method by name.
    ///
    /// # Errors
    /// As [`Simulator::run_n`], or if there is no such method.
    pub fn run_n_method(&mut self, name: &str, n: u64, args: Args) -> Result<Outputs> {
        self.run_n_at(self.find(name)?, n, args, false)
    }

    /// [`Simulator::run_n_method`], with the outputs of all steps stacked along a new first axis.
    ///
    /// # Errors
    /// As [`Simulator::run_n_method`], or if an output changes its shape between steps.
    pub fn run_n_collect(&mut self, name: &str, n: u64, args: Args) -> Result<Outputs> {
        self.run_n_at(self.find(name)?, n, args, true)
    }

    fn run_n_at(&mut self, method: usize, n: u64, args: Args, collect: bool) -> Result<Outputs> {
        let (constant, each) = self.fed(method, args, Some(n))?;
        if n > 0 {
            self.note_updates(method);
        }
        let mut steps: Vec<Vec<DeviceArray>> = Vec::new();
        let last = self.engine.run_n(method, n, &constant, &each, |engine, at, _| {
            if collect {
                steps.push(engine.device_outputs(method, at)?);
            }
            Ok(())
        })?;
        let Some(at) = last else { return Ok(self.methods[method].function.outputs_of(vec![])) };
        let values = if collect {
            self.engine.finish()?;
            stack(&steps)?
        } else {
            self.engine.outputs(method, at)?
        };
        Ok(self.methods[method].function.outputs_of(values))
    }
}

/// Outputs of many steps, stacked.
fn stack(steps: &[Vec<DeviceArray>]) -> Result<Vec<Value>> {
    let count = steps.first().map_or(0, Vec::len);
    (0..count)
        .map(|output| {
            let arrays: Vec<&DeviceArray> = steps.iter().map(|s| &s[output]).collect();
            let (dtype, shape) = (arrays[0].dtype(), arrays[0].shape());
            if let Some(other) = arrays.iter().find(|a| a.shape() != shape) {
                return Err(Error::mismatch(
                    "collected outputs",
                    format!("{shape:?}"),
                    format!("{:?}", other.shape()),
                ));
            }
            let whole: Vec<usize> = std::iter::once(steps.len()).chain(shape.iter().copied()).collect();
            Value::try_filled(dtype, &whole, |bytes| {
                let size = bytes.len() / steps.len().max(1);
                for (part, array) in bytes.chunks_exact_mut(size.max(1)).zip(arrays) {
                    let value = array.to_value()?;
                    part.copy_from_slice(value.contiguous_bytes().unwrap_or(&[]));
                }
                Ok(())
            })
        })
        .collect()
}
