//! Compiled kernels, kept on disk between processes.
//!
//! A device that compiles source asks [`KernelCache::of_process`] first, by a [`Key`] of all that decides
//! what the compiler makes of it, and stores what it made. Nothing depends on the cache: where it cannot be
//! read or written, or an entry is damaged, kernels are compiled as if it were not there. `WORKALIKE_CACHE`
//! names another folder than the system's for caches, or says `off`; `WORKALIKE_CACHE_MIB` sets the bound, of
//! 512 MiB unless it is set.
//!
//! Entries are whole or absent (written beside, then renamed), and carry their key, length and checksum, all
//! of which are checked before one is used. So any number of threads and processes may share a folder. It
//! belongs to one user, because what lies in it is run: a folder or an entry of somebody else (but root), or
//! that others can write, is not used.

mod entry;
mod folder;
mod key;
#[cfg(unix)]
mod owner;
#[cfg(test)]
mod tests;

pub use key::Key;

use folder::Kind;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The bound, in bytes, unless another is set.
const BOUND: u64 = 512 << 20;

/// A folder of compiled kernels. See the [module](self).
#[derive(Debug)]
pub struct KernelCache {
    folder: Option<PathBuf>,
    bound: u64,
    /// What went wrong first; nothing is stored after it.
    trouble: OnceLock<String>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Number of entries.
    pub entries: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl KernelCache {
    /// The cache of this process, as the environment names it when this is first called.
    pub fn of_process() -> &'static KernelCache {
        static CACHE: OnceLock<KernelCache> = OnceLock::new();
        CACHE.get_or_init(|| {
            let bound = std::env::var("WORKALIKE_CACHE_MIB").ok().and_then(|mib| mib.parse::<u64>().ok());
            let bound = bound.map_or(BOUND, |mib| mib.saturating_mul(1 << 20));
            match folder::place(|name| std::env::var_os(name)) {
                Some(folder) => KernelCache::at(&folder, bound),
                None => KernelCache::off(),
            }
        })
    }

    /// A cache in a folder, which is made if it is not there, holding at most about `bound` bytes.
    pub fn at(folder: &Path, bound: u64) -> KernelCache {
        let cache = KernelCache { folder: Some(folder.into()), bound, trouble: OnceLock::new() };
        match folder::claim(folder) {
            Ok(()) => cache,
            Err(error) => {
                cache.complain(&error);
                // What others may have put there is not even read.
                KernelCache { folder: None, ..cache }
            }
        }
    }

    /// No cache: nothing is stored, nothing found.
    pub fn off() -> KernelCache {
        KernelCache { folder: None, bound: 0, trouble: OnceLock::new() }
    }

    /// The folder; `None` if the cache is off or cannot be used.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Why kernels are not kept although they should be: for people.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// What was stored for a key, exactly; `None` if there is nothing, or not that.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.folder.as_ref()?.join(key.file_name());
        let mut file = folder::open_entry(&path).ok()?;
        let length = file.metadata().ok()?.len();
        let value = entry::read(&mut file, length, key)?;
        // So that the longest unused goes first. Where that is not allowed, the oldest does.
        let _ = file.set_modified(SystemTime::now());
        Some(value)
    }

    /// Keeps a value for a key, in place of what was there. If that fails, [`KernelCache::trouble`] says why
    /// from then on.
    pub fn store(&self, key: &Key, value: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let bytes = entry::HEADER + value.len() as u64;
        // One that leaves no room for others is not worth it.
        if self.trouble.get().is_some() || bytes > self.bound / 2 {
            return;
        }
        let store = || {
            folder::put(folder, &key.file_name(), |file| entry::write(file, key, value))?;
            folder::count(folder, bytes, self.bound)
        };
        let stored = store().or_else(|error| match error.kind() {
            // Somebody removed the folder meanwhile.
            io::ErrorKind::NotFound => folder::claim(folder).and_then(|()| store()),
            _ => Err(error),
        });
        if let Err(error) = stored {
            self.complain(&error);
        }
    }

    fn complain(&self, error: &io::Error) {
        let place = self.folder.as_deref().unwrap_or(Path::new("")).display();
        let variable = folder::VARIABLE;
        // Only the first is kept.
        let _ = self.trouble.set(format!(
            "compiled kernels are not kept in {place}: {error}; set {variable} to a folder of your own, or to off"
        ));
    }

    /// Counts the entries.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn contents(&self) -> io::Result<Contents> {
        let entries = self.files()?.into_iter().filter(|file| file.kind == Kind::Entry);
        let add = |c: Contents, bytes| Contents { entries: c.entries + 1, bytes: c.bytes + bytes };
        Ok(entries.map(|file| file.bytes).fold(Contents { entries: 0, bytes: 0 }, add))
    }

    /// Removes all entries, and nothing that is not the cache's own.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        self.files()?.into_iter().try_for_each(|file| match fs::remove_file(file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    fn files(&self) -> io::Result<Vec<folder::Found>> {
        match self.folder.as_deref().map(folder::files) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Some(files) => files,
            None => Ok(Vec::new()),
        }
    }
}
