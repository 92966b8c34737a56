//! Calls of a Simulator: host arrays or device arrays in, host arrays or device arrays out.

use super::Simulator;
use crate::error::{Error, Result};
use crate::function::{Arg, Args, Outputs, bind};
use crate::rehost::engine::{DeviceArray, Fed};
use crate::value::Value;

/// Inputs (positions) that take a slice a step, with their sequences.
type Sequences = Vec<(usize, Value)>;

impl Simulator {
    /// Calls the first method: inputs from the host, outputs to the host.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call(&mut self, args: Args) -> Result<Outputs> {
        self.call_at(0, args)
    }

    /// Calls a method by name.
    ///
    /// # Errors
    /// If there is no such method, the arguments do not fit, or the device fails.
    pub fn call_method(&mut self, name: &str, args: Args) -> Result<Outputs> {
        self.call_at(self.find(name)?, args)
    }

    fn call_at(&mut self, method: usize, args: Args) -> Result<Outputs> {
        let (run, at) = self.run(method, args)?;
        let values = self.engine.outputs(run, at)?;
        Ok(self.methods[method].function.outputs_of(values))
    }

    /// Gives the method that ran, which is the method's twin if it has probes, and its Program.
    fn run(&mut self, method: usize, args: Args) -> Result<(usize, usize)> {
        if self.is_probed(method) {
            let ran = self.steps(method, None, args, &mut [], |engine, steps| steps.run(engine))?;
            return ran.ok_or_else(|| Error::Internal("a call without a step".into()));
        }
        let fed = self.fed(method, args, None)?.0;
        self.note_updates(method);
        Ok((method, self.engine.run(method, &fed)?))
    }

    pub(super) fn note_updates(&mut self, method: usize) {
        let updated: Vec<usize> = self.engine.updated(method).collect();
        updated.into_iter().for_each(|state| self.states[state].changed = true);
    }

    /// Calls the first method and leaves the outputs on the device. Device arrays may also be given as arguments. Nothing is
    /// waited for: an index out of range is reported by the method's next [`Simulator::call`] or by
    /// [`Simulator::synchronize`].
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call_device(&mut self, args: Args) -> Result<Vec<DeviceArray>> {
        self.call_method_device_at(0, args)
    }

    /// [`Simulator::call_device`] for a method by name.
    ///
    /// # Errors
    /// If there is no such method, the arguments do not fit, or the device fails.
    pub fn call_method_device(&mut self, name: &str, args: Args) -> Result<Vec<DeviceArray>> {
        self.call_method_device_at(self.find(name)?, args)
    }

    fn call_method_device_at(&mut self, method: usize, args: Args) -> Result<Vec<DeviceArray>> {
        if self.is_probed(method) {
            let (run, at) = self.run(method, args)?;
            return self.engine.device_outputs(run, at);
        }
        let fed = self.fed(method, args, None)?.0;
        self.note_updates(method);
        self.engine.run_owned(method, &fed)
    }

    /// A value in device memory, to be given to calls.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn upload(&self, value: impl Into<Value>) -> Result<DeviceArray> {
        self.engine.upload(&value.into())
    }

    /// Waits until everything that was enqueued has run.
    ///
    /// # Errors
    /// If the device failed.
    pub fn synchronize(&self) -> Result<()> {
        self.engine.finish()
    }

    /// Works out and compiles what a call with these arguments needs, without running it.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device cannot compile it.
    pub fn prepare(&mut self, name: &str, args: Args) -> Result<()> {
        let method = self.find(name)?;
        let fed = self.fed(method, args, None)?.0;
        self.engine.prepare(method, &fed)
    }

    /// Arguments in input order, and the sequences among them.
    pub(super) fn fed(&self, method: usize, args: Args, steps: Option<u64>) -> Result<(Vec<Fed>, Sequences)> {
        let function = &self.methods[method].function;
        let mut constant = Vec::new();
        let mut each = Vec::new();
        for (position, arg) in bind(function, args)?.into_iter().enumerate() {
            let what = || format!("{}: input {}", function.name(), function.input_name(position));
            match (arg, steps) {
                (Arg::Value(value), _) => constant.push(Fed::Host(value)),
                (Arg::Device(array), _) if array.is_on(self.engine.device()) => {
                    constant.push(Fed::Device(array))
                }
                (Arg::Device(array), _) => constant.push(Fed::Host(array.to_value()?)),
                (Arg::Each(_), None) => {
                    return Err(Error::mismatch(what(), "a value", "a sequence, which only run_n takes"));
                }
                (Arg::Each(sequence), Some(n)) => {
                    let len = sequence.shape().first().copied().unwrap_or(0) as u64;
                    if len != n {
                        return Err(Error::mismatch(
                            what(),
                            format!("a sequence of {n} slices"),
                            len.to_string(),
                        ));
                    }
                    // Until the first slice is there, zeros of its shape stand for it.
                    constant.push(Fed::Host(
                        Value::zeros(sequence.dtype(), &[])?.broadcast_to(&sequence.shape()[1..])?,
                    ));
                    each.push((position, sequence));
                }
            }
        }
        Ok((constant, each))
    }
}
