//! The folder of the cache: its path, its owner and its maximum size.
//!
//! A file named `tally` has one byte for each block of [`BLOCK`] bytes stored, as an estimate of the folder's
//! size. A store only appends to it. When its length exceeds the maximum, the entries are counted, the least
//! recently used are removed, and the tally is written anew.

use super::key::names_an_entry;
#[cfg(unix)]
use super::owner;
use crate::atomic_file::{PRIVATE, Temporary, names_temporary, remove_abandoned};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes of entries for each byte of the tally.
const BLOCK: u64 = 4096;
const TALLY: &str = "tally";

/// The environment variable that names the folder, or is `off`.
pub(super) const VARIABLE: &str = "WORKALIKE_CACHE";

/// The path of the folder; `None` if the cache is off or there is no path for it.
pub(super) fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let base = match set(VARIABLE) {
        Some(off) if off.eq_ignore_ascii_case("off") => return None,
        Some(folder) => PathBuf::from(folder),
        None => {
            let absolute = |name| set(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let home = || absolute("HOME");
            let system = if cfg!(windows) {
                absolute("LOCALAPPDATA")
            } else if cfg!(target_os = "macos") {
                home().map(|h| h.join("Library/Caches"))
            } else {
                absolute("XDG_CACHE_HOME").or_else(|| home().map(|h| h.join(".cache")))
            };
            system?.join("workalike")
        }
    };
    Some(base.join("kernels"))
}

/// Creates the folder if it does not exist, and checks that other users cannot write machine code into it.
pub(super) fn claim(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
    }
    #[cfg(unix)]
    owner::check_folder(folder)?;
    Ok(())
}

/// Opens an entry if only its owner can write it, who is this user or root. The check is made on the open
/// file.
pub(super) fn open_entry(path: &Path) -> io::Result<File> {
    let file = open(path, OpenOptions::new().read(true))?;
    #[cfg(unix)]
    owner::check_file(&file)?;
    Ok(file)
}

/// Opens a regular file; links are not followed.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, owner::OPEN_FLAGS);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Puts a file into the folder whole or not at all.
pub(super) fn put(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut temporary = Temporary::create(folder, PRIVATE)?;
    // Not synchronized to the disk: the checksum detects a file that a power cut damaged.
    write(&mut temporary.file)?;
    temporary.rename(&folder.join(name))
}

/// Adds `bytes` to the tally, and trims the folder if the tally exceeds `bound`.
pub(super) fn count(folder: &Path, bytes: u64, bound: u64) -> io::Result<()> {
    let mut tally = open(&folder.join(TALLY), OpenOptions::new().create(true).append(true))?;
    tally.write_all(&vec![0; blocks(bytes) as usize])?;
    if tally.metadata()?.len() > bound / BLOCK {
        trim(folder, bound)?;
    }
    Ok(())
}

fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK)
}

/// Removes the least recently used entries until a quarter of `bound` is free. Other processes may do the
/// same at the same time.
pub(super) fn trim(folder: &Path, bound: u64) -> io::Result<()> {
    let mut found = files(folder)?;
    found.retain(|file| match file.kind {
        CachedFileKind::Entry => true,
        CachedFileKind::Unfinished => {
            remove_abandoned(&file.path);
            false
        }
        CachedFileKind::Tally => false,
    });
    found.sort_by_key(|file| file.used);
    let mut total: u64 = found.iter().map(|file| blocks(file.bytes)).sum();
    for file in &found {
        if total <= bound / BLOCK / 4 * 3 {
            break;
        }
        match fs::remove_file(&file.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {}
            _ => total -= blocks(file.bytes),
        }
    }
    put(folder, TALLY, |tally| tally.set_len(total))
}

/// The kind of a file of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachedFileKind {
    Entry,
    Unfinished,
    Tally,
}

/// A file of the cache.
#[derive(Debug)]
pub(super) struct CachedFile {
    pub(super) path: PathBuf,
    pub(super) kind: CachedFileKind,
    pub(super) bytes: u64,
    /// Time of the last load, or of the write.
    used: SystemTime,
}

/// The files of the cache; other files in the folder are ignored.
pub(super) fn files(folder: &Path) -> io::Result<Vec<CachedFile>> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let kind = match file.file_name().to_str() {
            Some(TALLY) => CachedFileKind::Tally,
            Some(name) if names_an_entry(name) => CachedFileKind::Entry,
            Some(name) if names_temporary(name) => CachedFileKind::Unfinished,
            _ => continue,
        };
        // A file that another process has removed is no error.
        let Ok(metadata) = file.metadata() else { continue };
        if metadata.is_file() {
            let used = metadata.modified()?;
            found.push(CachedFile { path: file.path(), kind, bytes: metadata.len(), used });
        }
    }
    Ok(found)
}
