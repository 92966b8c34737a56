//! NumPy's `.npy` files, one array each.
//!
//! Format versions 1 to 3, C and Fortran order, both byte orders, every dtype of the library. NumPy has no
//! bfloat16: as `ml_dtypes` does, it is written as two raw bytes an element (`<V2`), which NumPy reads back
//! with `.view(ml_dtypes.bfloat16)`.
//!
//! ```
//! use workalike::{npy, prelude::*};
//!
//! # let folder = tempfile::tempdir()?;
//! let file = folder.path().join("x.npy"); // np.load("x.npy") reads it
//! npy::save(&file, array![[1.0f32, 2.0], [3.0, 4.0]])?;
//! assert_eq!(npy::load(&file)?.to_array::<f32>()?[[1, 0]], 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A header is not trusted: the dtype and shape it claims must be exactly what the file holds, and memory is
//! allocated only after that check. See [`npz`](crate::npz) for archives of several arrays.

mod header;

use crate::error::{Error, Result, array_text};
use crate::value::{Value, checked_len, row_major};
use header::Header;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use workalike_device::atomic_file;
use workalike_kernels::DType;

/// Reads a `.npy` file. NumPy's `np.load`.
///
/// # Errors
/// [`Error::File`] if the system cannot read it; [`Error::Format`] if it is no `.npy` file, is damaged, or
/// has elements of a dtype that the library lacks (complex, text, objects, records).
pub fn load(path: impl AsRef<Path>) -> Result<Value> {
    let path = path.as_ref();
    let (mut source, bytes) = open(path)?;
    read(&mut source, bytes).map_err(|problem| problem.of_file(path))
}

/// Reads the bytes of a `.npy` file.
///
/// # Errors
/// [`Error::Format`], as [`load`].
pub fn from_bytes(bytes: &[u8]) -> Result<Value> {
    read(&mut &bytes[..], bytes.len() as u64).map_err(|problem| problem.of("bytes"))
}

/// Dtype and shape of the array in a `.npy` file, from its header alone.
///
/// # Errors
/// As [`load`].
pub fn load_type(path: impl AsRef<Path>) -> Result<(DType, Vec<usize>)> {
    let path = path.as_ref();
    let mut file = File::open(path).map_err(|e| NpyError::Io(e).of_file(path))?;
    read_type(&mut file).map_err(|problem| problem.of_file(path))
}

/// Dtype and shape, from the header at the start of a source.
pub(crate) fn read_type(source: &mut impl Read) -> Result<(DType, Vec<usize>), NpyError> {
    let (header, _) = header::read(source)?;
    Ok((header.dtype, header.shape))
}

/// Writes a `.npy` file, in C order and little-endian; replaces a file that is there, whole or not at all.
/// NumPy's `np.save`, except that nothing is appended to the name.
///
/// # Errors
/// [`Error::File`] if the file cannot be written.
pub fn save(path: impl AsRef<Path>, value: impl Into<Value>) -> Result<()> {
    let value = value.into().contiguous()?;
    let path = path.as_ref();
    atomic_file::write_with(path, |file| write(file, &value)).map_err(Error::of_file(path))
}

/// The bytes of a `.npy` file, in C order and little-endian.
///
/// # Errors
/// If there is no memory for them.
pub fn to_bytes(value: impl Into<Value>) -> Result<Vec<u8>> {
    let value = value.into().contiguous()?;
    let mut bytes = Vec::new();
    let refused = |_| Error::mismatch("npy", "memory for the file", format!("{} bytes", value.byte_len()));
    bytes.try_reserve(2 * header::ALIGNMENT + value.byte_len()).map_err(refused)?;
    write(&mut bytes, &value).map_err(|e| NpyError::Io(e).of("bytes"))?;
    Ok(bytes)
}

/// Writes a contiguous array.
pub(crate) fn write(target: &mut impl Write, value: &Value) -> io::Result<()> {
    target.write_all(&header::encode(value.dtype(), value.shape()))?;
    target.write_all(value.contiguous_bytes().unwrap_or(&[]))
}

/// A source of a file's bytes, and how many it holds. The length of a pipe is known only once it was read.
fn open(path: &Path) -> Result<(Box<dyn Read>, u64)> {
    let file = |e: io::Error| NpyError::Io(e).of_file(path);
    let mut opened = File::open(path).map_err(file)?;
    let found = opened.metadata().map_err(file)?;
    if found.is_file() {
        return Ok((Box::new(BufReader::new(opened)), found.len()));
    }
    let mut bytes = Vec::new();
    let len = opened.read_to_end(&mut bytes).map_err(file)? as u64;
    Ok((Box::new(io::Cursor::new(bytes)), len))
}

/// Why an array could not be read.
#[derive(Debug)]
pub(crate) enum NpyError {
    Io(io::Error),
    /// The bytes are not an array, or one that the library cannot hold.
    Bytes(String),
    Memory(Error),
}

impl From<String> for NpyError {
    fn from(message: String) -> NpyError {
        NpyError::Bytes(message)
    }
}

impl From<&str> for NpyError {
    fn from(message: &str) -> NpyError {
        NpyError::Bytes(message.into())
    }
}

impl From<Error> for NpyError {
    fn from(error: Error) -> NpyError {
        NpyError::Memory(error)
    }
}

impl From<io::Error> for NpyError {
    /// Other errors come from the bytes: their end, a checksum.
    fn from(error: io::Error) -> NpyError {
        match error.raw_os_error() {
            Some(_) => NpyError::Io(error),
            None => NpyError::Bytes(format!("damaged or truncated: {error}")),
        }
    }
}

impl NpyError {
    /// The error about this part of a file.
    pub(crate) fn of(self, what: impl Display) -> Error {
        let message = match self {
            NpyError::Io(error) => error.to_string(),
            NpyError::Bytes(message) => message,
            NpyError::Memory(error) => error.to_string(),
        };
        Error::Format { what: what.to_string(), message }
    }

    /// The error about this file.
    pub(crate) fn of_file(self, path: &Path) -> Error {
        match self {
            NpyError::Io(error) => Error::File { path: path.into(), message: error.to_string() },
            other => other.of(path.display()),
        }
    }
}

/// Reads an array from a source that holds this many bytes.
pub(crate) fn read(source: &mut impl Read, bytes: u64) -> Result<Value, NpyError> {
    let (Header { dtype, big_endian, fortran, shape }, start) = header::read(source)?;
    let len = checked_len(&shape, dtype).map_err(|e| e.to_string())?;
    let (expected, given) = ((len * dtype.size()) as u64, bytes.saturating_sub(start as u64));
    if given != expected {
        let what = array_text(dtype, &shape);
        let why = match given < expected {
            true => "truncated",
            false => "there is more than one array in it, or it is damaged",
        };
        return Err(format!("{why}: {what} takes {expected} bytes, the file has {given}").into());
    }
    // Columns are the rows of the transposed array.
    let stored: Vec<usize> = if fortran { shape.iter().rev().copied().collect() } else { shape.clone() };
    let value = Value::try_filled(dtype, &stored, |elements| {
        source.read_exact(elements)?;
        if big_endian {
            elements.chunks_exact_mut(dtype.real().size()).for_each(<[u8]>::reverse);
        }
        if dtype == DType::Bool {
            elements.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok::<(), NpyError>(())
    })?;
    if !fortran {
        return Ok(value);
    }
    let strides: Vec<isize> = row_major(&stored).into_iter().rev().collect();
    Ok(value.view_as(&shape, &strides, 0)?.contiguous()?)
}

#[cfg(test)]
mod tests;
