//! The Functions that `workalike make` knows, each written as a user of the library would write it.

mod accumulator;
mod digits;
mod exp_ladder;
mod unary;

use crate::report::{Failure, Result};
use workalike::prelude::*;

pub(crate) use digits::{CLASSES, PIXELS, digits};

/// What `--list` says.
pub(crate) const LIST: &[(&str, &str)] = &[
    (
        "unary:OP:DTYPE[:NDIM]",
        "one input x (NDIM axes of any extent, 1 unless said), one output y = OP(x); see the names of OP below",
    ),
    (
        "accumulator",
        "methods accumulate and decrement over one shared int64 `state`, 0 at first; input inc, output state as it was before the call",
    ),
    (
        "digits",
        "for 8x8 digits: methods train and predict of an untrained 64-128-10 tanh network, softmax_train and softmax_predict of a softmax classifier",
    ),
    ("exp-ladder", "no inputs; output y = exp(x) of a shared float32 x of 230,400 elements"),
];

/// The built-in of this name.
pub(crate) fn named(name: &str) -> Result<Bundle> {
    let parts: Vec<&str> = name.split(':').collect();
    match parts[..] {
        ["accumulator"] => accumulator::accumulator(),
        ["digits"] => digits(),
        ["exp-ladder"] => exp_ladder::exp_ladder(),
        ["unary", op, dtype] => unary::unary(op, dtype, "1"),
        ["unary", op, dtype, ndim] => unary::unary(op, dtype, ndim),
        _ => {
            let workloads = crate::workloads::ALL.iter().map(|w| w.name);
            let known: Vec<&str> = LIST.iter().map(|entry| entry.0).chain(workloads).collect();
            Err(Failure::new(format!("there is no built-in '{name}'; there are {}", known.join(", "))))
        }
    }
}

/// The ops of one argument, by name.
pub(crate) fn unary_ops() -> Vec<&'static str> {
    unary::names()
}

/// For Functions without inputs.
const NO_INPUTS: [&Variable; 0] = [];
