//! Checks of the owners and permissions of the cache's files. A user who can write to the cache can make this
//! user run machine code, so only this user and root are trusted.

use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Do not follow a link, and do not wait for the other end of a pipe.
pub(super) const OPEN_FLAGS: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits() as i32;

const GROUP_OR_OTHERS_WRITE: u32 = 0o022;
const OTHERS_WRITE: u32 = 0o002;
/// In a sticky folder only the owner of a file can remove or rename it.
const STICKY: u32 = 0o1000;

fn refuse(message: String) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

fn is_mine(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// Checks that a file belongs to this user or to root.
fn check_owner(found: &Metadata) -> io::Result<()> {
    let (owner, user) = (found.uid(), geteuid().as_raw());
    if owner == user || owner == 0 {
        return Ok(());
    }
    refuse(format!("it belongs to user {owner}, and what lies in it would be run by user {user}"))
}

/// Checks the folder. If it is this user's own, removes the permissions of its group and others.
pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    check_owner(&found)?;
    let mode = found.mode();
    if is_mine(&found) {
        if mode & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o700))?;
        }
    } else if mode & GROUP_OR_OTHERS_WRITE != 0 {
        return refuse(format!("others than its owner can write to it (mode {:o})", mode & 0o7777));
    }
    let folder = fs::canonicalize(folder)?;
    folder.ancestors().skip(1).try_for_each(check_parent)
}

/// Checks that other users cannot replace the files in a parent folder. A folder of this user may be writable
/// by its group, in which on many systems the user is alone.
fn check_parent(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let writers = if is_mine(&found) { OTHERS_WRITE } else { GROUP_OR_OTHERS_WRITE };
    if found.mode() & writers != 0 && found.mode() & STICKY == 0 {
        let mode = found.mode() & 0o7777;
        return refuse(format!("others can write to {}, in which it lies (mode {mode:o})", folder.display()));
    }
    Ok(())
}

/// Checks the owner and permissions of an open file.
pub(super) fn check_file(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    check_owner(&found)?;
    if found.mode() & GROUP_OR_OTHERS_WRITE != 0 {
        return refuse(format!("others than its owner can write to it (mode {:o})", found.mode() & 0o7777));
    }
    Ok(())
}
