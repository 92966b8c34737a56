//! The cuBLAS handle of a device object, made when the first matrix product is planned.
//!
//! Making one takes as long as compiling a few kernels, and needs nothing of them: so it is begun on a thread of its own as
//! soon as lowering asks for a product, and whoever records one waits for the rest. A Program without products never makes one.

use crate::context::{Queue, lock};
use crate::matmul::Blas;
use crate::preflight;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use workalike::error::DeviceError;
use workalike::rehost::device::DeviceResult;

/// A handle that may not be made yet.
pub(crate) struct LazyBlas {
    maker: Arc<Maker>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Maker {
    queue: Arc<Queue>,
    capture: Arc<Queue>,
    /// Held while it is made.
    made: Mutex<Option<Arc<Blas>>>,
}

impl LazyBlas {
    /// None yet, for these streams.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> Arc<LazyBlas> {
        let maker = Maker { queue: queue.clone(), capture: capture.clone(), made: Mutex::new(None) };
        Arc::new(LazyBlas { maker: Arc::new(maker), thread: Mutex::new(None) })
    }

    /// Has it made meanwhile. Returns at once; what goes wrong is met again, and told, by [`LazyBlas::get`].
    pub(crate) fn begin(&self) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let maker = self.maker.clone();
            // An error parked by a Drop is not for this thread to find.
            let make = move || {
                if maker.queue.context.enter_drop() {
                    drop(maker.get());
                }
            };
            *thread = std::thread::Builder::new().name("workalike-cublas".into()).spawn(make).ok();
        }
    }

    /// The handle, made now if it is not. The context must be current.
    pub(crate) fn get(&self) -> DeviceResult<Arc<Blas>> {
        self.maker.get()
    }
}

impl Maker {
    /// The context must be current.
    fn get(&self) -> DeviceResult<Arc<Blas>> {
        let mut made = lock(&self.made);
        if let Some(blas) = &*made {
            return Ok(blas.clone());
        }
        let id = self.queue.id();
        preflight::cublas().map_err(|absent| DeviceError::Missing {
            device: id.into(),
            why: absent.why,
            help: absent.help,
        })?;
        Ok(made.insert(Arc::new(Blas::new(&self.queue, &self.capture)?)).clone())
    }
}

impl Drop for LazyBlas {
    fn drop(&mut self) {
        // The thread must not be in cuBLAS when the process ends and the library is torn down.
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for LazyBlas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LazyBlas({})", self.maker.queue.id())
    }
}
