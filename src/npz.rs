//! NumPy's `.npz` archives: several arrays by name.
//!
//! A `.npz` file is a zip archive of [`npy`] files, stored (`np.savez`) or deflated (`np.savez_compressed`).
//! Both are read and written.
//!
//! ```
//! use workalike::{npz, prelude::*};
//!
//! # let folder = tempfile::tempdir()?;
//! let file = folder.path().join("digits.npz"); // np.load("digits.npz")["xs"] reads it
//! npz::save(&file, [("xs", Value::from(array![[1.0f32, 2.0]])), ("ys", Value::from(array![3i64]))])?;
//! let arrays = npz::load(&file)?;
//! assert_eq!(arrays["ys"].to_vec::<i64>()?, [3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An archive is not trusted: memory is allocated for what its bytes can decompress to, never for what it
//! claims, and checksums are compared.

use crate::error::{Error, Result};
use crate::npy::{self, NpyError};
use crate::value::Value;
use flate2::{Compression, bufread::DeflateDecoder, write::DeflateEncoder};
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveWriter,
};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use workalike_device::atomic_file;
use workalike_kernels::DType;

/// Bytes that one byte of deflated data can become, at most.
const MOST_INFLATED: u64 = 1032;
/// Suffix of an array's name in the archive.
const SUFFIX: &str = ".npy";

/// An open archive. Each array is read on request. NumPy's `NpzFile`.
#[derive(Debug)]
pub struct Npz {
    path: PathBuf,
    archive: Archive<FileReader>,
}

impl Npz {
    /// Opens an archive and reads its names.
    ///
    /// # Errors
    /// [`Error::File`] if the system cannot read it;
    /// [`Error::Format`] if it is no archive, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Npz> {
        let path = path.as_ref();
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (found, file) = opened.map_err(|e| NpyError::Io(e).of_file(path))?;
        if !found.is_file() {
            return Err(NpyError::from("an archive must be a regular file").of_file(path));
        }
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file, &mut buffer)
            .map_err(zip)
            .and_then(|zip| Archive::new(zip, found.len(), &mut buffer));
        Ok(Npz { archive: archive.map_err(|problem| problem.of_file(path))?, path: path.into() })
    }

    /// The arrays' names, as in the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.archive.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Reads an array.
    ///
    /// # Errors
    /// [`Error::Format`] if there is none of this name, it is damaged, or its dtype is
    /// none of the library's; [`Error::File`] if the system cannot read it.
    pub fn get(&self, name: &str) -> Result<Value> {
        self.about(name, |entry| self.archive.read(entry))
    }

    /// Dtype and shape of an array, from its header alone.
    ///
    /// # Errors
    /// As [`Npz::get`].
    pub fn get_type(&self, name: &str) -> Result<(DType, Vec<usize>)> {
        self.about(name, |entry| self.archive.read_type(entry))
    }

    fn about<T>(&self, name: &str, read: impl FnOnce(&NpzEntry) -> Result<T, NpyError>) -> Result<T> {
        let Some(entry) = self.archive.entries.iter().find(|entry| entry.name == name) else {
            let names: Vec<&str> = self.names().collect();
            let message = format!("there is no array {name:?}; there are {names:?}");
            return Err(NpyError::from(message).of_file(&self.path));
        };
        read(entry).map_err(|problem| match problem {
            NpyError::Io(_) => problem.of_file(&self.path),
            other => other.of(format_args!("{}: array {name:?}", self.path.display())),
        })
    }
}

/// Reads all arrays of an archive, by name.
///
/// # Errors
/// As [`Npz::open`] and [`Npz::get`].
pub fn load(path: impl AsRef<Path>) -> Result<BTreeMap<String, Value>> {
    let archive = Npz::open(path)?;
    archive.names().map(|name| Ok((name.to_string(), archive.get(name)?))).collect()
}

/// Reads all arrays from the bytes of an archive, by name.
///
/// # Errors
/// As [`load`].
pub fn from_bytes(bytes: &[u8]) -> Result<BTreeMap<String, Value>> {
    let read = || -> Result<_, NpyError> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let zip = ZipArchive::from_seekable(io::Cursor::new(bytes), &mut buffer).map_err(zip)?;
        let archive = Archive::new(zip, bytes.len() as u64, &mut buffer)?;
        archive.entries.iter().map(|entry| Ok((entry.name.clone(), archive.read(entry)?))).collect()
    };
    read().map_err(|problem| problem.of("bytes"))
}

/// Writes arrays to an archive without compression; replaces a file that is there, whole or not at all.
/// NumPy's `np.savez`, except that nothing is appended to the name.
///
/// # Errors
/// [`Error::File`] if the file cannot be written; [`Error::Format`]
/// if two arrays have one name, or a name is empty or has parts that zip archives do not keep (`..`, `\`, a
/// leading `/`).
pub fn save<N, V>(path: impl AsRef<Path>, arrays: impl IntoIterator<Item = (N, V)>) -> Result<()>
where
    N: AsRef<str>,
    V: Borrow<Value>,
{
    save_with(path.as_ref(), arrays, None)
}

/// Writes arrays to a deflated archive. NumPy's `np.savez_compressed`.
///
/// # Errors
/// As [`save`].
pub fn save_compressed<N, V>(path: impl AsRef<Path>, arrays: impl IntoIterator<Item = (N, V)>) -> Result<()>
where
    N: AsRef<str>,
    V: Borrow<Value>,
{
    save_with(path.as_ref(), arrays, Some(Compression::default()))
}

