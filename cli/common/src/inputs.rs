//! Inputs from the command line: `NAME=x.npy`, `NAME=x.npz`, `NAME=3.5`, or `NAME=20x784` for random
//! elements.

use crate::random::{integers, normal};
use crate::report::{ErrorContext, Failure, Result, printable};
use std::path::{Path, PathBuf};
use workalike::error::array_text;
use workalike::kernels::Scalar;
use workalike::prelude::*;
use workalike::{npy, npz};

/// The source of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// Random elements: normal floats; integers are 0 or 1, so that they are valid indices.
    Shape(Vec<usize>),
    /// A `.npy` or `.npz` file, or a number if there is no file of this name.
    File(PathBuf),
}

/// Help of `--input` for commands that accept a shape instead of an array.
pub const HELP: &str = "An input: a .npy or .npz file, a number such as 3.5, or a shape such as 20x784 or () for random elements";
/// Help of `--cast`.
pub const CAST: &str = "Converts arrays to the inputs' dtypes, as NumPy's casting='same_kind' does: float64 to float32, int64 to int32";

/// Parses `NAME=x.npy`, `NAME=x.npz` or `NAME=3.5`.
///
/// # Errors
/// If the name or the file is missing.
pub fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("NAME=FILE was expected: the name of an input, and a .npy or .npz file or a number".into()),
    }
}

/// Parses `NAME=20x784`, `NAME=()` or `NAME=x.npy`.
///
/// # Errors
/// If the name, or what follows it, is missing.
pub fn source(text: &str) -> Result<(String, InputSource), String> {
    let (name, what) = match text.split_once('=') {
        Some((name, what)) if !name.is_empty() && !what.is_empty() => (name, what),
        _ => {
            return Err(
                "NAME=SHAPE or NAME=FILE was expected: 20x784, (), a .npy or .npz file, or 3.5".into()
            );
        }
    };
    let extents: Option<Vec<usize>> = match what {
        "()" => Some(vec![]),
        _ => what.split(['x', ',']).map(|extent| extent.parse().ok()).collect(),
    };
    Ok((name.into(), extents.map_or_else(|| InputSource::File(what.into()), InputSource::Shape)))
}

/// The ranks of the given inputs, if they can be read; a method is selected by them.
pub fn ranks(given: &[(String, InputSource)]) -> Vec<(&str, usize)> {
    let rank = |(name, source): &(String, InputSource)| match source {
        InputSource::Shape(shape) => Some(shape.len()),
        InputSource::File(file) => axes(name, file),
    };
    given.iter().filter_map(|g| Some((g.0.as_str(), rank(g)?))).collect()
}

/// The rank of an input's file, 0 for a number; `None` if it cannot be read.
pub fn axes(name: &str, file: &Path) -> Option<usize> {
    if number(file).is_some() {
        return Some(0);
    }
    let found = match is_archive(file) {
        true => npz::Npz::open(file).and_then(|archive| archive.get_type(in_archive(&archive, name))),
        false => npy::load_type(file),
    };
    Some(found.ok()?.1.len())
}

/// The text, if it is a number and no file has its name.
fn number(file: &Path) -> Option<&str> {
    let text = file.to_str()?;
    let is_number = text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok();
    (is_number && !file.exists()).then_some(text)
}

/// The array for an input. A conversion that may lose values needs `cast`.
///
/// # Errors
/// If the file cannot be read, or its dtype does not fit.
pub fn read(name: &str, file: &Path, ty: &TensorType, cast: bool) -> Result<Value> {
    let value = match number(file) {
        Some(text) => return scalar_of(text, ty.dtype).during(format_args!("input {name}")),
        None if is_archive(file) => from_archive(name, file)?,
        None => npy::load(file).during(format_args!("input {name}"))?,
    };
    let (from, to) = (value.dtype(), ty.dtype);
    let lossless = from.promote(to) == to || (value.ndim() == 0 && from.is_float() && to.is_float());
    if from == to || lossless {
        return Ok(value);
    }
    let what = format!("input {name}: expected {ty}, got {}", array_text(from, value.shape()));
    // A float for an integer or a bool, or a number for a bool, is an error: it is more likely a mistake than
    // an intended rounding.
    let same_kind = (from.is_float() && to.is_float()) || (from.is_integer() && to.is_integer());
    match (same_kind, cast) {
        (true, true) => Ok(value.cast(to)?),
        (true, false) => Err(Failure::new(format!("{what}; convert it, or give --cast"))),
        (false, _) => Err(Failure::new(format!("{what}; convert it first"))),
    }
}

fn is_archive(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "npz")
}

