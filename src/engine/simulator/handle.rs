//! A method of a Simulator, chosen by name.

use super::Simulator;
use super::borrowed::Borrowed;
use super::pending::Pending;
use super::plan::Plan;
use super::probe::{Probe, Probed};
use super::profile::Profile;
use super::typed::{Typed, TypedTuple};
use crate::engine::storage::DeviceArray;
use crate::engine::verify::Verification;
use crate::error::Result;
use crate::function::{Count, Function, IntoArgs, OutputKey, Outputs};
use crate::list::IntoList;
use crate::memory_report::MemoryReport;
use crate::value::Value;
use std::ops::ControlFlow;

/// A method of a Simulator; made by [`Simulator::method`]. Its functions do what the Simulator's functions of
/// the same names do with the first method.
#[derive(Debug)]
pub struct MethodHandle<'s> {
    simulator: &'s mut Simulator,
    at: usize,
}

impl Simulator {
    /// A method by name.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (w, by) = (shared("w", 1f64), scalar::<f64>("by"));
    /// let train = function([&by]).update(&w, &w * &by).name("train").compile()?;
    /// let mut sim = train.optimize(Host::auto())?;
    /// sim.add_method("look", &function(()).output(&w).compile()?)?;
    /// sim.call(args![3.0])?;
    /// let mut train = sim.method("train")?;
    /// train.run_n(2, args![2.0])?;
    /// assert_eq!(sim.method("look")?.call(args![])?[0].item::<f64>()?, 12.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such method.
    pub fn method(&mut self, name: &str) -> Result<MethodHandle<'_>> {
        let at = self.find(name)?;
        Ok(MethodHandle { simulator: self, at })
    }
}

