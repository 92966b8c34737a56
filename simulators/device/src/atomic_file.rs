//! Atomic writing: a reader sees the old file or the new one, never a part.
//!
//! The bytes go to a temporary file in the same folder, which is then renamed. The temporary file is locked
//! for as long as its process writes it. A process that is killed leaves the file behind; later writes to the
//! folder remove it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The prefix of names of temporary files.
const PREFIX: &str = ".workalike-";
/// The suffix of names of temporary files.
const SUFFIX: &str = ".tmp";
/// Minimum age of an abandoned temporary file. One hour, for file systems that have no locks.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Maximum number of folder entries that one write checks for abandoned files. Bounds the time of a save into
/// a huge folder.
const MOST_SWEPT: usize = 4096;
/// Symbolic links followed before a path counts as a loop; Linux's limit.
const MOST_LINKS: usize = 40;
/// Permissions of a new file before the umask.
const NEW_FILE: u32 = 0o666;
/// Permissions of a file that only its owner may read.
pub(crate) const PRIVATE: u32 = 0o600;

/// Replaces the file at `path`, or creates it, with `bytes`.
///
/// # Errors
/// As [`write_with`].
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Replaces the file at `path`, or creates it, with what `write` writes.
///
/// Symbolic links are followed. An existing file keeps its permissions and, where the system allows it, its
/// owner; a new file gets the permissions `0o666` less the umask.
///
/// # Errors
/// If `path` is a directory, a device, a FIFO or a read-only file, or if writing fails. The old file is
/// intact.
pub fn write_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (target, old) = target(path)?;
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = match &old {
        None => Temporary::create(folder, NEW_FILE)?,
        Some(old) => {
            // A user who may not write the file may not replace it.
            drop(OpenOptions::new().write(true).open(&target)?);
            let temporary = Temporary::create(folder, PRIVATE)?;
            keep_permissions(&temporary.file, old)?;
            temporary
        }
    };
    write(&mut temporary.file)?;
    temporary.file.sync_all()?;
    temporary.rename(&target)?;
    // The rename itself survives a power cut once the folder is on the disk. Not every system can do this.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    sweep(folder);
    Ok(())
}

/// The file that a write to `path` changes, after following symbolic links, and its metadata if it exists.
fn target(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    // This check also covers links in /dev and /proc that cannot be followed by name.
    if let Ok(found) = fs::metadata(path) {
        check_regular(&found)?;
    }
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((path, None)),
            Err(e) => return Err(e),
            Ok(found) if found.is_symlink() => {
                let link = fs::read_link(&path)?;
                path = path.parent().map_or_else(|| link.clone(), |folder| folder.join(&link));
            }
            Ok(found) => {
                check_regular(&found)?;
                return Ok((path, Some(found)));
            }
        }
    }
    Err(io::Error::other("too many symbolic links, or a loop of them"))
}

/// Refuses everything but regular files, and read-only files.
fn check_regular(found: &Metadata) -> io::Result<()> {
    if !found.is_file() {
        let kind = if found.is_dir() { "a directory" } else { "a device, FIFO or socket" };
        let message =
            format!("expected a regular file, found {kind}; nothing was written; choose another path");
        return Err(io::Error::other(message));
    }
    if found.permissions().readonly() {
        let message = "the file is read-only and was not replaced; make it writable or choose another path";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

#[cfg(unix)]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may change the owner. For other users the new file is their own.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

#[cfg(not(unix))]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// A file that is being written: removed when dropped, unless it was renamed.
pub(crate) struct Temporary {
    pub(crate) file: File,
    /// `None` after the rename.
    path: Option<PathBuf>,
}

impl Temporary {
    /// A new file with permissions `mode`, less the umask.
    pub(crate) fn create(folder: &Path, mode: u32) -> io::Result<Temporary> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        loop {
            let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
            let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(format!("{PREFIX}{process:x}-{count:x}-{time:x}{SUFFIX}"));
            match options.open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(file) => {
                    // Without locks in the file system, only the age decides whether the file is abandoned.
                    let _ = file.try_lock();
                    return Ok(Temporary { file, path: Some(path) });
                }
            }
        }
    }

    /// Renames the file, and replaces an existing file of that name.
    pub(crate) fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            fs::rename(path, to)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a name is that of a temporary file.
pub(crate) fn names_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Removes a temporary file if its writer has ended: the file is old and not locked. Returns whether it was
/// removed.
pub(crate) fn remove_abandoned(path: &Path) -> bool {
    let old = |found: Metadata| {
        found.is_file() && found.modified().is_ok_and(|t| t.elapsed().is_ok_and(|age| age > ABANDONED))
    };
    if !fs::symlink_metadata(path).is_ok_and(old) {
        return false;
    }
    let Ok(file) = File::open(path) else { return false };
    !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) && fs::remove_file(path).is_ok()
}

/// Removes the abandoned temporary files of a folder. Failure is no error: the next write tries again.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(MOST_SWEPT).flatten() {
        if entry.file_name().to_str().is_some_and(names_temporary) {
            remove_abandoned(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_alone() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"old").unwrap();
        let error = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(error.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn only_abandoned_temporary_files_are_swept() {
        let folder = tempdir().unwrap();
        let old = SystemTime::now() - 2 * ABANDONED;
        let make = |name: &str, time| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(time).unwrap();
            file
        };
        make(".workalike-1-0-0.tmp", old);
        make(".workalike-2-0-0.tmp", SystemTime::now());
        make("old.tmp", old);
        let writing = make(".workalike-3-0-0.tmp", old);
        writing.lock().unwrap();
        write(&folder.path().join("a"), b"new").unwrap();
        assert_eq!(names(folder.path()), [".workalike-2-0-0.tmp", ".workalike-3-0-0.tmp", "a", "old.tmp"]);
        drop(writing);
        write(&folder.path().join("a"), b"newer").unwrap();
        assert_eq!(names(folder.path()), [".workalike-2-0-0.tmp", "a", "old.tmp"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        symlink("second", &link).unwrap();
        symlink(&file, folder.path().join("second")).unwrap();
        write(&link, b"through a dangling link").unwrap();
        let fresh = folder.path().join("fresh");
        File::create(&fresh).unwrap();
        assert_eq!(mode(&file), mode(&fresh), "a new file obeys the umask");
        for kept in [0o600, 0o640, 0o666] {
            fs::set_permissions(&file, fs::Permissions::from_mode(kept)).unwrap();
            write(&link, b"again").unwrap();
            assert_eq!(mode(&file), kept);
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"again");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let error = write(&link, b"not").unwrap_err().to_string();
        assert!(error.contains("read-only"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), b"again");
        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(write(&folder.path().join("loop"), b"not").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in [fifo.as_path(), folder.path()] {
            let error = write(path, b"not").unwrap_err().to_string();
            assert!(error.contains("expected a regular file"), "{error}");
        }
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        assert!(write(&link, b"not").is_err());
        assert_eq!(names(folder.path()), ["fifo", "link"]);
    }
}
