//! Store and load, damage, the bound, many threads and processes, folders that cannot be used.

use super::folder::{self, VARIABLE};
use super::*;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::process::Command;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

const MIB: u64 = 1 << 20;

fn cache(bound: u64) -> (TempDir, KernelCache) {
    let outer = tempdir().unwrap();
    let cache = KernelCache::at(&outer.path().join("deep/kernels"), bound);
    assert_eq!(cache.trouble(), None);
    (outer, cache)
}

/// Bytes that differ from key to key.
fn value(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(31) ^ seed.wrapping_mul(97)) as u8).collect()
}

fn key(n: usize) -> CacheKey {
    CacheKey::of(&["kernel", &n.to_string()])
}

fn file(cache: &KernelCache, key: &CacheKey) -> PathBuf {
    cache.folder().unwrap().join(key.file_name())
}

#[test]
fn what_was_stored_is_loaded_by_whoever_comes_later() {
    let (_outer, cache) = cache(MIB);
    for (n, len) in [(0, 0), (1, 1), (2, 70_000)] {
        assert_eq!(cache.load(&key(n)), None);
        cache.store(&key(n), &value(n, len));
        assert_eq!(cache.load(&key(n)), Some(value(n, len)));
    }
    cache.store(&key(1), b"another");
    let later = KernelCache::at(cache.folder().unwrap(), MIB);
    assert_eq!(later.load(&key(1)).as_deref(), Some(&b"another"[..]));
    assert_eq!(later.contents().unwrap(), CacheSize { entries: 3, bytes: 3 * entry::HEADER + 7 + 70_000 });
    std::fs::write(cache.folder().unwrap().join("notes.txt"), "mine").unwrap();
    later.clear().unwrap();
    assert_eq!(cache.contents().unwrap().entries, 0);
    assert_eq!(cache.load(&key(2)), None);
    assert_eq!(
        std::fs::read_dir(cache.folder().unwrap()).unwrap().count(),
        1,
        "only what is not ours is left"
    );
}

#[test]
fn a_key_tells_apart_what_its_parts_tell_apart() {
    let keys =
        [&["ab", "c"][..], &["a", "bc"], &["abc"], &["ab", "c", ""], &["", "ab", "c"]].map(CacheKey::of);
    for (i, a) in keys.iter().enumerate() {
        assert!(keys[..i].iter().all(|b| a != b), "{a:?}");
    }
    assert_eq!(CacheKey::of(&["ab", "c"]), keys[0]);
}

#[test]
fn every_damaged_byte_and_every_cut_is_noticed() {
    let (_outer, cache) = cache(MIB);
    cache.store(&key(0), &value(0, 50));
    let path = file(&cache, &key(0));
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, bad).unwrap();
        assert_eq!(cache.load(&key(0)), None, "byte {at}");
        std::fs::write(&path, &good[..at]).unwrap();
        assert_eq!(cache.load(&key(0)), None, "cut to {at}");
    }
    std::fs::write(&path, [&good[..], b"more"].concat()).unwrap();
    assert_eq!(cache.load(&key(0)), None);
    // An entry under another's name.
    std::fs::write(file(&cache, &key(1)), &good).unwrap();
    assert_eq!(cache.load(&key(1)), None);
    // A length beyond any memory.
    let mut huge = good.clone();
    huge[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(&path, huge).unwrap();
    assert_eq!(cache.load(&key(0)), None);
    cache.store(&key(0), &value(0, 50));
    assert_eq!(std::fs::read(&path).unwrap(), good, "rebuilt");
}

