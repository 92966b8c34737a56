//! Compiled programs that threads share, each built once.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A program that is built, or will be.
type Place<P> = Arc<Mutex<Option<Arc<P>>>>;

/// Programs by what they are built from. While one thread builds a program, other threads wait for it if they
/// need the same one, and go on otherwise.
#[derive(Debug)]
pub struct Builds<K, P> {
    places: Mutex<HashMap<K, Place<P>>>,
}

impl<K, P> Default for Builds<K, P> {
    fn default() -> Builds<K, P> {
        Builds { places: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A build that panicked has left its place empty.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Eq + Hash, P> Builds<K, P> {
    /// The program of a key, built now if it is not there.
    ///
    /// # Errors
    /// Those of `build`; the next call builds again.
    pub fn get<E>(&self, key: K, build: impl FnOnce() -> Result<Arc<P>, E>) -> Result<Arc<P>, E> {
        let place = lock(&self.places).entry(key).or_default().clone();
        let mut place = lock(&place);
        match &*place {
            Some(program) => Ok(program.clone()),
            None => Ok(place.insert(build()?).clone()),
        }
    }

    /// Whether a program of this key is there or under construction.
    pub fn has(&self, key: &K) -> bool {
        lock(&self.places).contains_key(key)
    }

    /// Number of programs, including those under construction.
    pub fn count(&self) -> usize {
        lock(&self.places).len()
    }

    /// Drops the programs of these keys that are not in use or under construction.
    pub fn forget_unused(&self, of: impl Fn(&K) -> bool) {
        let in_use = |place: &Place<P>| {
            // A second owner of the place builds the program, or waits for it.
            Arc::strong_count(place) > 1
                || lock(place).as_ref().is_some_and(|program| Arc::strong_count(program) > 1)
        };
        lock(&self.places).retain(|key, place| !of(key) || in_use(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn each_is_built_once() {
        let builds = Builds::default();
        let built = Mutex::new(0);
        let build = || {
            *lock(&built) += 1;
            Ok::<_, ()>(Arc::new(7))
        };
        thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| assert_eq!(builds.get("a", build), Ok(Arc::new(7))))));
        });
        assert_eq!((*lock(&built), builds.count(), builds.has(&"a"), builds.has(&"b")), (1, 1, true, false));
    }

    #[test]
    fn others_do_not_wait_for_a_build() {
        let builds = &Builds::default();
        let ((began, wait_begun), (finish, wait_finish)) = (channel(), channel::<()>());
        thread::scope(|scope| {
            let slow = scope.spawn(move || {
                builds.get("slow", || {
                    began.send(()).unwrap();
                    wait_finish.recv().unwrap();
                    Ok::<_, ()>(Arc::new(1))
                })
            });
            wait_begun.recv().unwrap();
            assert_eq!(builds.get("other", || Ok::<_, ()>(Arc::new(2))), Ok(Arc::new(2)));
            // A program that is being built is not forgotten.
            builds.forget_unused(|_| true);
            assert_eq!(builds.count(), 1);
            finish.send(()).unwrap();
            assert_eq!(slow.join().unwrap(), Ok(Arc::new(1)));
        });
    }

    #[test]
    fn failures_are_built_again_and_unused_programs_forgotten() {
        let builds = Builds::default();
        assert_eq!(builds.get(1, || Err("no")), Err("no"));
        let used = builds.get(1, || Ok::<_, &str>(Arc::new("one"))).unwrap();
        builds.get(2, || Ok::<_, &str>(Arc::new("two"))).unwrap();
        builds.get(3, || Ok::<_, &str>(Arc::new("three"))).unwrap();
        builds.forget_unused(|key| *key < 3);
        assert_eq!(builds.count(), 2);
        assert_eq!(builds.get(1, || Err("built again")), Ok(used));
        assert_eq!(builds.get(2, || Err("built again")), Err("built again"));
    }
}
