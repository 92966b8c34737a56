//! A cache of compiled kernels on disk, shared by processes.
//!
//! A device that compiles source first looks into [`KernelCache::of_process`], by a [`CacheKey`] of
//! everything on which the compiler's output depends, and stores the output. The cache is optional: if it
//! cannot be read or written, or an entry is damaged, kernels are compiled. `WORKALIKE_CACHE` names a folder
//! instead of the system's folder for caches, or is `off`; `WORKALIKE_CACHE_MIB` sets the maximum size, by
//! default 512 MiB.
//!
//! Entries are written to a temporary file and renamed, so they are never partial. They have a key, a length
//! and a checksum, which are checked before an entry is used. So any number of threads and processes may
//! share a folder. A folder belongs to one user, because its content is executed: a folder or an entry of
//! another user (except root), or one that other users can write, is not used.

mod entry;
mod folder;
mod key;
#[cfg(unix)]
mod owner;
#[cfg(test)]
mod tests;

pub use key::CacheKey;

use folder::CachedFileKind;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Default maximum size in bytes.
const BOUND: u64 = 512 << 20;

/// A folder of compiled kernels. See the [module](self).
#[derive(Debug)]
pub struct KernelCache {
    folder: Option<PathBuf>,
    bound: u64,
    /// The first error; nothing is stored after it.
    trouble: OnceLock<String>,
}

/// The size of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// Number of entries.
    pub entries: u64,
    /// Size of all entries in bytes.
    pub bytes: u64,
}

impl KernelCache {
    /// The cache of this process. The environment is read at the first call.
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

    /// A cache of at most about `bound` bytes in a folder, which is created if it does not exist.
    pub fn at(folder: &Path, bound: u64) -> KernelCache {
        let cache = KernelCache { folder: Some(folder.into()), bound, trouble: OnceLock::new() };
        match folder::claim(folder) {
            Ok(()) => cache,
            Err(error) => {
                cache.complain(&error);
                // Entries of other users are not read either.
                KernelCache { folder: None, ..cache }
            }
        }
    }

    /// A disabled cache: it stores and finds nothing.
    pub fn off() -> KernelCache {
        KernelCache { folder: None, bound: 0, trouble: OnceLock::new() }
    }

    /// The folder; `None` if the cache is off or cannot be used.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Why kernels are not stored, as a message for users; `None` if they are, or the cache is off.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// The value stored for a key; `None` if there is none, or the entry is damaged.
    pub fn load(&self, key: &CacheKey) -> Option<Vec<u8>> {
        let path = self.folder.as_ref()?.join(key.file_name());
        let mut file = folder::open_entry(&path).ok()?;
        let length = file.metadata().ok()?.len();
        let value = entry::read(&mut file, length, key)?;
        // Marks the entry as used: the least recently used are removed first. If this fails, the oldest are.
        let _ = file.set_modified(SystemTime::now());
        Some(value)
    }

    /// Stores a value for a key, and replaces an earlier one. After a failure, [`KernelCache::trouble`] says
    /// why.
    pub fn store(&self, key: &CacheKey, value: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let bytes = entry::HEADER + value.len() as u64;
        // An entry of more than half the maximum size would displace too many others.
        if self.trouble.get().is_some() || bytes > self.bound / 2 {
            return;
        }
        let store = || {
            folder::put(folder, &key.file_name(), |file| entry::write(file, key, value))?;
            folder::count(folder, bytes, self.bound)
        };
        let stored = store().or_else(|error| match error.kind() {
            // The folder was removed after it was created.
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
        // Only the first error is kept.
        let _ = self.trouble.set(format!(
            "compiled kernels are not kept in {place}: {error}; set {variable} to a folder of your own, or to off"
        ));
    }

    /// Counts the entries.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn contents(&self) -> io::Result<CacheSize> {
        let entries = self.files()?.into_iter().filter(|file| file.kind == CachedFileKind::Entry);
        let add = |c: CacheSize, bytes| CacheSize { entries: c.entries + 1, bytes: c.bytes + bytes };
        Ok(entries.map(|file| file.bytes).fold(CacheSize { entries: 0, bytes: 0 }, add))
    }

    /// Removes all files of the cache, and no others.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        self.files()?.into_iter().try_for_each(|file| match fs::remove_file(file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    fn files(&self) -> io::Result<Vec<folder::CachedFile>> {
        match self.folder.as_deref().map(folder::files) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Some(files) => files,
            None => Ok(Vec::new()),
        }
    }
}
