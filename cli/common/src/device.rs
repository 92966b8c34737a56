//! The device of a command.

use crate::report::{Failure, complain};
use workalike::Selector;

/// Help of `--device`.
pub const HELP: &str =
    "auto (CUDA, else an OpenCL GPU, else host), host, opencl[:PLATFORM:DEVICE] or cuda[:N]";

/// The device for a run. `auto` is resolved; if faster devices are present but fail, their errors are printed
/// to stderr.
pub fn choose(wish: Selector) -> Selector {
    let choice = wish.choose();
    for error in choice.passed_over {
        complain(&format!("note: passing over a device: {}", Failure::from(error)));
    }
    choice.selector
}