#[test]
fn beyond_the_bound_the_longest_unused_goes_first() {
    let (_outer, cache) = cache(64 * 4096);
    let len = 4096 * 4 - entry::HEADER as usize;
    for n in 0..16 {
        cache.store(&key(n), &value(n, len));
        let used = SystemTime::now() - Duration::from_secs(1000 - n as u64);
        OpenOptions::new().write(true).open(file(&cache, &key(n))).unwrap().set_modified(used).unwrap();
    }
    assert_eq!(cache.contents().unwrap().entries, 16, "exactly full");
    assert_eq!(cache.load(&key(0)), Some(value(0, len)));
    cache.store(&key(16), &value(16, len));
    let left: Vec<usize> = (0..17).filter(|n| file(&cache, &key(*n)).exists()).collect();
    assert_eq!(left, [0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    // The tally was written anew: there is space for 16 blocks of 4096 bytes again, but not for more.
    for n in 20..24 {
        cache.store(&key(n), &value(n, len));
    }
    assert_eq!(cache.contents().unwrap().entries, 16);
    cache.store(&key(24), &value(24, len));
    assert_eq!(cache.contents().unwrap().entries, 12);
    cache.store(&key(25), &value(25, 40 * 4096));
    assert_eq!(cache.load(&key(25)), None, "larger than half of the bound");
    assert_eq!(cache.trouble(), None);
}

#[test]
fn abandoned_files_go_when_the_folder_is_trimmed() {
    let (_outer, cache) = cache(MIB);
    let unfinished = |name: &str| cache.folder().unwrap().join(name);
    for (name, hours) in [(".workalike-old.tmp", 2), (".workalike-fresh.tmp", 0)] {
        let used = SystemTime::now() - Duration::from_secs(3600 * hours);
        File::create(unfinished(name)).unwrap().set_modified(used).unwrap();
    }
    folder::trim(cache.folder().unwrap(), MIB).unwrap();
    assert!(!unfinished(".workalike-old.tmp").exists() && unfinished(".workalike-fresh.tmp").exists());
}

/// Stores and loads over a few keys; every value found must be complete.
fn hammer(cache: &KernelCache, seed: usize) {
    for round in 0..200 {
        let n = (round * 7 + seed * 3) % 12;
        let whole = value(n, 3000 + 1000 * n);
        if let Some(found) = cache.load(&key(n)) {
            assert!(found == whole, "{n}");
        }
        if (round + seed).is_multiple_of(3) {
            cache.store(&key(n), &whole);
        }
    }
    assert_eq!(cache.trouble(), None);
}

#[test]
fn many_threads_and_processes_share_a_folder() {
    // Small, so that entries are removed continually.
    let (_outer, cache) = cache(20 * 4096);
    let test = format!("{}::another_process", module_path!().split_once("::").unwrap().1);
    let mut others: Vec<_> = (0..3)
        .map(|seed| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &test, "--ignored", "--nocapture"])
                .env("WORKALIKE_TEST_FOLDER", cache.folder().unwrap())
                .env("WORKALIKE_TEST_SEED", seed.to_string())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for seed in 3..7 {
            let cache = &cache;
            scope.spawn(move || hammer(cache, seed));
        }
    });
    for other in &mut others {
        assert!(other.wait().unwrap().success());
    }
    assert!(cache.contents().unwrap().bytes <= 2 * 20 * 4096, "{:?}", cache.contents());
}

#[test]
#[ignore = "a part of many_threads_and_processes_share_a_folder"]
fn another_process() {
    let folder = std::env::var_os("WORKALIKE_TEST_FOLDER").unwrap();
    let seed = std::env::var("WORKALIKE_TEST_SEED").unwrap().parse().unwrap();
    hammer(&KernelCache::at(Path::new(&folder), 20 * 4096), seed);
}

#[test]
fn a_folder_that_cannot_be_is_told_once_and_done_without() {
    let outer = tempdir().unwrap();
    let file = outer.path().join("file");
    std::fs::write(&file, "").unwrap();
    for place in [file.join("kernels"), file.clone()] {
        let cache = KernelCache::at(&place, MIB);
        let trouble = cache.trouble().unwrap().to_string();
        assert!(trouble.contains(&place.display().to_string()) && trouble.contains(VARIABLE), "{trouble}");
        cache.store(&key(0), b"x");
        assert_eq!((cache.load(&key(0)), cache.trouble()), (None, Some(&trouble[..])));
        assert_eq!(cache.contents().unwrap().entries, 0);
    }
}

#[test]
fn a_folder_that_stops_taking_files_still_gives_them() {
    let (_outer, cache) = cache(MIB);
    cache.store(&key(0), b"kept");
    // A tally that no user can write stands for a full or read-only disk; it fails at the last step.
    let tally = cache.folder().unwrap().join("tally");
    std::fs::remove_file(&tally).unwrap();
    std::fs::create_dir(&tally).unwrap();
    cache.store(&key(1), b"more");
    assert!(cache.trouble().is_some());
    cache.store(&key(2), b"not tried any more");
    assert!(!file(&cache, &key(2)).exists());
    assert_eq!(cache.load(&key(0)).as_deref(), Some(&b"kept"[..]));
}

#[test]
fn a_folder_that_goes_away_is_made_again() {
    let (_outer, cache) = cache(MIB);
    std::fs::remove_dir_all(cache.folder().unwrap()).unwrap();
    assert_eq!((cache.load(&key(0)), cache.contents().unwrap().entries), (None, 0));
    cache.store(&key(0), b"x");
    assert_eq!((cache.load(&key(0)).as_deref(), cache.trouble()), (Some(&b"x"[..]), None));
}

#[cfg(unix)]
#[test]
fn the_folder_is_its_owners_alone_and_may_be_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_outer, cache) = cache(MIB);
    let folder = cache.folder().unwrap();
    let mode = || std::fs::metadata(folder).unwrap().permissions().mode() & 0o777;
    let set = |mode| std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(mode(), 0o700);
    cache.store(&key(0), b"kept");
    for (found, after) in [(0o777, 0o700), (0o755, 0o700), (0o500, 0o500)] {
        set(found);
        assert_eq!(KernelCache::at(folder, MIB).trouble(), None);
        assert_eq!(mode(), after, "{found:o}");
    }
    // Read-only now. Root can still write.
    let read_only = KernelCache::at(folder, MIB);
    let may = File::create(folder.join("probe")).is_ok();
    read_only.store(&key(1), b"new");
    assert_eq!(read_only.trouble().is_none(), may);
    assert_eq!(read_only.load(&key(1)).is_some(), may);
    assert_eq!(read_only.load(&key(0)).as_deref(), Some(&b"kept"[..]));
    set(0o700);
}