fn save_with<N, V>(
    path: &Path,
    arrays: impl IntoIterator<Item = (N, V)>,
    compression: Option<Compression>,
) -> Result<()>
where
    N: AsRef<str>,
    V: Borrow<Value>,
{
    let arrays: Vec<(N, V)> = arrays.into_iter().collect();
    let mut taken = BTreeSet::new();
    for (name, _) in &arrays {
        let name = name.as_ref();
        let refuse = |why: &str| Err(NpyError::from(format!("array {name:?}: {why}")).of_file(path));
        if name.contains(['\\', '\0']) || name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return refuse("a zip archive does not keep this name; use another");
        }
        if !taken.insert(name) {
            return refuse("two arrays have this name");
        }
    }
    atomic_file::write_with(path, |file| {
        let mut zip = ZipArchiveWriter::new(file);
        for (name, value) in &arrays {
            let value = value.borrow().contiguous().map_err(io::Error::other)?;
            add(&mut zip, &format!("{}{SUFFIX}", name.as_ref()), &value, compression)?;
        }
        zip.finish().map(drop).map_err(io::Error::other)
    })
    .map_err(Error::of_file(path))
}

/// Appends a file that holds an array.
fn add(
    zip: &mut ZipArchiveWriter<&mut File>,
    name: &str,
    value: &Value,
    compression: Option<Compression>,
) -> io::Result<()> {
    let method = if compression.is_some() { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
    let started = zip.new_file(name).compression_method(method).start();
    let (mut entry, config) = started.map_err(io::Error::other)?;
    let descriptor = match compression {
        None => {
            let mut data = config.wrap(&mut entry);
            npy::write(&mut data, value)?;
            data.finish().map_err(io::Error::other)?.1
        }
        Some(level) => {
            let mut data = config.wrap(DeflateEncoder::new(&mut entry, level));
            npy::write(&mut data, value)?;
            let (encoder, descriptor) = data.finish().map_err(io::Error::other)?;
            encoder.finish()?;
            descriptor
        }
    };
    entry.finish(descriptor).map(drop).map_err(io::Error::other)
}

/// An array of an archive.
#[derive(Debug)]
struct NpzEntry {
    name: String,
    place: rawzip::ZipArchiveEntryWayfinder,
    deflated: bool,
    /// Bytes of its `.npy` file.
    bytes: u64,
}

#[derive(Debug)]
struct Archive<R> {
    zip: ZipArchive<R>,
    entries: Vec<NpzEntry>,
}

fn zip(error: rawzip::Error) -> NpyError {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => NpyError::Io(error),
        rawzip::ErrorKind::MissingEndOfCentralDirectory => {
            NpyError::from("this is no .npz archive, or is truncated")
        }
        other => NpyError::from(format!("a damaged archive: {other}")),
    }
}

impl<R: ReaderAt> Archive<R> {
    /// An archive in a file of `len` bytes. `buffer` is for temporary use.
    fn new(zip_archive: ZipArchive<R>, len: u64, buffer: &mut [u8]) -> Result<Archive<R>, NpyError> {
        let (mut entries, mut names, mut total) = (Vec::new(), BTreeSet::new(), 0u64);
        let mut records = zip_archive.entries(buffer);
        while let Some(record) = records.next_entry().map_err(zip)? {
            let path = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
            let refuse = |why: &str| Err(NpyError::from(format!("{path:?} in the archive {why}")));
            let Some(name) = path.strip_suffix(SUFFIX) else { return refuse("is not named as a .npy file") };
            if record.flags().is_encrypted() {
                return refuse("is encrypted");
            }
            let (packed, bytes) = (record.compressed_size_hint(), record.uncompressed_size_hint());
            let deflated = match record.compression_method() {
                CompressionMethod::STORE => false,
                CompressionMethod::DEFLATE => true,
                other => {
                    return refuse(&format!("is compressed by {other}; only stored and deflated are read"));
                }
            };
            let most = if deflated { packed.saturating_mul(MOST_INFLATED) } else { packed };
            if bytes > most {
                return refuse(&format!("cannot hold the {bytes} bytes that it claims"));
            }
            // Many entries over the same bytes would take far more memory than the file.
            total = total.saturating_add(packed);
            if total > len {
                return refuse("overlaps others, or is truncated");
            }
            if !names.insert(name.to_string()) {
                return refuse("is there twice");
            }
            entries.push(NpzEntry { name: name.into(), place: record.wayfinder(), deflated, bytes });
        }
        Ok(Archive { zip: zip_archive, entries })
    }

    /// The header's claim; the checksum covers the whole array and is not compared.
    fn read_type(&self, entry: &NpzEntry) -> Result<(DType, Vec<usize>), NpyError> {
        let packed = BufReader::new(self.zip.get_entry(entry.place).map_err(zip)?.reader());
        match entry.deflated {
            false => npy::read_type(&mut { packed }),
            true => npy::read_type(&mut DeflateDecoder::new(packed)),
        }
    }

    fn read(&self, entry: &NpzEntry) -> Result<Value, NpyError> {
        let found = self.zip.get_entry(entry.place).map_err(zip)?;
        let packed = BufReader::new(found.reader());
        match entry.deflated {
            false => verified(found.verifying_reader(packed), entry.bytes),
            true => verified(found.verifying_reader(DeflateDecoder::new(packed)), entry.bytes),
        }
    }
}

/// Reads an array to the end of its source, where the source compares the checksum.
fn verified(mut source: impl Read, bytes: u64) -> Result<Value, NpyError> {
    let value = npy::read(&mut source, bytes)?;
    match source.read(&mut [0])? {
        0 => Ok(value),
        _ => Err("there is more in it than the archive says".into()),
    }
}
