//! The folder: where it is, whose it is, and how it stays within its bound.
//!
//! A file named `tally` has one byte for each block of [`BLOCK`] bytes that was stored since entries were
//! last counted. Appending to it is all that a store does for the bound; only when its length says that the
//! bound is passed are the entries looked at, the longest unused removed, and the tally begun anew.

use super::key::names_an_entry;
#[cfg(unix)]
use super::owner;
use crate::atomic_file::{PRIVATE, Temporary, names_temporary, remove_abandoned};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a byte of the tally stands for.
const BLOCK: u64 = 4096;
const TALLY: &str = "tally";

/// The variable that names the folder, or says `off`.
pub(super) const VARIABLE: &str = "WORKALIKE_CACHE";

/// Where kernels are kept; `None` if they are not to be.
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

/// Makes the folder if it is not there, and sees to it that nobody else writes machine code for us to run.
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

/// Opens an entry if only its owner can write it, who is this user or root. What is checked is the file that
/// was opened.
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
    // Not forced to the disk: what a power cut leaves is found out by its checksum.
    write(&mut temporary.file)?;
    temporary.rename(&folder.join(name))
}

/// Notes that `bytes` more are in the folder; trims it if that is more than `bound`.
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

/// Removes the longest unused entries until a quarter of the bound is free. Others may do the same meanwhile.
pub(super) fn trim(folder: &Path, bound: u64) -> io::Result<()> {
    let mut found = files(folder)?;
    found.retain(|file| match file.kind {
        Kind::Entry => true,
        Kind::Unfinished => {
            remove_abandoned(&file.path);
            false
        }
        Kind::Tally => false,
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

/// What a file of the folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Entry,
    Unfinished,
    Tally,
}

/// A file of ours.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    /// When it was written or last loaded.
    used: SystemTime,
}

/// Our files; others that lie there are left alone.
pub(super) fn files(folder: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let kind = match file.file_name().to_str() {
            Some(TALLY) => Kind::Tally,
            Some(name) if names_an_entry(name) => Kind::Entry,
            Some(name) if names_temporary(name) => Kind::Unfinished,
            _ => continue,
        };
        // One that went away meanwhile is no error.
        let Ok(metadata) = file.metadata() else { continue };
        if metadata.is_file() {
            let used = metadata.modified()?;
            found.push(Found { path: file.path(), kind, bytes: metadata.len(), used });
        }
    }
    Ok(found)
}
