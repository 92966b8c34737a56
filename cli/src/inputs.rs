//! Inputs from the command line: `NAME=FILE.npy`, or `NAME=SHAPE` for random elements of that shape.

use crate::npy;
use crate::report::{Failure, Result, While, printable};
use std::path::PathBuf;
use workalike::prelude::*;

/// What an input is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Random elements: normal floats; integers that are 0 or 1, so that they may be indices.
    Shape(Vec<usize>),
    /// An array.
    File(PathBuf),
}

pub(crate) const HELP: &str = "An input: a .npy file, or a shape such as 20x784 or () for random elements";

/// `NAME=20x784`, `NAME=()` or `NAME=x.npy`.
pub(crate) fn source(text: &str) -> Result<(String, Source), String> {
    let (name, what) = match text.split_once('=') {
        Some((name, what)) if !name.is_empty() && !what.is_empty() => (name, what),
        _ => return Err("NAME=SHAPE or NAME=FILE was expected: 20x784, () or a .npy file".into()),
    };
    let extents: Option<Vec<usize>> = match what {
        "()" => Some(vec![]),
        _ => what.split(['x', ',']).map(|extent| extent.parse().ok()).collect(),
    };
    Ok((name.into(), extents.map_or_else(|| Source::File(what.into()), Source::Shape)))
}

/// How many axes the given inputs have, as far as that can be read: what a method may be chosen by.
pub(crate) fn ranks(given: &[(String, Source)]) -> Vec<(&str, usize)> {
    let rank = |(_, source): &(String, Source)| match source {
        Source::Shape(shape) => Some(shape.len()),
        Source::File(file) => npy::axes(file),
    };
    given.iter().filter_map(|g| Some((g.0.as_str(), rank(g)?))).collect()
}

/// The arguments of a call: what was given, else the input's default, else random elements if its type says how many.
pub(crate) fn bound(function: &Function, given: &[(String, Source)]) -> Result<Args> {
    let specs = function.inputs();
    let name = |at: usize| specs[at].name.clone().unwrap_or_else(|| at.to_string());
    if let Some((unknown, _)) = given.iter().find(|(n, _)| (0..specs.len()).all(|at| name(at) != *n)) {
        let known: Vec<String> = (0..specs.len()).map(name).collect();
        let known = if known.is_empty() { "no inputs".into() } else { printable(&known.join(", ")) };
        return Err(Failure::new(format!(
            "method {} has no input {unknown}; it has {known}",
            function.name()
        )));
    }
    let mut args = Args::new();
    for (position, spec) in specs.iter().enumerate() {
        let name = name(position);
        let mut sources = given.iter().filter(|g| g.0 == name).map(|g| &g.1);
        let value = match (sources.next(), &spec.default) {
            (Some(Source::File(file)), _) => npy::read(file).during(format_args!("input {name}"))?,
            (Some(Source::Shape(shape)), _) => random(position as u64, spec.ty.dtype, shape)?,
            (None, Some(value)) => value.clone(),
            (None, None) => {
                let extents: Option<Vec<usize>> = spec.ty.shape.iter().copied().collect();
                let extents = extents.ok_or_else(|| {
                    Failure::new(format!(
                        "method {}: input {name} is {}; give its extents with --input {name}=SHAPE, or its elements with \
                         --input {name}=FILE.npy",
                        function.name(),
                        spec.ty
                    ))
                })?;
                random(position as u64, spec.ty.dtype, &extents)?
            }
        };
        if sources.next().is_some() {
            return Err(Failure::new(format!("input {name} is given twice")));
        }
        args = args.with(value);
    }
    Ok(args)
}

/// Random elements, the same in every run.
fn random(seed: u64, dtype: DType, shape: &[usize]) -> Result<Value> {
    if dtype.is_float() {
        return Ok(normal(1 + seed, shape, 1.0)?.cast(dtype)?);
    }
    let count = workalike::value::checked_len(shape, DType::I64)?;
    Ok(integers(1 + seed, count, 2)?.cast(dtype)?.reshaped(shape)?)
}

/// Random-normal float32 elements, the same in every run.
pub(crate) fn normal(seed: u64, shape: &[usize], scale: f64) -> workalike::Result<Value> {
    let draw = RandomStreams::new(seed).normal::<f32>(shape) * scale;
    let f = function([] as [&Variable; 0]).output(&draw).compile()?;
    Ok(f.call(args![])?[0].clone())
}

/// Random int64 elements below `below`, the same in every run.
pub(crate) fn integers(seed: u64, count: usize, below: u64) -> workalike::Result<Value> {
    let bits = RandomStreams::new(seed).bits(&[count]);
    let drawn = function([] as [&Variable; 0]).output(&bits).compile()?.call(args![])?;
    Ok(Value::from(drawn[0].to_vec::<u64>()?.iter().map(|b| (b % below) as i64).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_files() {
        let shape = |text: &str| source(text).unwrap().1;
        assert_eq!(shape("x=20x784"), Source::Shape(vec![20, 784]));
        assert_eq!(shape("x=20,784"), Source::Shape(vec![20, 784]));
        assert_eq!(shape("x=3"), Source::Shape(vec![3]));
        assert_eq!(shape("x=()"), Source::Shape(vec![]));
        assert_eq!(shape("x=x.npy"), Source::File("x.npy".into()));
        for wrong in ["x", "=3", "x="] {
            assert!(source(wrong).is_err());
        }
    }

    #[test]
    fn random_elements_are_the_same_each_time_and_fit() {
        let (x, n) = (matrix::<f32>("x"), vector::<i64>("n"));
        let f = function([&x, &n]).output(x.sum(..)).output(n.sum(..)).compile().unwrap();
        let given = [source("x=2x3").unwrap(), source("n=5").unwrap()];
        let call = || f.call(bound(&f, &given).unwrap()).unwrap().into_values();
        assert_eq!(call(), call());
        let missing = bound(&f, &given[..1]).unwrap_err().to_string();
        assert!(missing.contains("--input n=SHAPE"), "{missing}");
        let unknown = bound(&f, &[source("z=3").unwrap()]).unwrap_err().to_string();
        assert!(unknown.contains("x, n"), "{unknown}");
    }
}
