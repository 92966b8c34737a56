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
        Ok(self.method_at(at))
    }

    /// The method at a position.
    pub(in crate::engine) fn method_at(&mut self, at: usize) -> MethodHandle<'_> {
        MethodHandle { simulator: self, at }
    }
}

/// Functions of a Simulator, for this method: name, generics, arguments, result, and the function that does
/// it for a method by its position.
macro_rules! of_this_method {
    ($($name:ident[$($generic:tt)*]($($arg:ident: $ty:ty),*) -> $out:ty
        = $at:ident($($given:expr),*);)*) => { $(
        #[doc = concat!("See [`Simulator::", stringify!($name), "`].")]
        #[doc = concat!("\n# Errors\nAs [`Simulator::", stringify!($name), "`].")]
        pub fn $name<$($generic)*>(&mut self, $($arg: $ty),*) -> Result<$out> {
            self.simulator.$at(self.at, $($given),*)
        }
    )* };
}

impl<'s> MethodHandle<'s> {
    of_this_method! {
        call['a](args: impl IntoArgs<'a>) -> Outputs = call_at(args.into_args());
        call_outputs['a, 'k, Form](
            outputs: impl IntoList<OutputKey<'k>, Form>,
            args: impl IntoArgs<'a>
        ) -> Outputs = call_outputs_at(outputs, args.into_args());
        call_trusted[](values: &[Value]) -> Outputs = call_trusted_at(values);
        call_device['a](args: impl IntoArgs<'a>) -> Vec<DeviceArray> = call_device_at(args.into_args());
        call_borrowed['a](args: impl IntoArgs<'a>) -> Borrowed<'_> = call_borrowed_at(args.into_args());
        submit['a](args: impl IntoArgs<'a>) -> Pending = submit_at(args.into_args());
        run_n['a](n: impl Count, args: impl IntoArgs<'a>) -> Outputs
            = run_n_at(n.count()?, args.into_args(), false);
        run_n_collect['a](n: impl Count, args: impl IntoArgs<'a>) -> Outputs
            = run_n_at(n.count()?, args.into_args(), true);
        run_n_watched['a](
            n: impl Count,
            every: impl Count,
            args: impl IntoArgs<'a>,
            watch: impl FnMut(&mut Simulator, u64) -> ControlFlow<()>
        ) -> (u64, Outputs) = run_n_watched_at([n.count()?, every.count()?], args.into_args(), watch);
        run_n_while['a](
            n: impl Count,
            args: impl IntoArgs<'a>,
            go_on: impl FnMut(u64) -> bool
        ) -> (u64, Outputs) = run_n_while_at(n.count()?, args.into_args(), go_on);
        run_while['a](condition: &str, max: impl Count, args: impl IntoArgs<'a>) -> (u64, Outputs)
            = run_while_at(condition, max.count()?, args.into_args());
        probe[](what: impl Into<Probed>, every: impl Count, capacity: impl Count) -> Probe
            = probe_at(what.into(), every.count()?, capacity.count()?);
        prepare['a](args: impl IntoArgs<'a>) -> () = warm_up_at([args]);
        warm_up['a, A: IntoArgs<'a>](calls: impl IntoIterator<Item = A>) -> () = warm_up_at(calls);
        reserve_for['a](args: impl IntoArgs<'a>) -> () = reserve_for_at(args.into_args());
        plan['a](args: impl IntoArgs<'a>) -> Plan = plan_at(args.into_args());
        profile['a](n: impl Count, args: impl IntoArgs<'a>) -> Profile
            = profile_at(n.count()?, args.into_args());
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.simulator.methods[self.at].name
    }

    /// Its parent Function.
    pub fn function(&self) -> &Function {
        &self.simulator.methods[self.at].function
    }

    /// See [`Simulator::typed`].
    ///
    /// # Errors
    /// As [`Simulator::typed`].
    pub fn typed<I: TypedTuple, O: TypedTuple>(self) -> Result<Typed<'s, I, O>> {
        let MethodHandle { simulator, at } = self;
        simulator.typed_at(at)
    }

    /// See [`Simulator::memory_report`].
    ///
    /// # Errors
    /// As [`Simulator::memory_report`].
    pub fn memory_report<'a>(&self, args: impl IntoArgs<'a>) -> Result<MemoryReport> {
        self.simulator.memory_report_at(self.at, args.into_args())
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
