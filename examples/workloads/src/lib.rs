//! Complete programs, as users of this library write them. Each is one file, and checks its results.
//!
//! ```text
//! cargo run --release -p workalike-examples                lists the examples
//! cargo run --release -p workalike-examples -- sda         runs one on the fastest device
//! cargo run --release -p workalike-examples -- sda host    on host, opencl[:PLATFORM:DEVICE] or cuda[:N]
//! cargo run --release -p workalike-examples -- sda host 4  in four threads at once
//! ```
//!
//! `WORKALIKE_DEVICE` sets another default device. The conformance suite runs all examples on every device.
//! Many are programs of Theano's tutorials and benchmarks, and keep their names. The smallest of those (a
//! logistic function, shared state, givens, copies of Functions) are cases of the suite itself, in
//! `tests/suite/src/cases/workloads.rs` and `updates.rs`.

mod adaptive_ode;
mod autoassociator;
mod beam_search;
mod black_scholes;
mod data_parallel;
mod digits;
mod distances;
mod exp_ladder;
mod gemm;
mod gray_scott;
mod gru;
mod hmc;
mod kalman;
mod lenet;
mod logistic_sgd;
mod lstm_reviews;
mod mandelbrot;
mod nbody;
mod nuts;
mod online_mlp;
mod pictures;
mod power_iteration;
mod rbm;
mod rnn_rbm;
mod scan_tutorial;
mod sda;
pub mod service;
mod slot_filling;
mod spiking;
mod transfer;
mod vae;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use workalike::Result;
use workalike::prelude::*;

/// An open device: one stream of work, and a backend for any number of Functions.
pub type Device = Arc<dyn workalike::engine::device::Device>;

/// A program.
pub struct Example {
    /// The name, also of its file.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// Runs it on a device, checks the results, and returns a report.
    ///
    /// # Panics
    /// If a check fails.
    pub run: fn(&Device) -> Result<String>,
}

/// All examples.
pub const ALL: &[Example] = &[
    Example {
        name: "adaptive_ode",
        about: "an orbit with steps that adapt to the error, by a loop with a condition",
        run: adaptive_ode::run,
    },
    Example {
        name: "autoassociator",
        about: "digits through a narrow layer and back, with tied weights",
        run: autoassociator::run,
    },
    Example {
        name: "beam_search",
        about: "the likeliest sentences; a step that has nothing to do computes nothing",
        run: beam_search::run,
    },
    Example {
        name: "black_scholes",
        about: "prices of options, and their sensitivities by gradients",
        run: black_scholes::run,
    },
    Example {
        name: "data_parallel",
        about: "members of a group that train one network together, each on a part of the batch",
        run: data_parallel::run,
    },
    Example {
        name: "distances",
        about: "all distances between two sets of points, two ways",
        run: distances::run,
    },
    Example {
        name: "exp_ladder",
        about: "exp of a long vector, with four places for the result",
        run: exp_ladder::run,
    },
    Example {
        name: "gemm",
        about: "products of matrices that accumulate in a shared variable",
        run: gemm::run,
    },
    Example {
        name: "gray_scott",
        about: "spots that grow by reaction and diffusion, by expressions and by a kernel in C",
        run: gray_scott::run,
    },
    Example {
        name: "gru",
        about: "a character model: trained, checkpointed, resumed, sampled",
        run: gru::run,
    },
    Example {
        name: "hmc",
        about: "hybrid Monte Carlo: leapfrog steps by a loop in the graph, an adaptive step size",
        run: hmc::run,
    },
    Example {
        name: "kalman",
        about: "the likelihood of a Kalman filter by scan, and its gradient, with which the noise is found",
        run: kalman::run,
    },
    Example { name: "lenet", about: "digits by two convolutions with pooling", run: lenet::run },
    Example {
        name: "lstm_reviews",
        about: "sentences of many lengths, judged by a recurrent network; a method for gradients, one for updates",
        run: lstm_reviews::run,
    },
    Example {
        name: "mandelbrot",
        about: "a set of points, until the last of the others has escaped",
        run: mandelbrot::run,
    },
    Example { name: "nbody", about: "planets, by Runge and Kutta's fourth-order steps", run: nbody::run },
    Example {
        name: "nuts",
        about: "the No-U-Turn sampler: a loop that ends within a loop that ends",
        run: nuts::run,
    },
    Example {
        name: "online_mlp",
        about: "networks that learn one example a step, and pick it on the device",
        run: online_mlp::run,
    },
    Example {
        name: "logistic_sgd",
        about: "digits by softmax regression, with methods to train, validate and test",
        run: logistic_sgd::run,
    },
    Example {
        name: "power_iteration",
        about: "the largest eigenvalue of a matrix, in a loop that ends by itself",
        run: power_iteration::run,
    },
    Example {
        name: "rbm",
        about: "a restricted Boltzmann machine, trained by Gibbs chains that go on",
        run: rbm::run,
    },
    Example {
        name: "rnn_rbm",
        about: "chords that a recurrent network of Boltzmann machines learns and plays on",
        run: rnn_rbm::run,
    },
    Example {
        name: "scan_tutorial",
        about: "the loops of Theano's tutorial on scan",
        run: scan_tutorial::run,
    },
    Example {
        name: "sda",
        about: "stacked denoising autoencoders: a method to train each layer, and one to tune all",
        run: sda::run,
    },
    Example {
        name: "service",
        about: "threads that answer requests while another trains and publishes weights",
        run: |device| service::serve(device, 3, 50),
    },
    Example {
        name: "slot_filling",
        about: "labels of words, by a recurrent network over windows; methods that share the words' vectors",
        run: slot_filling::run,
    },
    Example {
        name: "spiking",
        about: "spiking neurons that learn a product, saved and continued",
        run: spiking::run,
    },
    Example {
        name: "vae",
        about: "an autoencoder that trains, is saved and resumed without its data, and serves pictures",
        run: vae::run,
    },
    Example { name: "transfer", about: "times of copies to a device and back", run: transfer::run },
];

/// A new path for each call, in the folder for temporary files.
fn temporary_file(name: &str) -> std::path::PathBuf {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Relaxed);
    std::env::temp_dir().join(format!("{name}-{}-{call}.walk", std::process::id()))
}

/// For Functions without inputs.
const NONE: [&Variable; 0] = [];

/// Random numbers, the same in every run: uniform between two bounds.
fn uniform(seed: u64, shape: &[usize], low: f64, high: f64) -> Result<Value> {
    let draw = RandomStreams::new(seed).uniform::<f32>(shape) * (high - low) + low;
    Ok(function(NONE).output(draw).compile()?.call(args![])?[0].clone())
}

/// Initial weights of a layer (Glorot and Bengio, 2010): uniform, with a variance that preserves the size of
/// signals.
fn weights(seed: u64, inputs: usize, outputs: usize) -> Result<Value> {
    let bound = (6.0 / (inputs + outputs) as f64).sqrt();
    uniform(seed, &[inputs, outputs], -bound, bound)
}

/// Zeros for a layer's biases.
fn biases(outputs: usize) -> Array1<f32> {
    Array1::zeros(outputs)
}
