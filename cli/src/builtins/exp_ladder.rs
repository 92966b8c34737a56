//! `exp` of a long vector that stays on the device (the GPU test of Theano's tutorial).

use super::NO_INPUTS;
use workalike::prelude::*;
use workalike_cli_common::report::Result;

/// Elements of the vector, as in Theano's tutorial: 10 times 30 cores times 768 threads.
const LENGTH: usize = 10 * 30 * 768;

/// `y = exp(x)`, x shared and uniform in [0, 1).
pub(super) fn exp_ladder() -> Result<Bundle> {
    let draw = function(NO_INPUTS).output(RandomStreams::new(22).uniform::<f32>([LENGTH])).compile()?;
    let x = shared("x", &draw.call(args![])?[0]);
    let ladder = function(NO_INPUTS).output_named("y", x.exp()).compile()?;
    Ok(Bundle::new().with("main", &ladder))
}
