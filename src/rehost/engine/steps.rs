//! Steps: a method run many times without coming back to the host.

use super::super::device::Region;
use super::Engine;
use super::array::{DeviceArray, Fed};
use crate::error::Result;

impl Engine {
    /// `n` calls; inputs with a sequence get its slice of the step, the others stay. `each_step` sees the Program after every step.
    pub(crate) fn run_n(
        &mut self,
        method: usize,
        n: u64,
        constant: &[Fed],
        each: &[(usize, Fed)],
        mut each_step: impl FnMut(&mut Engine, usize, u64) -> Result<()>,
    ) -> Result<Option<usize>> {
        let mut sequences = Vec::new();
        for (input, sequence) in each {
            let array = self.on_device(sequence)?;
            let shape: Vec<usize> = array.shape[1..].to_vec();
            let bytes = shape.iter().product::<usize>() as u64 * array.dtype.size() as u64;
            sequences.push((*input, array, shape, bytes));
        }
        let mut current = None;
        for step in 0..n {
            let mut fed = constant.to_vec();
            for (input, array, shape, bytes) in &sequences {
                let region = Region {
                    offset: array.region.offset + step * bytes,
                    bytes: *bytes,
                    ..array.region.clone()
                };
                fed[*input] = Fed::Device(DeviceArray { region, shape: shape.clone(), ..array.clone() });
            }
            let dynamic = !self.methods[method].demand.is_static();
            let at = match current {
                Some(at) if !dynamic && self.is_recorded(method, at) => at,
                _ => {
                    let at = self.planned(method, &fed)?;
                    self.record(method, at)?;
                    self.feed(method, at, &fed, None)?;
                    at
                }
            };
            if current == Some(at) && !dynamic {
                for (input, ..) in &sequences {
                    self.feed(method, at, &fed, Some(*input))?;
                }
            }
            self.replay(method, at)?;
            each_step(self, at, step)?;
            current = Some(at);
        }
        Ok(current)
    }

    fn on_device(&self, fed: &Fed) -> Result<DeviceArray> {
        match fed {
            Fed::Device(array) => Ok(array.clone()),
            Fed::Host(value) => self.upload(value),
        }
    }
}
