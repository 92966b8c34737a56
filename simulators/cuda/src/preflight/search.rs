//! The search for libraries, in the order that the [parent module](super) describes.

use super::Absent;
use std::path::{Path, PathBuf};

/// Major versions of NVRTC, cuBLASLt and cuBLAS that are searched for in folders, best first.
pub(crate) const MAJORS: [u32; 2] = [13, 12];

/// Loads a library by its file name: from the loader's path, else from the [`folders`].
pub(crate) fn load(what: &str, stem: &str, majors: &[u32]) -> Result<libloading::Library, Absent> {
    let folders = folders();
    for major in majors {
        let name = format!("lib{stem}.so.{major}");
        let paths = [PathBuf::from(&name)].into_iter().chain(folders.iter().map(|folder| folder.join(&name)));
        for path in paths {
            // SAFETY: NVIDIA's libraries have no initializers with preconditions; the user or the system
            // named the folder.
            if let Ok(library) = unsafe { libloading::Library::new(path) } {
                return Ok(library);
            }
        }
    }
    let searched: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    Err(Absent::new(
        format!("{what} (lib{stem}.so) is neither on the loader's path nor in {}", searched.join(", ")),
        format!("Install {what}, or set WORKALIKE_CUDA_LIBS to the folder that holds it"),
    ))
}

/// An error that names the first of `symbols` that a loaded library lacks.
pub(super) fn check_symbols(what: &str, symbols: &[&str], has: impl Fn(&[u8]) -> bool) -> Result<(), Absent> {
    match symbols.iter().find(|name| !has(name.as_bytes())) {
        None => Ok(()),
        Some(name) => {
            Err(Absent::new(format!("the {what} found here has no {name}"), "Install a newer CUDA"))
        }
    }
}

/// Makes the library `stem` present if the loader does not find it: loads `stems`, in order, from one of the
/// [`folders`].
pub(super) fn find(what: &str, stem: &str, stems: &[&str], present: impl Fn() -> bool) -> Result<(), Absent> {
    if present() {
        return Ok(());
    }
    let folders = folders();
    for folder in &folders {
        for major in MAJORS {
            if folder.join(format!("lib{stem}.so.{major}")).is_file() {
                for stem in stems {
                    preload(folder, stem, major);
                }
                if present() {
                    return Ok(());
                }
            }
        }
    }
    let searched: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    Err(Absent::new(
        format!("{what} (lib{stem}.so) is neither on the loader's path nor in {}", searched.join(", ")),
        "Install the CUDA toolkit's libraries, or set WORKALIKE_CUDA_LIBS to the folder that holds them",
    ))
}

/// The folders to search after the loader's path.
pub(crate) fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(root) = std::env::var_os("CUDA_PATH") {
        folders.push(PathBuf::from(root).join("lib64"));
    }
    folders.push(PathBuf::from("/usr/local/cuda/lib64"));
    if let Some(named) = std::env::var_os("WORKALIKE_CUDA_LIBS") {
        folders.extend(std::env::split_paths(&named).filter(|f| !f.as_os_str().is_empty()));
    }
    folders
}

/// Loads `lib<stem>.so.<major>*` of a folder for the life of the process, with local symbols (`RTLD_LOCAL`).
/// A library that cannot be loaded is skipped: the caller checks afterwards what is present.
pub(crate) fn preload(folder: &Path, stem: &str, major: u32) {
    let exact = format!("lib{stem}.so.{major}");
    let longer = format!("{exact}.");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| *name == exact || name.starts_with(&longer))
        .collect();
    names.sort();
    if names.first() == Some(&exact) {
        names.truncate(1);
    }
    for name in names {
        // SAFETY: NVIDIA's libraries have no initializers with preconditions; the user or the system named
        // the folder.
        if let Ok(library) = unsafe { libloading::Library::new(folder.join(name)) } {
            std::mem::forget(library);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_nowhere_is_named_with_the_folders_searched() {
        let absent = find("Nothing", "workalike-no-such-library", &[], || false).unwrap_err();
        assert!(absent.why.contains("libworkalike-no-such-library.so"), "{absent:?}");
        assert!(absent.why.contains("/usr/local/cuda/lib64"), "{absent:?}");
    }
}
