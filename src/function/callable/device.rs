//! Calls of a Function on a device that is not the embedded one. Shared variables are the program's: a call
//! uploads those that changed since the last one, and copies back what it updates.

use super::Function;
use crate::engine::{Engine, StateBinding};
use crate::error::{Error, Result};
use crate::graph::{LockedCells, NewValue};
use std::sync::Arc;
use workalike_device::{Device, Open, Options};

/// Where calls of a Function run.
#[derive(Clone, Debug)]
pub(crate) struct CallDevice {
    device: Arc<dyn Device>,
    options: Options,
}

impl Function {
    /// The same Function over the same shared variables, with calls on a device instead of the embedded host
    /// device: Theano's `device` flag, for programs that keep calling their Functions. A file does not hold
    /// the device.
    ///
    /// Shared variables stay the program's: a call uploads those that have changed since the last one, and
    /// copies what it updates back before it returns. A loop over state is faster in a [`Simulator`], where
    /// the state stays on the device ([`Function::optimize`]), or in one [`Function::run_n`].
    ///
    /// [`Simulator`]: crate::engine::Simulator
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let w = shared("w", 1f32);
    /// let f = function([] as [&Variable; 0]).output(&w).update(&w, &w * 2f32).compile()?;
    /// let f = f.on_device(device("auto")?)?;
    /// f.call(args![])?;
    /// w.set_value(w.get_value()?.item::<f32>()? + 3.0)?;
    /// assert_eq!(f.call(args![])?[0].item::<f32>()?, 5.0);
    /// assert_eq!(w.get_value()?.item::<f32>()?, 10.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device is missing. What it cannot run is an error of the call.
    pub fn on_device(&self, device: impl Open) -> Result<Function> {
        let device = CallDevice { device: device.open()?, options: device.options() };
        let options = super::CallOptions { device: Some(device), ..self.options().clone() };
        Ok(self.with_options(options))
    }

    /// Runs on the Function's own device; see `Function::on_engine`. If the device fails, the shared
    /// variables keep their values.
    pub(super) fn on_own_device<T>(
        &self,
        CallDevice { device, options }: &CallDevice,
        place: &mut Option<Engine>,
        cells: &mut LockedCells<'_>,
        work: impl FnOnce(&mut Engine) -> (Result<T>, bool),
    ) -> Result<T> {
        let engine = match place {
            Some(engine) => engine,
            none => {
                let mut engine = Engine::new(device.clone(), *options);
                for (position, cell) in self.cells().iter().enumerate() {
                    let binding = StateBinding { name: cell.name().into(), ty: cell.ty().clone() };
                    engine.add_state(binding, &cells.read(position)?)?;
                    engine.hold_version(position, Some(cells.version(position)));
                }
                engine.add_method(self.name(), self.graph().clone(), (0..self.cells().len()).collect());
                none.insert(engine)
            }
        };
        for position in 0..self.cells().len() {
            let version = Some(cells.version(position));
            if engine.version_held(position) != version {
                engine.write_state(position, &cells.read(position)?)?;
                engine.hold_version(position, version);
            }
        }
        let updated: Vec<usize> = engine.updated(0).collect();
        // Until their values are back.
        updated.iter().for_each(|&position| engine.hold_version(position, None));
        let (outcome, changed) = work(engine);
        if outcome.as_ref().is_err_and(Error::may_change_state) {
            return outcome;
        }
        if changed {
            let value = |&position: &usize| Ok((position, NewValue::of(&engine.read_state(position)?)?));
            cells.publish(updated.iter().map(value).collect::<Result<_>>()?)?;
        }
        updated.iter().for_each(|&position| engine.hold_version(position, Some(cells.version(position))));
        outcome
    }
}