/// The name of the array for an input in an archive: the only array, or that of the same name.
fn in_archive<'a>(archive: &'a npz::Npz, input: &'a str) -> &'a str {
    let mut names = archive.names();
    let (first, second) = (names.next(), names.next());
    first.filter(|_| second.is_none()).unwrap_or(input)
}

fn from_archive(name: &str, file: &Path) -> Result<Value> {
    let archive = npz::Npz::open(file).during(format_args!("input {name}"))?;
    archive.get(in_archive(&archive, name)).during(format_args!("input {name}"))
}

/// The 0-d array of a number.
fn scalar_of(text: &str, dtype: DType) -> Result<Value> {
    let wrong = || Failure::new(format!("'{text}' is no {dtype}"));
    if dtype.is_float() {
        let number = text.parse().map_err(|_| wrong())?;
        return Ok(Value::scalar(Scalar::from_f64(dtype, number)));
    }
    let number = text.parse::<bool>().map(i128::from).or_else(|_| text.parse()).map_err(|_| wrong())?;
    let scalar = Scalar::from_i128(dtype, number);
    if scalar.to_i128() != number {
        return Err(wrong());
    }
    Ok(Value::scalar(scalar))
}

/// The arguments of a call: the given ones, else defaults, else random elements if the type has static
/// extents.
///
/// # Errors
/// If a given input does not exist, is given twice or does not fit, or if the extents of one that is not
/// given are unknown.
pub fn bound(function: &Function, given: &[(String, InputSource)], cast: bool) -> Result<Args> {
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
            (Some(InputSource::File(file)), _) => read(&name, file, &spec.ty, cast)?,
            (Some(InputSource::Shape(shape)), _) => random(position as u64, spec.ty.dtype, shape)?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_files() {
        let shape = |text: &str| source(text).unwrap().1;
        assert_eq!(shape("x=20x784"), InputSource::Shape(vec![20, 784]));
        assert_eq!(shape("x=20,784"), InputSource::Shape(vec![20, 784]));
        assert_eq!(shape("x=3"), InputSource::Shape(vec![3]));
        assert_eq!(shape("x=()"), InputSource::Shape(vec![]));
        assert_eq!(shape("x=x.npy"), InputSource::File("x.npy".into()));
        assert_eq!(shape("x=3.5"), InputSource::File("3.5".into()));
        assert_eq!(named_file("x=a=b.npy"), Ok(("x".into(), "a=b.npy".into())));
        for wrong in ["x", "=3", "x="] {
            assert!(source(wrong).is_err() && named_file(wrong).is_err());
        }
    }

    #[test]
    fn numbers_fit_their_dtype() {
        let scalar = |text: &str, dtype| scalar_of(text, dtype).unwrap();
        assert_eq!(scalar("3.5", DType::F32), Value::from(3.5f32));
        assert_eq!(scalar("-3", DType::F64), Value::from(-3.0));
        assert_eq!(scalar("18446744073709551615", DType::U64), Value::from(u64::MAX));
        assert_eq!(scalar("true", DType::Bool), Value::from(true));
        assert_eq!(scalar("1", DType::Bool), Value::from(true));
        for (text, dtype) in [("3.5", DType::I64), ("-1", DType::U8), ("300", DType::I8), ("2", DType::Bool)]
        {
            let error = scalar_of(text, dtype).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(dtype.name()), "{error}");
        }
    }

    #[test]
    fn arrays_are_cast_within_their_kind_and_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.npy");
        let ty = |dtype| TensorType::of_rank(dtype, 1);
        for (from, to, casts) in [
            (DType::F64, DType::F32, true),
            (DType::I64, DType::I8, true),
            (DType::F32, DType::I64, false),
            (DType::U8, DType::Bool, false),
        ] {
            npy::save(&file, Value::zeros(from, &[3]).unwrap()).unwrap();
            let without = read("x", &file, &ty(to), false).unwrap_err().to_string();
            assert_eq!(without.contains("--cast"), casts, "{without}");
            assert_eq!(read("x", &file, &ty(to), true).is_ok_and(|x| x.dtype() == to), casts);
        }
        let file = folder.path().join("x.npz");
        npz::save(&file, [("x", Value::from(vec![1f64])), ("y", Value::from(vec![2f64]))]).unwrap();
        assert_eq!(read("y", &file, &ty(DType::F64), false).unwrap(), Value::from(vec![2f64]));
        assert!(read("z", &file, &ty(DType::F64), false).is_err());
        npz::save(&file, [("x", Value::from(vec![1f64]))]).unwrap();
        assert_eq!(read("z", &file, &ty(DType::F64), false).unwrap(), Value::from(vec![1f64]));
    }
}