impl<'s> MethodHandle<'s> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.simulator.methods[self.at].name
    }

    /// Its parent Function.
    pub fn function(&self) -> &Function {
        &self.simulator.methods[self.at].function
    }

    /// See [`Simulator::call`].
    ///
    /// # Errors
    /// As [`Simulator::call`].
    pub fn call<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.simulator.call_at(self.at, args.into_args())
    }

    /// See [`Simulator::call_outputs`].
    ///
    /// # Errors
    /// As [`Simulator::call_outputs`].
    pub fn call_outputs<'a, 'k, Form>(
        &mut self,
        outputs: impl IntoList<OutputKey<'k>, Form>,
        args: impl IntoArgs<'a>,
    ) -> Result<Outputs> {
        self.simulator.call_outputs_at(self.at, outputs, args.into_args())
    }

    /// See [`Simulator::call_trusted`].
    ///
    /// # Errors
    /// As [`Simulator::call_trusted`].
    pub fn call_trusted(&mut self, values: &[Value]) -> Result<Outputs> {
        self.simulator.call_trusted_at(self.at, values)
    }

    /// See [`Simulator::call_device`].
    ///
    /// # Errors
    /// As [`Simulator::call_device`].
    pub fn call_device<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Vec<DeviceArray>> {
        self.simulator.call_device_at(self.at, args.into_args())
    }

    /// See [`Simulator::call_borrowed`].
    ///
    /// # Errors
    /// As [`Simulator::call_borrowed`].
    pub fn call_borrowed<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Borrowed<'_>> {
        self.simulator.call_borrowed_at(self.at, args.into_args())
    }

    /// See [`Simulator::submit`].
    ///
    /// # Errors
    /// As [`Simulator::submit`].
    pub fn submit<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Pending> {
        self.simulator.submit_at(self.at, args.into_args())
    }

    /// See [`Simulator::run_n`].
    ///
    /// # Errors
    /// As [`Simulator::run_n`].
    pub fn run_n<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.simulator.run_n_at(self.at, n.count()?, args.into_args(), false)
    }

    /// See [`Simulator::run_n_collect`].
    ///
    /// # Errors
    /// As [`Simulator::run_n_collect`].
    pub fn run_n_collect<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.simulator.run_n_at(self.at, n.count()?, args.into_args(), true)
    }

    /// See [`Simulator::run_n_watched`].
    ///
    /// # Errors
    /// As [`Simulator::run_n_watched`].
    pub fn run_n_watched<'a>(
        &mut self,
        n: impl Count,
        every: impl Count,
        args: impl IntoArgs<'a>,
        watch: impl FnMut(&mut Simulator, u64) -> ControlFlow<()>,
    ) -> Result<(u64, Outputs)> {
        self.simulator.run_n_watched_at(self.at, [n.count()?, every.count()?], args.into_args(), watch)
    }

    /// See [`Simulator::run_n_while`].
    ///
    /// # Errors
    /// As [`Simulator::run_n_while`].
    pub fn run_n_while<'a>(
        &mut self,
        n: impl Count,
        args: impl IntoArgs<'a>,
        go_on: impl FnMut(u64) -> bool,
    ) -> Result<(u64, Outputs)> {
        self.simulator.run_n_while_at(self.at, n.count()?, args.into_args(), go_on)
    }

    /// See [`Simulator::run_while`].
    ///
    /// # Errors
    /// As [`Simulator::run_while`].
    pub fn run_while<'a>(
        &mut self,
        condition: &str,
        max: impl Count,
        args: impl IntoArgs<'a>,
    ) -> Result<(u64, Outputs)> {
        self.simulator.run_while_at(self.at, condition, max.count()?, args.into_args())
    }

    /// See [`Simulator::typed`].
    ///
    /// # Errors
    /// As [`Simulator::typed`].
    pub fn typed<I: TypedTuple, O: TypedTuple>(self) -> Result<Typed<'s, I, O>> {
        let MethodHandle { simulator, at } = self;
        simulator.typed_at(at)
    }

    /// See [`Simulator::probe`].
    ///
    /// # Errors
    /// As [`Simulator::probe`].
    pub fn probe(
        &mut self,
        what: impl Into<Probed>,
        every: impl Count,
        capacity: impl Count,
    ) -> Result<Probe> {
        self.simulator.probe_at(self.at, what.into(), every.count()?, capacity.count()?)
    }

    /// See [`Simulator::prepare`].
    ///
    /// # Errors
    /// As [`Simulator::prepare`].
    pub fn prepare<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<()> {
        self.simulator.warm_up_at(self.at, [args])
    }

    /// See [`Simulator::warm_up`].
    ///
    /// # Errors
    /// As [`Simulator::warm_up`].
    pub fn warm_up<'a, A: IntoArgs<'a>>(&mut self, calls: impl IntoIterator<Item = A>) -> Result<()> {
        self.simulator.warm_up_at(self.at, calls)
    }

    /// See [`Simulator::reserve_for`].
    ///
    /// # Errors
    /// As [`Simulator::reserve_for`].
    pub fn reserve_for<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<()> {
        self.simulator.reserve_for_at(self.at, args.into_args())
    }

    /// See [`Simulator::memory_report`].
    ///
    /// # Errors
    /// As [`Simulator::memory_report`].
    pub fn memory_report<'a>(&self, args: impl IntoArgs<'a>) -> Result<MemoryReport> {
        self.simulator.memory_report_at(self.at, args.into_args())
    }

    /// See [`Simulator::plan`].
    ///
    /// # Errors
    /// As [`Simulator::plan`].
    pub fn plan<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Plan> {
        self.simulator.plan_at(self.at, args.into_args())
    }

    /// See [`Simulator::profile`].
    ///
    /// # Errors
    /// As [`Simulator::profile`].
    pub fn profile<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Profile> {
        self.simulator.profile_at(self.at, n.count()?, args.into_args())
    }

    /// See [`Simulator::verify`].
    ///
    /// # Errors
    /// As [`Simulator::verify`].
    pub fn verify(&self, args: impl IntoArgs<'static>, steps: u64) -> Result<Verification> {
        self.simulator.verify_at(self.at, args.into_args(), steps)
    }

    /// A description as text: per signature the steps, and each host node with the reason.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        self.simulator.explain_to(&mut text, self.at);
        text
    }
}
