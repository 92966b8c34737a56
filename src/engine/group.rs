//! A group whose members are all in this process: one callable for all of them.

mod method;
mod together;

use super::Backend;
use super::division::are_alike;
use super::members::member;
use super::simulator::{MethodHandle, Simulator};
use crate::error::{Error, Result};
use crate::function::{Args, ArgsIn, Count, Function, HostArgs, IntoArgs, Outputs};
use crate::graph::Cell;
use crate::value::Value;
use method::{GroupMethod, Way};
use std::sync::Arc;
use std::time::Duration;
use together::{finished, no_members, together};
use workalike_device::group::{Group, threads};
use workalike_device::{Open, Tuned};

/// The time that members wait for each other before a call is an error for all: first calls compile kernels.
const PATIENCE: Duration = Duration::from_secs(600);

/// Devices of this process as the members of a group, for [`Function::optimize`]: made by [`group`].
#[derive(Debug)]
pub struct LocalGroup<O> {
    name: String,
    devices: Vec<O>,
    in_main_memory: bool,
    always_divided: bool,
    compared_every: Option<u64>,
}

/// The group that a Function calls `name`, with one member for each of these devices. The result, a
/// [`GroupSimulator`], is called like the Function.
///
/// The members are threads of this process. GPUs write arrays to each other's memory, or NCCL carries them,
/// where it is installed. For a process for each device, see [`member`](crate::engine::member).
///
/// ```
/// use workalike::prelude::*;
/// let (x, total) = (vector::<f32>("x"), shared("total", 0f32));
/// let f = function([&x]).output(&x * 2.0).update(&total, &total + x.sum(..)).compile()?;
/// let parallel = f.data_parallel("workers", ["x"])?;
/// let mut sim = parallel.optimize(group("workers", [Host::threads(1), Host::threads(1)]))?;
/// assert_eq!(sim.call(args![vec![1f32, 2.0, 3.0, 4.0]])?[0].to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
/// sim.sync_to_parent()?;
/// assert_eq!(total.get_value()?.item::<f32>()?, 10.0);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn group<O: Open>(name: &str, devices: impl IntoIterator<Item = O>) -> LocalGroup<O> {
    let devices = devices.into_iter().collect();
    LocalGroup {
        name: name.into(),
        devices,
        in_main_memory: false,
        always_divided: false,
        compared_every: None,
    }
}

impl<O> LocalGroup<O> {
    /// For debugging: see [`Member::compared_every`](super::Member::compared_every).
    #[must_use]
    pub fn compared_every(self, steps: u64) -> LocalGroup<O> {
        LocalGroup { compared_every: Some(steps), ..self }
    }

    /// Arrays go through main memory: see [`Member::in_main_memory`](super::Member::in_main_memory).
    #[must_use]
    pub fn in_main_memory(self) -> LocalGroup<O> {
        LocalGroup { in_main_memory: true, ..self }
    }

    /// Members divide all calls of [data parallel](Function::data_parallel) Functions among them, also those
    /// that take less time if each computes all: see [`GroupSimulator::divides`].
    #[must_use]
    pub fn always_divided(self) -> LocalGroup<O> {
        LocalGroup { always_divided: true, ..self }
    }
}

impl<O: Open> Backend for LocalGroup<O> {
    type Simulator = GroupSimulator;

    /// # Errors
    /// If there are no devices, one is missing, or the Function names another group.
    fn optimize(&self, function: &Function) -> Result<GroupSimulator> {
        if self.devices.is_empty() {
            return Err(Error::mismatch("group", "at least one device", "none"));
        }
        let open = |device: &O| Ok(Tuned::new(device.open()?, device.options()));
        let devices = self.devices.iter().map(open).collect::<Result<Vec<_>>>()?;
        let seats = threads(devices.len(), PATIENCE);
        let method = GroupMethod::of(function.name(), function, &self.name)?;
        let (name, own) = (self.name.as_str(), method.part());
        let (every, in_main_memory) = (self.compared_every, self.in_main_memory);
        let members = together(&seats, devices, |rank, device| {
            let mut member = member(name, seats[rank].clone(), device);
            if let Some(steps) = every {
                member = member.compared_every(steps);
            }
            own.optimize(if in_main_memory { member.in_main_memory() } else { member })
        })?;
        let mut others = members.iter().skip(1);
        let alike = |first: &Simulator| others.all(|other| are_alike(first.properties(), other.properties()));
        let deterministic = self.devices.iter().all(|device| device.options().deterministic);
        let may_repeat = !self.always_divided && deterministic && members.first().is_some_and(alike);
        Ok(GroupSimulator { name: self.name.clone(), members, seats, methods: vec![method], may_repeat })
    }
}

