//! Outputs that are read in place, until the Simulator is used again.

use super::Simulator;
use crate::engine::storage::DeviceArray;
use crate::error::{Error, Result};
use crate::function::{ArgsIn, Function, IntoArgs, Outputs};
use crate::value::Value;
use std::marker::PhantomData;
use workalike_kernels::DType;

/// The outputs of a call in the Simulator's own scratch memory; made by [`Simulator::call_borrowed`].
#[derive(Debug)]
pub struct Borrowed<'s> {
    simulator: &'s Simulator,
    function: &'s Function,
    method: usize,
}

/// One of [`Borrowed`]'s outputs; an argument for another Simulator.
#[derive(Clone, Debug)]
pub struct BorrowedArray<'s> {
    pub(super) array: DeviceArray,
    of: PhantomData<&'s Simulator>,
}

impl Simulator {
    /// Calls the first method and lends its outputs in place: nothing is allocated, copied or waited for. The
    /// borrow must end before the Simulator is used again, which would overwrite the outputs; the compiler
    /// enforces this. A method in several [`contexts`](crate::engine::contexts) writes to memory that it
    /// keeps until its next such call, and waits if it has updates.
    ///
    /// An output can be read, or passed to another Simulator. A Simulator on the same stream of work, made
    /// with this one's device as its backend, reads it in place.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let mut double = function([&x]).output(&x * 2.0).compile()?.optimize(Host::auto())?;
    /// let mut total = function([&x]).output(x.sum(..)).compile()?.optimize(double.device().clone())?;
    /// let doubled = double.call_borrowed(args![vec![1f32, 2.0]])?;
    /// assert_eq!(doubled.to_value(0)?.to_vec::<f32>()?, [2.0, 4.0]);
    /// assert_eq!(total.call(args![doubled.array(0)?])?[0].item::<f32>()?, 6.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// The outputs cannot be kept:
    ///
    /// ```compile_fail,E0499
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let mut double = function([&x]).output(&x * 2.0).compile()?.optimize(Host::auto())?;
    /// let first = double.call_borrowed(args![vec![1f32]])?.array(0)?;
    /// let second = double.call_borrowed(args![vec![2f32]])?.array(0)?;
    /// assert_ne!(first.to_value()?, second.to_value()?);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call_borrowed<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Borrowed<'_>> {
        self.call_borrowed_at(0, args.into_args())
    }

    pub(super) fn call_borrowed_at(&mut self, called: usize, args: ArgsIn<'_>) -> Result<Borrowed<'_>> {
        let method = self.run(called, args)?;
        Ok(Borrowed { simulator: self, function: &self.methods[called].function, method })
    }
}

impl<'s> Borrowed<'s> {
    /// Number of outputs.
    pub fn len(&self) -> usize {
        self.simulator.executor.output_count(self.method)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An output in place.
    ///
    /// # Errors
    /// If there is no such output.
    pub fn array(&self, position: usize) -> Result<BorrowedArray<'s>> {
        self.check(position)?;
        let array = self.simulator.executor.output_view(self.method, position)?;
        Ok(BorrowedArray { array, of: PhantomData })
    }

    /// An output on the host; waits for the device.
    ///
    /// # Errors
    /// If there is no such output, the device fails, or an index was out of range.
    pub fn to_value(&self, position: usize) -> Result<Value> {
        self.check(position)?;
        self.simulator.executor.output(self.method, position)
    }

    /// The outputs that are not marked with [`Out::borrow`](crate::function::Out::borrow), in order, on the
    /// host; waits for the device.
    ///
    /// # Errors
    /// If the device fails, or an index was out of range.
    pub fn outputs(&self) -> Result<Outputs> {
        let borrowed = self.function.borrowed_outputs();
        let owned: Vec<usize> = (0..self.len()).filter(|at| !borrowed.contains(at)).collect();
        let values = owned.iter().map(|&at| self.to_value(at)).collect::<Result<_>>()?;
        Ok(self.function.chosen_outputs(&owned, values))
    }

    fn check(&self, position: usize) -> Result<()> {
        if position < self.len() {
            return Ok(());
        }
        Err(Error::mismatch("output", format!("a position below {}", self.len()), position.to_string()))
    }
}

impl BorrowedArray<'_> {
    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// A copy on the host; waits for the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_value(&self) -> Result<Value> {
        self.array.to_value()
    }
}
