//! Loops that can be interrupted: iterations in blocks, with a question between them.

use super::args::{ArgsIn, state_args};
use super::callable::Function;
use super::outputs::Outputs;
use crate::error::Result;
use std::time::{Duration, Instant};

/// About how long a loop that can be interrupted runs before it asks.
const BLOCK: Duration = Duration::from_millis(50);

/// Calls `run` for blocks of the `n` iterations of a Function, each with its part of the arguments, until
/// `go_on`, given the number of iterations done, is false. Returns that number, and the outputs of the last
/// block.
///
/// # Errors
/// As `run`.
pub(crate) fn in_blocks<'a>(
    function: &Function,
    n: u64,
    args: ArgsIn<'a>,
    mut go_on: impl FnMut(u64) -> bool,
    mut run: impl FnMut(u64, ArgsIn<'a>) -> Result<Outputs>,
) -> Result<(u64, Outputs)> {
    // The first block compiles, and says nothing about the time of the others.
    let mut block = 1;
    if n <= block || !args.sequences().all(|len| len == n) {
        return Ok((n, run(n, args)?));
    }
    // Inputs that keep a value of their own are set once.
    let rest = state_args(function, args.clone())?.0;
    let mut outputs = run(block, args.part(0..block)?)?;
    let mut done = block;
    while done < n && go_on(done) {
        let end = n.min(done.saturating_add(block));
        let start = Instant::now();
        outputs = run(end - done, rest.part(done..end)?)?;
        done = end;
        match start.elapsed() {
            took if took < BLOCK / 2 => block = block.saturating_mul(2),
            took if took > BLOCK * 2 => block = (block / 2).max(1),
            _ => {}
        }
    }
    Ok((done, outputs))
}
