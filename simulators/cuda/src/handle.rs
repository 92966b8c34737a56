//! The handles of the libraries for products, made when the first matrix product is planned.
//!
//! Making them and loading cuBLASLt's heuristics takes as long as compiling a few kernels, and does not
//! depend on the kernels. So a separate thread begins with it as soon as lowering asks for a product, and the
//! recording of a product waits for that thread. A Program without products makes no handles.

use crate::context::{Queue, lock};
use crate::matmul::{Plan, Products};
use crate::preflight;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use workalike_device::{DeviceError, DeviceResult};

/// Handles that are made on another thread.
pub(crate) struct LazyProducts {
    maker: Arc<Maker>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Maker {
    queue: Arc<Queue>,
    capture: Arc<Queue>,
    /// Held while the handles are made.
    made: Mutex<Option<Arc<Products>>>,
}

impl LazyProducts {
    /// For these streams; makes no handles yet.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> Arc<LazyProducts> {
        let maker = Maker { queue: queue.clone(), capture: capture.clone(), made: Mutex::new(None) };
        Arc::new(LazyProducts { maker: Arc::new(maker), thread: Mutex::new(None) })
    }

    /// Starts to make the handles on another thread, and to load the heuristics for a product. Returns at
    /// once; [`LazyProducts::get`] meets an error again and returns it.
    pub(crate) fn begin(&self, plan: Plan) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let maker = self.maker.clone();
            // A parked error stays for a call that can report it.
            let make = move || {
                if maker.queue.context.enter_drop() {
                    drop(maker.get(Some(&plan)));
                }
            };
            *thread = std::thread::Builder::new().name("workalike-products".into()).spawn(make).ok();
        }
    }

    /// The handles, made now if they are not made yet. The context must be current.
    pub(crate) fn get(&self) -> DeviceResult<Arc<Products>> {
        self.maker.get(None)
    }
}

impl Maker {
    /// The context must be current.
    fn get(&self, first: Option<&Plan>) -> DeviceResult<Arc<Products>> {
        let mut made = lock(&self.made);
        if let Some(products) = &*made {
            return Ok(products.clone());
        }
        let id = self.queue.id();
        preflight::products().map_err(|absent| DeviceError::Missing {
            device: id.into(),
            why: absent.why,
            help: absent.help,
        })?;
        let products = Arc::new(Products::new(&self.queue, &self.capture)?);
        if let Some(plan) = first {
            products.load_heuristics(plan);
        }
        Ok(made.insert(products).clone())
    }
}

impl Drop for LazyProducts {
    fn drop(&mut self) {
        // The thread must not be in a library when the process ends and the library is torn down.
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for LazyProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LazyProducts({})", self.maker.queue.id())
    }
}
