//! A library that is opened at its first use.

use super::{Streams, VendorLibrary};
use crate::context::lock;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use workalike_device::{DeviceError, DeviceResult};

/// A library of a device object, which one thread at a time uses. A Program that needs no library opens none.
pub(super) struct Lazy<L> {
    streams: Streams,
    /// Locked while the library is opened or used.
    library: Arc<Mutex<Option<L>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<L: VendorLibrary> Lazy<L> {
    pub(super) fn new(streams: &Streams) -> Lazy<L> {
        Lazy { streams: streams.clone(), library: Arc::default(), thread: Mutex::new(None) }
    }

    /// Calls `then` with the library, which is opened if it is not open. The context must be current.
    ///
    /// # Errors
    /// If the library is not installed or does not open.
    pub(super) fn with<T>(&self, then: impl FnOnce(&mut L) -> T) -> DeviceResult<T> {
        opened(&self.streams, &mut lock(&self.library), then)
    }

    /// Calls `then` with the library, which is open: a capture may not open it.
    pub(super) fn opened<T>(&self, then: impl FnOnce(&mut L) -> DeviceResult<T>) -> DeviceResult<T> {
        let mut library = lock(&self.library);
        let Some(library) = &mut *library else {
            return Err(DeviceError::driver(self.streams.queue.id(), "record", "a library that is not open"));
        };
        then(library)
    }

    /// Opens the library and calls `then` with it on another thread, at the first of such calls, unless it is
    /// open then. Opening takes as long as compiling a few kernels, which go on meanwhile. Returns at once;
    /// [`Lazy::with`] waits for that thread; if opening failed, it tries again and returns the error.
    pub(super) fn begin(&self, then: impl FnOnce(&mut L) + Send + 'static) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let (streams, library) = (self.streams.clone(), self.library.clone());
            let open = move || {
                let mut library = lock(&library);
                // A capture may be waiting for a library that is open, so the locks that opening and `then`
                // take may not be taken. A parked error stays for a call that can report it.
                if library.is_none() && streams.queue.context.enter_drop() {
                    drop(opened(&streams, &mut library, then));
                }
            };
            *thread = std::thread::Builder::new().name("workalike-library".into()).spawn(open).ok();
        }
    }
}

fn opened<L: VendorLibrary, T>(
    streams: &Streams,
    library: &mut Option<L>,
    then: impl FnOnce(&mut L) -> T,
) -> DeviceResult<T> {
    if let Some(library) = library {
        return Ok(then(library));
    }
    L::installed().map_err(|absent| absent.on(streams.queue.id()))?;
    Ok(then(library.insert(L::open(streams)?)))
}

impl<L> Drop for Lazy<L> {
    fn drop(&mut self) {
        // The thread must not be in a library when the process ends and the library is torn down.
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}
