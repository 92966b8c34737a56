//! Times single ops on request, for `ops.py`, which times NumPy's ops in between on the same data.
//!
//! A request is one line of JSON on stdin; the answer is one line on stdout:
//!
//! ```text
//! {"op": "add", "inputs": [{"dtype": "float32", "shape": [1000], "file": "a.bin"}, ..], "result": "y.bin"}
//! {"dtype": "float32", "shape": [1000]}   the op has run; its result is in the file, if one is named
//! {"seconds": 0.005}                      repeats the op for at least this time
//! {"us": 0.71}                            microseconds per call
//! {"error": "..."}                        instead of either answer
//! ```
//!
//! The inputs are shared variables, and the result is borrowed, as NumPy writes to `out=`.

mod named;

use serde::Deserialize;
use std::io::{BufRead, Write};
use std::time::Instant;
use workalike::prelude::*;

/// An array in a file, as raw bytes.
#[derive(Deserialize)]
struct Input {
    dtype: String,
    shape: Vec<usize>,
    file: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Request {
    Op { op: String, inputs: Vec<Input>, result: Option<String> },
    Time { seconds: f64 },
}

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut simulator = None;
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(Request::Op { op, inputs, result }) => {
                compile(&op, &inputs, result).map(|(compiled, answer)| {
                    simulator = Some(compiled);
                    answer
                })
            }
            Ok(Request::Time { seconds }) => match &mut simulator {
                Some(simulator) => time(simulator, seconds).map(|us| serde_json::json!({ "us": us })),
                None => Err("no op was compiled".into()),
            },
            Err(error) => Err(error.into()),
        };
        let answer = answer.unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }));
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn compile(
    op: &str,
    inputs: &[Input],
    result: Option<String>,
) -> Result<(Simulator, serde_json::Value), Failed> {
    let mut variables = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        let dtype = DType::REAL.into_iter().find(|d| d.name() == input.dtype);
        let dtype = dtype.ok_or_else(|| format!("no dtype is called {}", input.dtype))?;
        let value = Value::from_bytes(dtype, &input.shape, &std::fs::read(&input.file)?)?;
        variables.push(Variable::from(&shared(&format!("x{at}"), value)));
    }
    let output = named::named(op, &variables)?;
    let none: [&Variable; 0] = [];
    let mut simulator = function(none).output(output).compile()?.optimize(Host::auto())?;
    let value = simulator.call_borrowed(args![])?.to_value(0)?.contiguous()?;
    if let Some(file) = result {
        std::fs::write(file, value.contiguous_bytes().unwrap_or(&[]))?;
    }
    let answer = serde_json::json!({ "dtype": value.dtype().name(), "shape": value.shape() });
    Ok((simulator, answer))
}

/// Microseconds per call.
fn time(simulator: &mut Simulator, seconds: f64) -> Result<f64, Failed> {
    let args = args![];
    let mut run = |calls: u64| -> Result<f64, Failed> {
        let start = Instant::now();
        for _ in 0..calls {
            simulator.call_borrowed(args.clone())?;
        }
        Ok(start.elapsed().as_secs_f64())
    };
    let once = run(1)?;
    if once >= seconds {
        return Ok(once * 1e6);
    }
    let few = (seconds / 8.0 / once).clamp(1.0, 1e6) as u64;
    let each = run(few)? / few as f64;
    let calls = (seconds / each).clamp(1.0, 1e7) as u64;
    Ok((run(calls)? / calls as f64).min(each) * 1e6)
}
