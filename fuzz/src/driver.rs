//! Runs batches in child processes, records mutants that crash or hang, and continues after them.

use crate::batch::{MUTANT, Mill, SEED};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Mutants per process.
const BATCH: u64 = 2000;
/// A mutant that takes longer counts as a hang: most take milliseconds, but the machine may be busy.
const STALL: Duration = Duration::from_secs(120);
/// The largest number of findings of a kind that are kept.
const KEPT: u32 = 3;

/// The options of a run.
pub(crate) struct Plan {
    pub(crate) device: String,
    pub(crate) first: u64,
    pub(crate) seconds: u64,
    /// The largest number of mutants.
    pub(crate) mutants: u64,
    pub(crate) out: PathBuf,
}

/// The results.
#[derive(Default)]
struct Tally {
    next: u64,
    tried: u64,
    loaded: u64,
    called: u64,
    compared: u64,
    /// The number of findings of each kind.
    kinds: HashMap<String, u32>,
}

/// How a batch ended.
enum End {
    Exit(ExitStatus),
    Hang,
}

/// Runs batches; false if anything was found.
pub(crate) fn drive(plan: &Plan) -> Result<bool, String> {
    let mill = Mill::new()?;
    let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let (start, time) = (Instant::now(), Duration::from_secs(plan.seconds));
    let mut tally = Tally { next: plan.first, ..Tally::default() };
    let last = plan.first.saturating_add(plan.mutants);
    while tally.next < last && start.elapsed() < time {
        let left = time.saturating_sub(start.elapsed());
        let count = BATCH.min(last - tally.next);
        let end = batch(plan, tally.next, count, left, folder.path())?;
        tally.add(plan, &mill, &end, folder.path())?;
    }
    let Tally { next, tried, loaded, called, compared, kinds } = &tally;
    println!(
        "{tried} mutants from seed {} on: {loaded} loaded, {called} rounds called, {compared} compared; next seed {next}; \
         {} kinds of findings",
        plan.first,
        kinds.len()
    );
    if *tried > 200 && *compared == 0 {
        return Err("no mutant runs at all: the mutator does not fit the library any more".into());
    }
    Ok(kinds.is_empty())
}

/// Runs a batch to its end.
fn batch(plan: &Plan, first: u64, count: u64, time: Duration, folder: &Path) -> Result<End, String> {
    let failed = |error: std::io::Error| format!("a batch: {error}");
    let _ = fs::remove_file(folder.join(SEED));
    let out = |name: &str| File::create(folder.join(name)).map_err(failed);
    let words = [first.to_string(), count.to_string(), time.as_secs().max(1).to_string()];
    let child = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["batch", &plan.device])
        .args(words)
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(out("stdout")?)
        .stderr(out("stderr")?)
        .spawn();
    watch(child.map_err(failed)?, folder).map_err(failed)
}

/// Waits for a batch while it makes progress.
fn watch(mut child: Child, folder: &Path) -> std::io::Result<End> {
    let (mut last, mut since) = (String::new(), Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exit(status));
        }
        let now = fs::read_to_string(folder.join(SEED)).unwrap_or_default();
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > STALL {
            child.kill()?;
            child.wait()?;
            return Ok(End::Hang);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Tally {
    /// Reads the files of a batch.
    fn add(&mut self, plan: &Plan, mill: &Mill, end: &End, folder: &Path) -> Result<(), String> {
        let said = fs::read_to_string(folder.join("stdout")).unwrap_or_default();
        let mut done = None;
        for line in said.lines() {
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            match words[..] {
                ["found", seed, text] => {
                    let seed = seed.parse().unwrap_or(0);
                    self.note(plan, seed, text, &mill.mutant(seed))?;
                }
                ["done", ..] => done = Some(line.split(' ').skip(1).filter_map(|n| n.parse().ok()).collect()),
                _ => {}
            }
        }
        let at = fs::read_to_string(folder.join(SEED)).ok().and_then(|seed| seed.trim().parse::<u64>().ok());
        let ended: Option<Vec<u64>> = done;
        if let (End::Exit(status), Some(numbers)) = (end, &ended)
            && status.success()
            && let [done, tried, loaded, called, compared] = numbers[..]
        {
            self.next += done.max(1);
            self.tried += tried;
            self.loaded += loaded;
            self.called += called;
            self.compared += compared;
            return Ok(());
        }
        let stderr = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        let Some(seed) = at else { return Err(format!("a batch did not begin: {stderr}")) };
        let tail = stderr.lines().rev().take(3).collect::<Vec<_>>().join(" | ");
        let how = match end {
            End::Hang => format!("it hangs for {} s", STALL.as_secs()),
            End::Exit(status) => format!("the process ended ({status}): {tail}"),
        };
        let file = fs::read(folder.join(MUTANT)).unwrap_or_default();
        self.note(plan, seed, &how, &file)?;
        self.tried += seed.saturating_sub(self.next) + 1;
        self.next = seed + 1;
        Ok(())
    }

    /// Prints a finding, and keeps its file.
    fn note(&mut self, plan: &Plan, seed: u64, text: &str, file: &[u8]) -> Result<(), String> {
        let kind: String = text.chars().filter(|c| !c.is_ascii_digit()).take(80).collect();
        let times = self.kinds.entry(kind).or_default();
        *times += 1;
        if *times > KEPT {
            return Ok(());
        }
        let path = plan.out.join(format!("{seed}.walk"));
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(&plan.out).map_err(failed)?;
        fs::write(&path, file).map_err(failed)?;
        println!(
            "seed {seed}: {text}\n    again: workalike-fuzz one {} {seed} {}",
            path.display(),
            plan.device
        );
        Ok(())
    }
}
