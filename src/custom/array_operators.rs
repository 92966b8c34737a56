//! Arithmetic on arrays of a device by operators and methods, as PyCUDA's `GPUArray` and CuPy have it.

use super::math::DeviceMath;
use crate::engine::DeviceArray;
use crate::error::Result;
use crate::graph::{IntoOperand, Variable};
use crate::ops::{Axes, elementwise};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::rc::Rc;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::ops::{self as scalar, ScalarOp};

/// Devices whose expressions a thread keeps compiled.
const KEPT: usize = 2;

thread_local! {
    /// The devices that the thread used last, and what it computed on them.
    static RECENT: RefCell<Vec<Rc<DeviceMath>>> = const { RefCell::new(vec![]) };
}

/// The arithmetic of an array's device.
fn math_of(array: &DeviceArray) -> Rc<DeviceMath> {
    let new = || Rc::new(DeviceMath::new(array.device()));
    let found = RECENT.try_with(|place| {
        // Taken out, because what is dropped here may be an owner whose code computes too.
        let mut recent = place.take();
        let at = recent.iter().position(|math| Arc::ptr_eq(math.device(), array.device()));
        let math = at.map_or_else(new, |at| recent.remove(at));
        recent.insert(0, math.clone());
        recent.truncate(KEPT);
        place.replace(recent);
        math
    });
    // A thread that ends keeps nothing any more.
    found.unwrap_or_else(|_| new())
}

/// Eager arithmetic. Operators take another array, which broadcasts, or a number, which takes the array's
/// dtype where NumPy's would: `&x + &y`, `&x * 2.0`, `-&x`. All results are new arrays, or errors: `(&x *
/// 2.0)?`. Each expression is compiled when it is new to the thread, and kept for the two devices that it
/// used last; chains of operators are faster as one [`map`](DeviceArray::map).
///
/// ```
/// use workalike::prelude::*;
/// let device = Host::auto().open()?;
/// let x = DeviceArray::upload(&device, array![[1f32, 2.0], [3.0, 4.0]])?;
/// let y = (&(&x * 2.0)? - &x)?;
/// assert_eq!(y.to_value()?, x.to_value()?);
/// assert_eq!(x.sum(0)?.to_value()?.to_vec::<f32>()?, [4.0, 6.0]);
/// assert_eq!(x.max(..)?.to_value()?.item::<f32>()?, 4.0);
/// assert_eq!(x.cast(DType::I32)?.dtype(), DType::I32);
/// let norm = x.map(|x| x.sqr().sum(..).sqrt())?;
/// assert_eq!(norm.to_value()?.item::<f32>()?, 30f32.sqrt());
/// # Ok::<(), workalike::Error>(())
/// ```
impl DeviceArray {
    /// What an expression makes of it, as a new array on the same device.
    ///
    /// # Errors
    /// If the expression is ill-typed or reads a shared variable, or the device fails.
    pub fn map(&self, expression: impl FnOnce(&Variable) -> Variable) -> Result<DeviceArray> {
        let [result] = math_of(self).map([self], |[x]| [expression(&x)])?;
        Ok(result)
    }

    /// What an expression makes of it and another one, as a new array on its device.
    ///
    /// # Errors
    /// As [`DeviceArray::map`], or if shapes do not fit.
    pub fn map_with(
        &self,
        other: &DeviceArray,
        expression: impl FnOnce(&Variable, &Variable) -> Variable,
    ) -> Result<DeviceArray> {
        let [result] = math_of(self).map([self, other], |[x, y]| [expression(&x, &y)])?;
        Ok(result)
    }

    /// Sum over axes: see [`Variable::sum`].
    ///
    /// # Errors
    /// If an axis is out of range, or the device fails; likewise of the other folds.
    pub fn sum(&self, axes: impl Axes) -> Result<DeviceArray> {
        self.map(|x| x.sum(axes))
    }

    /// Mean over axes: see [`Variable::mean`].
    ///
    /// # Errors
    /// As [`DeviceArray::sum`].
    pub fn mean(&self, axes: impl Axes) -> Result<DeviceArray> {
        self.map(|x| x.mean(axes))
    }

    /// Largest elements over axes: see [`Variable::max`].
    ///
    /// # Errors
    /// As [`DeviceArray::sum`].
    pub fn max(&self, axes: impl Axes) -> Result<DeviceArray> {
        self.map(|x| x.max(axes))
    }

    /// Smallest elements over axes: see [`Variable::min`].
    ///
    /// # Errors
    /// As [`DeviceArray::sum`].
    pub fn min(&self, axes: impl Axes) -> Result<DeviceArray> {
        self.map(|x| x.min(axes))
    }

    /// Its elements as another dtype: see [`Variable::cast`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn cast(&self, dtype: DType) -> Result<DeviceArray> {
        self.map(|x| x.cast(dtype))
    }

    /// The product of two vectors or matrices: see [`Variable::dot`].
    ///
    /// # Errors
    /// If shapes do not fit, or the device fails.
    pub fn dot(&self, other: &DeviceArray) -> Result<DeviceArray> {
        self.map_with(other, |x, y| x.dot(y))
    }
}

/// A row of the table of scalar ops, of two operands.
fn binary(op: ScalarOp, x: impl IntoOperand, y: impl IntoOperand) -> Variable {
    elementwise(op, [x.into_operand(), y.into_operand()]).unwrap_or_else(Variable::poison)
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        impl $trait<&DeviceArray> for &DeviceArray {
            type Output = Result<DeviceArray>;
            fn $method(self, other: &DeviceArray) -> Result<DeviceArray> {
                self.map_with(other, |x, y| binary(scalar::$op, x, y))
            }
        }
        impl $trait<f64> for &DeviceArray {
            type Output = Result<DeviceArray>;
            fn $method(self, other: f64) -> Result<DeviceArray> {
                self.map(|x| binary(scalar::$op, x, other))
            }
        }
        impl $trait<i64> for &DeviceArray {
            type Output = Result<DeviceArray>;
            fn $method(self, other: i64) -> Result<DeviceArray> {
                self.map(|x| binary(scalar::$op, x, other))
            }
        }
        impl $trait<&DeviceArray> for f64 {
            type Output = Result<DeviceArray>;
            fn $method(self, other: &DeviceArray) -> Result<DeviceArray> {
                other.map(|x| binary(scalar::$op, self, x))
            }
        }
        impl $trait<&DeviceArray> for i64 {
            type Output = Result<DeviceArray>;
            fn $method(self, other: &DeviceArray) -> Result<DeviceArray> {
                other.map(|x| binary(scalar::$op, self, x))
            }
        }
    )* };
}
operators! {
    Add add ADD;
    Sub sub SUB;
    Mul mul MUL;
    Div div DIV;
}

impl Neg for &DeviceArray {
    type Output = Result<DeviceArray>;
    fn neg(self) -> Result<DeviceArray> {
        self.map(|x| -x)
    }
}
