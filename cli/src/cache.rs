//! `workalike cache`: the compiled kernels kept on disk.

use serde_json::json;
use workalike::engine::device::cache::KernelCache;
use workalike_cli_common::report::{ErrorContext, Failure, Result, printable, say, say_json};

/// Shows folder, number of entries and bytes; removes the entries first if requested.
pub(crate) fn cache(clear: bool, as_json: bool) -> Result<()> {
    let cache = KernelCache::of_process();
    if let Some(trouble) = cache.trouble() {
        return Err(Failure::new(trouble));
    }
    let folder = cache.folder().map(|folder| folder.display().to_string());
    let place = folder.as_deref().unwrap_or("the cache");
    if clear {
        cache.clear().during(place)?;
    }
    let contents = cache.contents().during(place)?;
    let (entries, bytes) = (contents.entries, contents.bytes);
    if as_json {
        return say_json(&json!({ "folder": folder, "entries": entries, "bytes": bytes }).to_string());
    }
    match folder {
        None => say("off: compiled kernels are not kept"),
        Some(folder) => say(&format!(
            "{}: {entries} {}, {:.1} MiB",
            printable(&folder),
            if entries == 1 { "entry" } else { "entries" },
            bytes as f64 / (1u64 << 20) as f64
        )),
    }
}