/// The members of a group in one process, called like a Function: made by [`group`].
///
/// Inputs that the Function divides ([`Function::data_parallel`]) are given whole: each member gets its part.
/// Rows of outputs are joined. All other inputs go to all members, and other outputs are those of member 0.
/// A call that is so small that exchanges would take longer than what they save is not divided
/// ([`GroupSimulator::divides`]).
///
/// If a call fails on one member it is an error for all.
#[derive(Debug)]
pub struct GroupSimulator {
    name: String,
    members: Vec<Simulator>,
    seats: Vec<Arc<dyn Group>>,
    methods: Vec<GroupMethod>,
    /// Whether members that compute the same get the same bits.
    may_repeat: bool,
}

impl GroupSimulator {
    /// The name of the group.
    pub fn group_name(&self) -> &str {
        &self.name
    }

    /// The number of members.
    pub fn group_size(&self) -> usize {
        self.members.len()
    }

    /// Calls the first method: inputs from the host, outputs to the host. A call that fails changes no shared
    /// variable of any member that learns of it before it stores new values.
    ///
    /// # Errors
    /// If the arguments do not fit, or a member fails.
    pub fn call<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.call_at(0, args.into_args())
    }

    /// [`GroupSimulator::call`] for a method by name.
    ///
    /// # Errors
    /// As [`GroupSimulator::call`]; or if there is no such method.
    pub fn call_method<'a>(&mut self, name: &str, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.call_at(self.find(name)?, args.into_args())
    }

    /// Calls the first method `n` times, as [`Simulator::run_n`] does.
    ///
    /// # Errors
    /// If the arguments do not fit, or a member fails.
    pub fn run_n<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.run_n_at(0, n.count()?, args.into_args())
    }

    /// [`GroupSimulator::run_n`] for a method by name.
    ///
    /// # Errors
    /// As [`GroupSimulator::run_n`]; or if there is no such method.
    pub fn run_method_n<'a>(
        &mut self,
        name: &str,
        n: impl Count,
        args: impl IntoArgs<'a>,
    ) -> Result<Outputs> {
        self.run_n_at(self.find(name)?, n.count()?, args.into_args())
    }

    /// Whether the members divide a call of the first method with these arguments. If each exchange of theirs
    /// takes longer than what it saves, each member computes all of the call instead, and none waits for
    /// another; all get the same bits, those of one device. It is predicted from the sizes of arrays, for
    /// Functions made by [`Function::data_parallel`] on GPUs of one kind; all others are divided.
    ///
    /// # Errors
    /// If the arguments do not fit.
    pub fn divides<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<bool> {
        let args = self.host_args(0, args.into_args())?;
        Ok(matches!(self.way(0, &args)?, Way::Divided))
    }

    fn host_args(&self, method: usize, args: ArgsIn<'_>) -> Result<HostArgs> {
        HostArgs::of(self.methods[method].part(), args)
    }

    /// How the members compute a call.
    fn way(&mut self, method: usize, args: &HostArgs) -> Result<Way> {
        match self.may_repeat {
            true => self.methods[method].way(&mut self.members, args),
            false => Ok(Way::Divided),
        }
    }

    fn call_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Outputs> {
        self.on_all(method, args, |mut member, args| member.call(args))
    }

    fn run_n_at(&mut self, method: usize, n: u64, args: ArgsIn<'_>) -> Result<Outputs> {
        self.on_all(method, args, |mut member, args| member.run_n(n, args))
    }

    /// Runs a method on all members: each has its part of the arguments, or all of them have all.
    fn on_all(
        &mut self,
        method: usize,
        args: ArgsIn<'_>,
        run: impl Fn(MethodHandle<'_>, Args) -> Result<Outputs> + Sync,
    ) -> Result<Outputs> {
        let args = self.host_args(method, args)?;
        let way = self.way(method, &args)?;
        let known = &self.methods[method];
        let given = known.given(&way, &args, self.members.len())?;
        let members = self.members.iter_mut().zip(given).collect();
        let work = |rank: usize, (member, args): (&mut Simulator, HostArgs)| match &way {
            Way::Divided => run(member.method(known.name())?, args.into()),
            Way::Repeated(positions) => run(member.method_at(positions[rank]), args.into()),
        };
        let finished = finished(&self.seats, members, work);
        if let (Way::Repeated(_), Some(failed)) = (&way, finished.failed_alone()) {
            let updated = known.updated();
            self.take_back(failed, &updated).map_err(|error| finished.unequal(&error))?;
        }
        self.methods[method].outputs(&way, finished.all()?)
    }

    /// Gives all members the values of one that failed, while the others, which did not wait for its report,
    /// may have stored new ones.
    fn take_back(&mut self, failed: usize, updated: &[Arc<Cell>]) -> Result<()> {
        let values = self.members[failed].values_of(updated)?;
        self.members.iter_mut().try_for_each(|member| member.put_values(updated, &values))
    }

    /// Runs `work` on each member, all at once; returns the results by rank. All members must make the same
    /// calls of methods in which they exchange arrays.
    ///
    /// # Errors
    /// The error of the first member that fails.
    pub fn each_member<T: Send>(
        &mut self,
        work: impl Fn(usize, &mut Simulator) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        together(&self.seats, self.members.iter_mut().collect(), work)
    }

    /// Adds a Function as a method of each member: see [`Simulator::add_method`].
    ///
    /// # Errors
    /// As [`Simulator::add_method`].
    pub fn add_method(&mut self, name: &str, function: &Function) -> Result<()> {
        let method = GroupMethod::of(name, function, &self.name)?;
        self.each_member(|_, simulator| simulator.add_method(name, method.part()))?;
        self.methods.push(method);
        Ok(())
    }

    /// The value of a shared variable by name: that of member 0.
    ///
    /// # Errors
    /// As [`Simulator::get_value`].
    pub fn get_value(&self, name: &str) -> Result<Value> {
        self.members.first().ok_or_else(no_members)?.get_value(name)
    }

    /// Sets the value of a shared variable by name, for all members.
    ///
    /// # Errors
    /// As [`Simulator::set_value`].
    pub fn set_value(&mut self, name: &str, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        self.each_member(|_, simulator| simulator.set_value(name, &value)).map(drop)
    }

    /// Writes member 0's changed shared variables to the Function: see [`Simulator::sync_to_parent`].
    ///
    /// # Errors
    /// As [`Simulator::sync_to_parent`].
    pub fn sync_to_parent(&mut self) -> Result<Vec<String>> {
        let (first, others) = self.members.split_first_mut().ok_or_else(no_members)?;
        let written = first.sync_to_parent()?;
        // The others keep their values, which are the same but for variables of which members have parts.
        others.iter_mut().for_each(Simulator::acknowledge_parents);
        Ok(written)
    }

    /// Takes over what changed in the Function, on all members: see [`Simulator::sync_from_parent`].
    ///
    /// # Errors
    /// As [`Simulator::sync_from_parent`].
    pub fn sync_from_parent(&mut self) -> Result<Vec<String>> {
        let taken = self.each_member(|_, simulator| simulator.sync_from_parent())?;
        taken.into_iter().next().ok_or_else(no_members)
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.methods.iter().position(|method| method.name() == name).ok_or_else(|| {
            let known: Vec<&str> = self.methods.iter().map(GroupMethod::name).collect();
            Error::Sync(format!("the group has no method {name}; it has {}", known.join(", ")))
        })
    }
}
