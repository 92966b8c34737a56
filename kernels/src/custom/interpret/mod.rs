//! Kernels in the dialect, run in main memory: the host device's way to try them.
//!
//! A text is read once (`preprocess`, `parse`), compiled to instructions for a small machine with registers
//! (`compile`, `program`), and run by launches (`launch`, `item`). Every access to memory is checked: a kernel
//! that reads or writes beyond an array, divides by zero or has a barrier that not all work items of a group
//! reach fails with the line, and does no harm.
//!
//! - `token`, `literal`, `preprocess`: the text as tokens. `types`, `expr`, `parse`: typed functions.
//! - `arithmetic`, `math`: operators and functions on registers. `memory`: pointers and accesses.

mod arithmetic;
mod compile;
mod expr;
mod item;
mod launch;
mod literal;
mod math;
mod memory;
mod parse;
mod preprocess;
mod program;
mod report;
mod token;
mod types;

use super::signature::SourceError;
use super::source::Source;
use super::{CustomLaunch, with_quotes};
use crate::library::{Definition, DefinitionError};
use launch::{Launch, Workspace};
pub(super) use program::Program;
use std::sync::{Mutex, PoisonError};

/// Bytes of a text at most.
const LONGEST: usize = 1 << 22;

/// Compiles a source in the dialect.
pub(super) fn compiled(source: &Source) -> Result<Program, SourceError> {
    if source.text().len() > LONGEST {
        return token::refuse(1, format!("the text is longer than {LONGEST} bytes"));
    }
    compile::compile(&parse::parse(source)?)
}

/// The launches of an op in main memory. The op is verified, and its source is in the dialect.
pub(super) fn definition(op: &CustomLaunch) -> Result<Definition, DefinitionError> {
    let source = op.source.clone();
    let program = source.program().map_err(|SourceError { line, message }| {
        let log = quoted(format!("kernels:{line}: {message}"), source.text());
        DefinitionError::Compile { log }
    })?;
    let mut launches = Vec::new();
    for call in &op.calls {
        let failed =
            |message| DefinitionError::Failed { message: format!("kernel {}: {message}", call.kernel) };
        launches.push(Launch::new(&program, call, &op.operands).map_err(failed)?);
    }
    let workspace = Workspace::new(&program, &launches);
    let workspace = Mutex::new(workspace.map_err(|bytes| DefinitionError::OutOfMemory { bytes })?);
    Ok(Box::new(move |read, written| {
        let mut workspace = workspace.lock().unwrap_or_else(PoisonError::into_inner);
        for launch in &launches {
            if let Err(failure) = launch.run(&program, read, written, &mut workspace) {
                workspace.reset(&program);
                let report = report::report(&program, launch, &failure, read, written);
                return Err(DefinitionError::Failed { message: quoted(report, source.text()) });
            }
        }
        Ok(())
    }))
}

/// A message with the lines of the text that it names.
fn quoted(message: String, text: &str) -> String {
    with_quotes(&message, &format!("#line 1 \"kernels\"\n{text}"))
}
