//! A batch of mutants, run in a child process. The driver learns about crashes and hangs from the files that
//! the process leaves.

use crate::corpus::{Seed, seeds};
use crate::exercise::{Exercise, On, watch};
use crate::mutate::{Pool, mutant};
use crate::random::Random;
use crate::wire::Parts;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The current mutant, and its seed.
pub(crate) const MUTANT: &str = "current.walk";
pub(crate) const SEED: &str = "current.seed";

/// The seed files.
pub(crate) struct Mill {
    seeds: Vec<Seed>,
    pool: Pool,
}

impl Mill {
    pub(crate) fn new() -> Result<Mill, String> {
        let seeds = seeds().map_err(|error| format!("a seed does not compile: {error}"))?;
        let mut pool = Pool::default();
        for seed in &seeds {
            let parts = Parts::of(&seed.file);
            let parts =
                parts.ok_or_else(|| format!("{}: the tables of files changed; see wire.rs", seed.name))?;
            pool.add(&parts.tables);
        }
        Ok(Mill { seeds, pool })
    }

    /// The mutant of a seed. It depends on the seed and on the seed files only.
    pub(crate) fn mutant(&self, seed: u64) -> Vec<u8> {
        let mut r = Random::new(seed);
        match r.pick(&self.seeds) {
            Some(from) => mutant(&mut r, &from.file, &self.pool),
            None => Vec::new(),
        }
    }

    /// Writes the seeds as files.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        self.seeds.iter().try_for_each(|seed| {
            fs::write(folder.join(format!("{}.walk", seed.name)), &seed.file).map_err(failed)
        })
    }
}

/// Runs mutants from `first` on, at most `count` and at most for `time`; prints findings and progress to
/// stdout.
pub(crate) fn run(on: On, first: u64, count: u64, time: Duration, folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    watch();
    let mill = Mill::new()?;
    let start = Instant::now();
    let mut exercise = Exercise::new(on);
    let mut done = 0;
    while done < count && start.elapsed() < time {
        let seed = first + done;
        let file = mill.mutant(seed);
        fs::write(folder.join(MUTANT), &file).map_err(failed)?;
        fs::write(folder.join(SEED), seed.to_string()).map_err(failed)?;
        exercise.run(&file, seed);
        for found in exercise.found.drain(..) {
            println!("found {seed} {}", workalike::printable::printable(&found));
        }
        done += 1;
    }
    let c = exercise.count;
    println!("done {done} {} {} {} {}", c.tried, c.loaded, c.called, c.compared);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_loads_and_runs() {
        watch();
        let mill = Mill::new().expect("the seeds");
        for seed in &mill.seeds {
            let mut exercise = Exercise::new(On::Host);
            exercise.run(&seed.file, 1);
            assert_eq!((exercise.count.loaded, &exercise.found), (1, &vec![]), "{}", seed.name);
            assert!(exercise.count.called > 0, "{}", seed.name);
            let again = Parts::of(&seed.file).expect("tables").file();
            assert_eq!(again, seed.file, "{}: wire.rs and the library write different files", seed.name);
        }
    }

    #[test]
    fn mutants_follow_from_their_seeds() {
        watch();
        let mill = Mill::new().expect("the seeds");
        let mut exercise = Exercise::new(On::Host);
        for seed in 0..200 {
            assert_eq!(mill.mutant(seed), mill.mutant(seed));
            exercise.run(&mill.mutant(seed), seed);
        }
        let count = exercise.count;
        assert_eq!(exercise.found, Vec::<String>::new());
        assert!(count.loaded > 20 && count.compared > 20, "most mutants are refused: {count:?}");
    }
}
