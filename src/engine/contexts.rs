//! Contexts: one Function on several devices, each of which has a name.
//!
//! A Function says where values live by hints: [`SharedVariable::on`](crate::graph::SharedVariable::on) and
//! [`transfer`](crate::ops::transfer). [`contexts`] names the devices, when the Function is re-hosted. A node
//! runs where the first of its operands lives that lives somewhere; other operands are transferred. The
//! result is a [`Simulator`]. It cuts each method into stages, each of which runs on one device; stages that
//! do not depend on each other run at once. A method whose nodes are all on one device runs there as a whole.

use super::Backend;
use super::executor::OpenContext;
use super::simulator::Simulator;
use crate::error::{Error, Result};
use crate::function::Function;
use workalike_device::Open;

/// Devices by name, for [`Function::optimize`]: made by [`contexts`].
#[derive(Debug)]
pub struct Contexts<O> {
    list: Vec<(String, O)>,
}

/// Names devices as the contexts of a Function: Theano's `contexts=dev0->cuda0;dev1->cuda1`. The first one
/// holds what has no hint. Devices of several types are boxed: `Box<dyn Open>`.
///
/// ```
/// use workalike::prelude::*;
/// let x = matrix::<f32>("x");
/// let (v, w) = (shared("v", array![[1f32, 2.0]]), shared("w", array![[3f32], [4.0]]).on("dev1"));
/// let h = x.dot(&v); // on dev0, like v
/// let y = transfer(h, "dev1").dot(&w); // on dev1
/// let f = function([&x]).output(&y).update(&w, &*w + 1.0).compile()?;
/// let devices: [Box<dyn Open>; 2] = [Box::new(Host::auto()), Box::new(Host::threads(1))];
/// let mut sim = f.optimize(contexts(["dev0", "dev1"].into_iter().zip(devices)))?;
/// assert_eq!(sim.call(args![array![[10f32]]])?[0].to_vec::<f32>()?, [110.0]);
/// assert_eq!(sim.get_value("w")?.to_vec::<f32>()?, [4.0, 5.0]);
/// assert_eq!(sim.context_of("w")?, "dev1");
/// sim.sync_to_parent()?;
/// assert_eq!(w.get_value()?.to_vec::<f32>()?, [4.0, 5.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn contexts<'n, O: Open>(devices: impl IntoIterator<Item = (&'n str, O)>) -> Contexts<O> {
    Contexts { list: devices.into_iter().map(|(name, device)| (name.into(), device)).collect() }
}

impl<O: Open> Backend for Contexts<O> {
    type Simulator = Simulator;

    /// # Errors
    /// If there are no contexts, two have one name, a device is missing, or the Function names a context that
    /// is not among them.
    fn optimize(&self, function: &Function) -> Result<Simulator> {
        let mut open: Vec<OpenContext> = Vec::with_capacity(self.list.len());
        for (name, device) in &self.list {
            if open.iter().any(|known| known.name.as_ref() == Some(name)) {
                return Err(Error::mismatch("contexts", "names that differ", format!("{name} twice")));
            }
            let (name, options) = (Some(name.clone()), device.options());
            open.push(OpenContext { name, device: device.open()?, options });
        }
        if open.is_empty() {
            return Err(Error::mismatch("contexts", "at least one device", "none"));
        }
        Simulator::over(open, function)
    }
}
