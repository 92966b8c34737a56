//! Which line of the user's source an expression is attributed to.
//!
//! A public function enters a scope with its caller's line. Everything that it builds on the way, in
//! closures, helpers and further public functions, is attributed to that line: `#[track_caller]` alone ends
//! at the first closure.

use crate::error::Place;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;

thread_local! {
    /// The line of the outermost public call under way on this thread.
    static CURRENT: Cell<Option<Place>> = const { Cell::new(None) };
}

/// Ends when it is dropped, which must be on the thread that made it.
#[must_use]
pub(crate) struct Scope {
    before: Option<Place>,
    same_thread: PhantomData<*const ()>,
}

impl Scope {
    fn set(place: Option<Place>) -> Scope {
        Scope { before: CURRENT.replace(place), same_thread: PhantomData }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Attributes what follows to the caller, unless a public call is under way already.
#[track_caller]
pub(crate) fn enter() -> Scope {
    Scope::set(Some(here()))
}

/// Attributes what follows to `place`, whatever call is under way: nodes that replace or differentiate one
/// that was written there.
pub(crate) fn enter_at(place: Place) -> Scope {
    Scope::set(Some(place))
}

/// For a closure of the user's within a public call: its own lines count.
pub(crate) fn leave() -> Scope {
    Scope::set(None)
}

/// The line to attribute an expression to.
#[track_caller]
pub(crate) fn here() -> Place {
    CURRENT.get().unwrap_or(Location::caller())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_call_counts_and_scopes_end() {
        let (first, second) = (Location::caller(), Location::caller());
        let outer = enter_at(first);
        {
            let _inner = enter();
            assert!(std::ptr::eq(here(), first));
            let _closure = leave();
            assert_eq!(here().line(), line!());
            let _other = enter_at(second);
            assert!(std::ptr::eq(here(), second));
        }
        assert!(std::ptr::eq(here(), first));
        drop(outer);
        assert_eq!(here().line(), line!());
    }
}
