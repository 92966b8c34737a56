//! `workalike run --group`: this process as a member of the group of all that a launcher started.

use crate::RunArgs;
use std::sync::Arc;
use std::time::Duration;
use workalike::Selector;
use workalike::engine::device::group::{Group, Launched, threads};
use workalike::prelude::*;
use workalike_cli_common::device;
use workalike_cli_common::report::{ErrorContext, Failure, Result};

/// The time that members wait for each other, unless `--patience` says otherwise.
pub(crate) const PATIENCE: u64 = 600;

/// A member's Function and Simulator.
pub(crate) struct Joined {
    pub(crate) simulator: Simulator,
    /// Whether this member is the one that reports, and writes files.
    pub(crate) reports: bool,
}

/// Re-hosts a Function on the device that the command names: by itself, or as a member of a group.
pub(crate) fn rehost(function: &Function, command: &RunArgs) -> Result<Joined> {
    let Some(name) = &command.group else {
        let simulator = function.optimize(device::choose(command.device))?;
        return Ok(Joined { simulator, reports: true });
    };
    let launch = Launched::from_environment().during("--group")?;
    let patience = Duration::from_secs(command.patience);
    let seat = seat(&launch, patience)?;
    let divided = command.divide.iter().map(String::as_str);
    let function = &match command.divide.is_empty() {
        true => function.clone(),
        false => function.data_parallel(name, divided)?,
    };
    let place = format!("member {} of {} of the group {name}", seat.rank(), seat.size());
    let reports = seat.rank() == 0;
    let device = own_device(command.device, &launch);
    let simulator = function.optimize(member(name, seat, device)).during(place)?;
    Ok(Joined { simulator, reports })
}

/// The member's side of the group of all processes.
fn seat(launch: &Launched, patience: Duration) -> Result<Arc<dyn Group>> {
    if launch.size == 1 {
        return threads(1, patience).pop().ok_or_else(|| Failure::new("a group without members"));
    }
    let seat = of_processes(launch, patience)?;
    if (seat.rank(), seat.size()) == (launch.rank, launch.size) {
        return Ok(seat);
    }
    Err(Failure::new(format!(
        "{} started process {} of {}, which {} takes for {} of {}: start it by the launcher of that library",
        launch.launcher,
        launch.rank,
        launch.size,
        seat.transport(),
        seat.rank(),
        seat.size()
    )))
}

#[cfg(feature = "mpi")]
fn of_processes(_: &Launched, patience: Duration) -> Result<Arc<dyn Group>> {
    Ok(workalike::mpi::world(patience)?)
}

#[cfg(not(feature = "mpi"))]
fn of_processes(launch: &Launched, _: Duration) -> Result<Arc<dyn Group>> {
    Err(Failure::new(format!(
        "{} started {} processes, and this command is built without a transport between processes: build it with --features mpi",
        launch.launcher, launch.size
    )))
}

/// The device of this process among those of its host: with `auto` the GPU of its number, where there is one.
fn own_device(wish: Selector, launch: &Launched) -> Selector {
    let own = format!("cuda:{}", launch.local_rank).parse::<Selector>();
    match own {
        Ok(own) if wish == Selector::Auto && own.open().is_ok() => own,
        _ => device::choose(wish),
    }
}
