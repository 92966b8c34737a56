//! Groups of processes that `mpirun` started, each with a GPU of its own.

use crate::groups::{TRAININGS, print, repeated_sums, steps_of};
use crate::network;
use std::sync::Arc;
use std::time::Duration;
use workalike::Result;
use workalike::cuda::Cuda;
use workalike::engine::Member;
use workalike::engine::device::group::{Group, Launched};
use workalike::prelude::*;

/// What such members are called in the rows.
const FORM: &str = "processes";

/// Member 0 prints rows of JSON.
pub(crate) fn rows() -> Result<()> {
    let gpu = Launched::from_environment()?.local_rank;
    let seat = workalike::mpi::world(Duration::from_secs(60))?;
    let (reports, members) = (seat.rank() == 0, seat.size());
    for bytes in crate::groups::SUMMED {
        let x = vector::<f32>("x");
        let f = function([&x]).output(x.all_reduce(Reduction::Sum, "g")).compile()?;
        let mut simulator = f.optimize(own_member(&seat, gpu))?;
        let times = repeated_sums(&mut simulator, bytes, || ())?;
        if reports {
            print("all_reduce", &format!("{bytes} bytes, {members} GPUs"), FORM, times);
        }
    }
    for work in TRAININGS {
        let (rows, f) = (work.rows, network::step(work.layers, network::weights)?);
        let [x, y] = network::batch(work.layers, rows)?;
        let parallel = f.data_parallel("g", ["x", "y"])?;
        let mut simulator = parallel.optimize(own_member(&seat, gpu).with_own_parts())?;
        let times = steps_of(work.steps, |steps| {
            simulator.run_n(steps, args![&x, &y])?[0].item::<f32>()?;
            Ok(())
        })?;
        if reports {
            print(
                "data_parallel",
                &format!("{}, {} rows, {members} GPUs", work.name, rows * members),
                FORM,
                times,
            );
        }
    }
    Ok(())
}

fn own_member(seat: &Arc<dyn Group>, gpu: usize) -> Member<Cuda> {
    member("g", seat.clone(), Cuda::device(gpu))
}
