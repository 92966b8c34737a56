//! Which line of the user's source an expression is attributed to.
//!
//! A public function enters a scope with its caller's line. Everything that it builds on the way, in
//! closures, helpers and further public functions, is attributed to that line: `#[track_caller]` alone ends
//! at the first closure.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// Where in the user's source an expression was written: a line of a Rust program, or of a program in another
/// language that calls this library.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place(SourceLine);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SourceLine {
    Rust(&'static Location<'static>),
    Foreign { file: &'static str, line: u32 },
}

/// The names of files of foreign places. Each is kept once, as long as the process runs.
static FILES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

impl Place {
    /// A line, from 1 on, of a program in another language. Names of files are never freed.
    pub fn foreign(file: &str, line: u32) -> Place {
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.get_or_insert_with(HashSet::new);
        let file = files.get(file).copied().unwrap_or_else(|| {
            let kept: &'static str = Box::leak(file.into());
            files.insert(kept);
            kept
        });
        Place(SourceLine::Foreign { file, line })
    }

    /// The file.
    pub fn file(&self) -> &'static str {
        match self.0 {
            SourceLine::Rust(location) => location.file(),
            SourceLine::Foreign { file, .. } => file,
        }
    }

    /// The line, from 1 on.
    pub fn line(&self) -> u32 {
        match self.0 {
            SourceLine::Rust(location) => location.line(),
            SourceLine::Foreign { line, .. } => line,
        }
    }
}

/// `FILE:LINE:COLUMN`; of a foreign place `FILE:LINE`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SourceLine::Rust(location) => fmt::Display::fmt(location, f),
            SourceLine::Foreign { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Attributes the expressions that `build` makes to a place: for bindings of this library to other languages.
///
/// ```
/// use workalike::graph::{Place, written_at};
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let wrong = written_at(Place::foreign("model.py", 7), || x.sum(3));
/// let error = function([&x]).output(wrong).compile().unwrap_err().to_string();
/// assert!(error.contains("written at model.py:7"));
/// ```
pub fn written_at<T>(place: Place, build: impl FnOnce() -> T) -> T {
    let _scope = enter_at(place);
    build()
}

thread_local! {
    /// The line of the outermost public call under way on this thread.
    static CURRENT: Cell<Option<Place>> = const { Cell::new(None) };
}

/// Ends when it is dropped, which must be on the thread that made it.
#[must_use]
pub(crate) struct PlaceScope {
    before: Option<Place>,
    same_thread: PhantomData<*const ()>,
}

impl PlaceScope {
    fn set(place: Option<Place>) -> PlaceScope {
        PlaceScope { before: CURRENT.replace(place), same_thread: PhantomData }
    }
}

impl Drop for PlaceScope {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Attributes what follows to the caller, unless a public call is under way already.
#[track_caller]
pub(crate) fn enter() -> PlaceScope {
    PlaceScope::set(Some(here()))
}

/// Attributes what follows to `place`, whatever call is under way: nodes that replace or differentiate one
/// that was written there.
pub(crate) fn enter_at(place: Place) -> PlaceScope {
    PlaceScope::set(Some(place))
}

/// For a closure of the user's within a public call: its own lines count.
pub(crate) fn leave() -> PlaceScope {
    PlaceScope::set(None)
}

/// The line to attribute an expression to.
#[track_caller]
pub(crate) fn here() -> Place {
    CURRENT.get().unwrap_or(Place(SourceLine::Rust(Location::caller())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_kept_once() {
        let [one, other] = [Place::foreign("a.py", 3), Place::foreign("a.py", 3)];
        assert_eq!(one, other);
        assert!(std::ptr::eq(one.file(), other.file()));
        assert!(one != Place::foreign("a.py", 4) && one != Place::foreign("b.py", 3));
        assert_eq!(one.to_string(), "a.py:3");
    }

    #[test]
    fn the_outermost_call_counts_and_scopes_end() {
        let [first, second] = ["first", "second"].map(|file| Place::foreign(file, 1));
        let outer = enter_at(first);
        {
            let _inner = enter();
            assert_eq!(here(), first);
            let _closure = leave();
            assert_eq!(here().line(), line!());
            let _other = enter_at(second);
            assert_eq!(here(), second);
        }
        assert_eq!(here(), first);
        drop(outer);
        assert_eq!(here().line(), line!());
    }
}
