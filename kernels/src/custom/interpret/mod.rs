//! Kernels in the dialect, run in main memory: the host device's way to try them.
//!
//! A text is read once (`preprocess`, `parse`), compiled to instructions for a small machine with registers
//! (`compile`, `bytecode`), and run by launches (`launch`, `item`). Every access to memory is checked: a
//! kernel that reads or writes beyond an array, divides by zero or has a barrier that not all work items of a
//! group reach fails with the line, and does no harm.
//!
//! - `token`, `literal`, `preprocess`: the text as tokens. `types`, `expr`, `parse`: typed functions.
//! - `arithmetic`, `math`: operators and functions on registers. `memory`: pointers and accesses.

mod arithmetic;
mod bytecode;
mod compile;
mod expr;
mod item;
mod launch;
mod literal;
mod math;
mod memory;
mod parse;
mod preprocess;
mod report;
mod token;
mod types;

use super::signature::SourceError;
use super::source::KernelSource;
use super::{CustomLaunch, with_quotes};
use crate::library::{Definition, DefinitionError};
pub(super) use bytecode::MachineProgram;
use launch::{BoundKernel, LaunchWorkspace};
use std::sync::{Mutex, PoisonError};

/// Bytes of a text at most.
const LONGEST: usize = 1 << 20;

/// Compiles a source in the dialect.
pub(super) fn compiled(source: &KernelSource) -> Result<MachineProgram, SourceError> {
    if source.text().len() > LONGEST {
        return token::refuse(1, format!("the text is longer than {LONGEST} bytes"));
    }
    compile::compile(&parse::parse(source)?)
}

/// The launches of an op in main memory. The op is verified, and its source is in the dialect.
pub(super) fn definition(op: &CustomLaunch) -> Result<Definition, DefinitionError> {
    within(op, launch::MOST_STEPS)
}

/// The same with fewer steps for each launch.
fn within(op: &CustomLaunch, steps: i64) -> Result<Definition, DefinitionError> {
    let source = op.source.clone();
    let program = source.program().map_err(|SourceError { line, message }| {
        let log = quoted(format!("kernels:{line}: {message}"), source.text());
        DefinitionError::Compile { log }
    })?;
    let mut launches = Vec::new();
    for call in &op.calls {
        let failed =
            |message| DefinitionError::Failed { message: format!("kernel {}: {message}", call.kernel) };
        let mut launch = BoundKernel::new(&program, call, &op.operands).map_err(failed)?;
        launch.steps = steps;
        launches.push(launch);
    }
    let workspace = LaunchWorkspace::new(&program, &launches);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::{KernelArg, KernelCall};
    use crate::dtype::DType;
    use crate::nest::Operand;
    use std::sync::Arc;

    /// Runs a kernel with an array of four numbers in so many steps.
    fn run(text: &str, grid: [u64; 3], steps: i64) -> Result<Vec<u8>, String> {
        let source = KernelSource::dialect(text).expect("a kernel");
        let (kernel, args) = ("k".into(), vec![KernelArg::Array(0)]);
        let op = CustomLaunch {
            source: Arc::new(source),
            operands: vec![Operand::contiguous(DType::I32, &[4], true)],
            calls: vec![KernelCall { kernel, grid, group: [2, 1, 1], args }],
            initialized: true,
        };
        let mut x = vec![0u8; 16];
        let definition = within(&op, steps).map_err(|error| error.to_string())?;
        definition(&[], &mut [&mut x]).map_err(|error| error.to_string())?;
        // A launch begins anew each time.
        definition(&[], &mut [&mut x]).map_err(|error| error.to_string())?;
        Ok(x)
    }

    #[test]
    fn a_kernel_that_does_not_end_is_an_error() {
        for endless in [
            "while (1) x[0] = 1;",
            "while (1) local_barrier();",
            "for (;;) { local_barrier(); if (x[0]) break; }",
            "for (;;);",
            "do x[1]++; while (x[0] == 0);",
            "many(x);",
            "local_barrier(); many(x); local_barrier();",
        ] {
            let mut text = "DEVICE_FN void f0(GLOBAL_MEM i32 *x) { x[0] = 0; }\n".to_string();
            (1..60).for_each(|at| {
                let one = format!("f{}(x);", at - 1);
                text += &format!("DEVICE_FN void f{at}(GLOBAL_MEM i32 *x) {{ {one} {one} }}\n");
            });
            text += "DEVICE_FN void many(GLOBAL_MEM i32 *x) { f59(x); }\n";
            text += &format!("KERNEL void k(GLOBAL_MEM i32 *x) {{\n{endless}\n}}");
            let error = run(&text, [1; 3], 10_000).expect_err(endless);
            let line = if endless.contains("many") { "kernels:" } else { "kernels:63: " };
            assert!(error.contains("the kernel did not end after 10000 steps"), "{error}");
            assert!(error.contains(line) && error.contains("of group [0, 0, 0]"), "{error}");
        }
    }

    #[test]
    fn work_items_and_copies_count_as_steps() {
        let error = run("KERNEL void k(GLOBAL_MEM i32 *x) {}", [1 << 30, 60_000, 60_000], 100_000);
        assert!(error.is_err_and(|error| error.contains("did not end")));
        let text = "typedef struct { i32 a[10000]; } S;
            KERNEL void k(GLOBAL_MEM i32 *x) { S s, t; for (i32 i = 0; i < 100; i++) s = t; }";
        assert!(run(text, [1; 3], 100_000).is_err_and(|error| error.contains("kernels:2")));
        assert!(run(text, [1; 3], 1_000_000).is_ok());
        let text = "KERNEL void k(GLOBAL_MEM i32 *x) { LOCAL_MEM i32 a[60000]; }";
        assert!(run(text, [10, 1, 1], 100_000).is_err());
    }

    #[test]
    fn grids_have_limits_and_may_be_empty() {
        let text = "KERNEL void k(GLOBAL_MEM i32 *x) { x[100] = 1; }";
        for grid in [[0, u64::MAX, u64::MAX], [u64::MAX, 0, 1], [1, 65_536, 0]] {
            assert_eq!(run(text, grid, 100), Ok(vec![0; 16]), "{grid:?}");
        }
        for grid in [[1, 65_536, 1], [1, 1, 65_536], [1 << 31, 1, 1]] {
            assert!(run(text, grid, 100).is_err_and(|error| error.contains("groups")), "{grid:?}");
        }
    }
}
