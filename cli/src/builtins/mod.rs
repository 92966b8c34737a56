//! The Functions that `workalike make` knows, each written as a user of the library would write it.

mod accumulator;
mod digits;
mod elementwise;
mod exp_ladder;
mod reduce;
mod words;

use self::elementwise::{arity, elementwise};
use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result};
use workalike_harness::workloads;

pub(crate) use digits::{CLASSES, PIXELS, digits};

/// The descriptions that `--list` prints.
pub(crate) const LIST: &[(&str, &str)] = &[
    ("unary:OP:DTYPE[:NDIM]", "input x, output y = OP(x), elementwise"),
    (
        "binary:OP:DTYPE[:NDIM]",
        "inputs x and y, output out = OP(x, y), elementwise; they broadcast by NumPy's rules",
    ),
    (
        "ternary:OP:DTYPE[:NDIM]",
        "inputs x, y and z, output out = OP(x, y, z), likewise; the condition of `where` is bool",
    ),
    ("reduce:OP:DTYPE:AXES[:NDIM]", "input x, output out = OP(x) over AXES: 0, -1, 0,2 or all"),
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
    if let (Some(arity), [_, op, dtype, ndim @ ..]) = (arity(parts[0]), &parts[..])
        && ndim.len() <= 1
    {
        return elementwise(arity, op, dtype, ndim.first().copied());
    }
    match parts[..] {
        ["accumulator"] => accumulator::accumulator(),
        ["digits"] => digits(),
        ["exp-ladder"] => exp_ladder::exp_ladder(),
        ["reduce", op, dtype, axes] => reduce::reduce(op, dtype, axes, None),
        ["reduce", op, dtype, axes, ndim] => reduce::reduce(op, dtype, axes, Some(ndim)),
        _ => {
            let workloads = workloads::ALL.iter().map(|w| w.name);
            let known: Vec<&str> = LIST.iter().map(|entry| entry.0).chain(workloads).collect();
            Err(Failure::new(format!("there is no built-in '{name}'; there are {}", known.join(", "))))
        }
    }
}

/// The names of ops that `--list` prints.
pub(crate) fn ops() -> Vec<(&'static str, String)> {
    let elementwise = ["unary", "binary", "ternary"].iter().zip(1..);
    let mut all: Vec<_> = elementwise.map(|(&kind, n)| (kind, elementwise::names(n).join(", "))).collect();
    all.push(("reduce", reduce::names().join(", ")));
    all
}

/// For Functions without inputs.
const NO_INPUTS: [&Variable; 0] = [];
