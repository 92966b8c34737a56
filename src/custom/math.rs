//! Arithmetic on arrays of a device, by expressions that are compiled once.

use crate::engine::{DeviceArray, Simulator};
use crate::error::{Error, Result};
use crate::function::{Args, function};
use crate::graph::{Def, FunctionGraph, TensorType, Variable};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use workalike_device::{Device, Options};

/// Expressions that are kept; beyond it all are dropped.
const MOST: usize = 256;

/// Arithmetic on [`DeviceArray`]s: NumPy-like, eager, on the arrays' stream. An expression is compiled for
/// dtypes, ranks and shapes when they are new; equal expressions are compiled once.
///
/// ```
/// use workalike::custom::DeviceMath;
/// use workalike::prelude::*;
/// let device = Host::auto().open()?;
/// let math = DeviceMath::new(&device);
/// let x = DeviceArray::upload(&device, vec![3f32, 5.0])?;
/// let y = DeviceArray::upload(&device, vec![4f32, 12.0])?;
/// let [r] = math.map([&x, &y], |[x, y]| [(x.sqr() + y.sqr()).sqrt()])?;
/// assert_eq!(r.to_value()?.to_vec::<f32>()?, [5.0, 13.0]);
/// let [most, at] = math.map([&r], |[r]| [r.max(0), r.argmax(0)])?;
/// assert_eq!((most.to_value()?.item::<f32>()?, at.to_value()?.item::<i64>()?), (13.0, 1));
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceMath {
    device: Arc<dyn Device>,
    known: Mutex<HashMap<String, Simulator>>,
}

impl DeviceMath {
    /// Arithmetic on a device.
    pub fn new(device: &Arc<dyn Device>) -> DeviceMath {
        DeviceMath { device: device.clone(), known: Mutex::default() }
    }

    /// The device.
    pub(super) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The values of expressions, as new arrays. `expressions` gets a Variable for each array. An array of
    /// another stream or device is copied through the host.
    ///
    /// # Errors
    /// If an expression is ill-typed or reads a shared variable, shapes do not fit, or the device fails.
    pub fn map<const N: usize, const M: usize>(
        &self,
        arrays: [&DeviceArray; N],
        expressions: impl FnOnce([Variable; N]) -> [Variable; M],
    ) -> Result<[DeviceArray; M]> {
        let inputs: [Variable; N] = std::array::from_fn(|at| {
            let ty = TensorType::of_rank(arrays[at].dtype(), arrays[at].shape().len());
            Variable::input(&format!("x{at}"), ty)
        });
        let outputs = expressions(inputs.clone());
        let key = key(&inputs, &outputs)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            known.clear();
        }
        let simulator = match known.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(none) => {
                let built = function(inputs).outputs(outputs).allow_unused_inputs().compile()?;
                none.insert(Simulator::new(&built, self.device.clone(), Options::default())?)
            }
        };
        let args = arrays.iter().fold(Args::new(), |args, array| args.with(*array));
        let results = simulator.call_device(args)?;
        results.try_into().map_err(|_| Error::Internal("another number of results".into()))
    }
}

/// What the expressions are: equal for equal ones.
fn key(inputs: &[Variable], outputs: &[Variable]) -> Result<String> {
    let (graph, cells) = FunctionGraph::import(inputs, outputs, &[])?;
    if let Some(cell) = cells.first() {
        let message = format!("it reads shared variable {}: give its value as an array", cell.name());
        return Err(Error::Compile(message));
    }
    let mut key = String::new();
    for var in &graph.vars {
        // Writing to a String cannot fail.
        let _ = match &var.def {
            Def::Constant(value) => write!(
                key,
                "{}{:?}{:?};",
                value.dtype(),
                value.shape(),
                value.contiguous()?.contiguous_bytes()
            ),
            Def::Input(at) => write!(key, "{at}:{};", var.ty),
            Def::Shared(_) | Def::Output { .. } => write!(key, ";"),
        };
    }
    for node in &graph.nodes {
        let (op, inputs) = (&node.op, &node.inputs);
        let _ = write!(key, "{} {} {:?} {inputs:?};", op.id(), op.version(), op.attributes());
    }
    let _ = write!(key, "{:?}", graph.outputs);
    Ok(key)
}