#[test]
fn the_environment_says_where() {
    let place = |set: &[(&str, &str)]| {
        let set: HashMap<_, _> = set.iter().map(|(k, v)| (k.to_string(), OsString::from(v))).collect();
        folder::place(|name| set.get(name).cloned())
    };
    assert_eq!(place(&[(VARIABLE, "off"), ("HOME", "/h")]), None);
    assert_eq!(place(&[(VARIABLE, "OFF")]), None);
    assert_eq!(place(&[(VARIABLE, "/c"), ("HOME", "/h")]), Some("/c/kernels".into()));
    assert_eq!(place(&[]), None, "nowhere to be");
    if cfg!(target_os = "linux") {
        assert_eq!(place(&[("HOME", "/h")]), Some("/h/.cache/workalike/kernels".into()));
        let xdg = |at| place(&[(VARIABLE, ""), ("XDG_CACHE_HOME", at), ("HOME", "/h")]);
        assert_eq!(xdg("/x"), Some("/x/workalike/kernels".into()));
        assert_eq!(xdg("relative"), Some("/h/.cache/workalike/kernels".into()));
    }
}

/// Changes an owner; false where only root may, and this is not root.
#[cfg(unix)]
fn give_away(path: &Path) -> bool {
    std::os::unix::fs::chown(path, Some(65534), None).is_ok()
}

#[cfg(unix)]
#[test]
fn a_folder_of_another_user_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (_outer, cache) = cache(MIB);
    cache.store(&key(0), b"forged");
    let folder = cache.folder().unwrap();
    if !give_away(folder) {
        println!("only root can give a folder away");
        return;
    }
    for mode in [0o700, 0o777] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
        let mine = KernelCache::at(folder, MIB);
        assert!(mine.trouble().unwrap().contains("belongs to user 65534"), "{:?}", mine.trouble());
        assert_eq!((mine.load(&key(0)), mine.folder()), (None, None));
        assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, mode, "left as it is");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_in_a_folder_that_others_can_write_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (outer, cache) = cache(MIB);
    let folder = cache.folder().unwrap();
    let parent = outer.path().join("deep");
    let set = |mode| std::fs::set_permissions(&parent, std::fs::Permissions::from_mode(mode)).unwrap();
    for (mode, used) in [(0o777, false), (0o1777, true), (0o775, true), (0o755, true)] {
        set(mode);
        let trouble = KernelCache::at(folder, MIB).trouble().map(str::to_string);
        assert_eq!(trouble.is_none(), used, "{mode:o}: {trouble:?}");
        assert!(trouble.is_none_or(|t| t.contains("others can write to")), "{mode:o}");
    }
}

#[cfg(unix)]
#[test]
fn entries_of_others_are_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (outer, cache) = cache(MIB);
    for n in 0..5 {
        cache.store(&key(n), b"value");
    }
    let set = |n, mode| {
        std::fs::set_permissions(file(&cache, &key(n)), std::fs::Permissions::from_mode(mode)).unwrap()
    };
    set(0, 0o644);
    assert!(cache.load(&key(0)).is_some());
    for mode in [0o622, 0o660, 0o666] {
        set(0, mode);
        assert_eq!(cache.load(&key(0)), None, "{mode:o}");
    }
    // A link to a file of this user.
    let (at, elsewhere) = (file(&cache, &key(1)), outer.path().join("elsewhere"));
    std::fs::rename(&at, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &at).unwrap();
    assert_eq!(cache.load(&key(1)), None);
    // A FIFO, for whose writer an ordinary open would wait.
    let at = file(&cache, &key(2));
    std::fs::remove_file(&at).unwrap();
    assert!(Command::new("mkfifo").arg(&at).status().unwrap().success());
    assert_eq!(cache.load(&key(2)), None);
    if give_away(&file(&cache, &key(3))) {
        assert_eq!(cache.load(&key(3)), None);
    }
    // The file that replaces it is this user's own.
    cache.store(&key(3), b"mine");
    assert_eq!(cache.load(&key(3)).as_deref(), Some(&b"mine"[..]));
    assert_eq!(cache.load(&key(4)).as_deref(), Some(&b"value"[..]));
}

#[cfg(unix)]
#[test]
fn the_tally_is_not_written_through_a_link() {
    let (outer, cache) = cache(MIB);
    let (tally, victim) = (cache.folder().unwrap().join("tally"), outer.path().join("victim"));
    std::fs::write(&victim, "untouched").unwrap();
    std::os::unix::fs::symlink(&victim, &tally).unwrap();
    cache.store(&key(0), b"value");
    assert!(cache.trouble().is_some());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
}
