//! The place of a process among those that a launcher started, read from the environment that it set.

use super::GroupError;

/// What a launcher says of a process: made by [`Launched::from_environment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The launcher: `torchrun`, `mpirun`, `srun`; `none` for a process that was started by itself.
    pub launcher: &'static str,
    /// The number of the process, from 0.
    pub rank: usize,
    /// The number of processes.
    pub size: usize,
    /// The number of the process among those of its host: the GPU that it takes.
    pub local_rank: usize,
    /// The host and port at which process 0 can be found, if the launcher says so.
    pub address: Option<String>,
}

/// The variables of a launcher: rank, size, local rank.
type Variables = (&'static str, [&'static str; 3]);

/// The variables of launchers. The first whose rank is set counts: torchrun's are also what users set by
/// hand.
const LAUNCHERS: [Variables; 4] = [
    ("torchrun", ["RANK", "WORLD_SIZE", "LOCAL_RANK"]),
    ("mpirun", ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"]),
    ("mpirun", ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"]),
    ("srun", ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"]),
];

impl Launched {
    /// The place of this process: of torchrun (`RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `MASTER_ADDR`,
    /// `MASTER_PORT`), of OpenMPI's, MPICH's and Intel's `mpirun`, or of SLURM's `srun`. Without any of them
    /// it is the only process.
    ///
    /// # Errors
    /// If a variable is no number, or the rank is not below the number of processes.
    pub fn from_environment() -> Result<Launched, GroupError> {
        Launched::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Launched, GroupError> {
        let number = |name: &str| variable(name).map(|text| parsed(name, &text)).transpose();
        let host = variable("MASTER_ADDR");
        let address = host.map(|host| match variable("MASTER_PORT") {
            Some(port) => format!("{host}:{port}"),
            None => host,
        });
        for (launcher, [rank, size, local_rank]) in LAUNCHERS {
            let Some(own) = number(rank)? else { continue };
            let missing =
                || mismatch(size, format!("the number of processes, since {rank} is {own}"), "nothing");
            let count = number(size)?.ok_or_else(missing)?;
            if own >= count {
                return Err(mismatch(rank, format!("a number below {count}, which {size} is"), own));
            }
            // A launcher that does not say so has one process on a host.
            let local_rank = number(local_rank)?.unwrap_or(0);
            return Ok(Launched { launcher, rank: own, size: count, local_rank, address });
        }
        Ok(Launched { launcher: "none", rank: 0, size: 1, local_rank: 0, address })
    }
}

fn parsed(name: &str, text: &str) -> Result<usize, GroupError> {
    text.trim().parse().map_err(|_| mismatch(name, "a number from 0".into(), format!("{text:?}")))
}

fn mismatch(name: &str, expected: String, found: impl ToString) -> GroupError {
    GroupError::Mismatch { what: format!("the variable {name}"), expected, found: found.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Result<Launched, String> {
        let find = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
        Launched::from_variables(find).map_err(|error| error.to_string())
    }

    #[test]
    fn each_launcher_is_understood() {
        let torchrun = launch(&[
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "29500"),
            // Within a job of SLURM.
            ("SLURM_PROCID", "0"),
        ]);
        let expected = Launched {
            launcher: "torchrun",
            rank: 3,
            size: 4,
            local_rank: 1,
            address: Some("node0:29500".into()),
        };
        assert_eq!(torchrun, Ok(expected));
        let place = |variables: &[(&str, &str)]| {
            let Launched { launcher, rank, size, local_rank, .. } = launch(variables).unwrap();
            (launcher, rank, size, local_rank)
        };
        let of = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"];
        assert_eq!(place(&[(of[0], "1"), (of[1], "2"), (of[2], "0")]), ("mpirun", 1, 2, 0));
        assert_eq!(place(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), ("mpirun", 1, 2, 0));
        let srun = [("SLURM_PROCID", "5"), ("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_LOCALID", "1")];
        assert_eq!(place(&srun), ("srun", 5, 8, 1));
        assert_eq!(place(&[]), ("none", 0, 1, 0));
    }

    #[test]
    fn odd_variables_are_named() {
        let error = |variables| launch(variables).unwrap_err();
        assert!(
            error(&[("RANK", "two"), ("WORLD_SIZE", "4")])
                .contains("RANK: expected a number from 0, found \"two\"")
        );
        assert!(error(&[("RANK", "4"), ("WORLD_SIZE", "4")]).contains("below 4"));
        assert!(error(&[("RANK", "0")]).contains("WORLD_SIZE"));
    }
}
