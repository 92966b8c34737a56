//! Shared variables: Variables that hold a value between calls.

use super::cell::{Cell, DefaultUpdate};
use super::tensor_type::TensorType;
use super::variable::{Kind, Variable};
use crate::error::{Error, Result};
use crate::value::Value;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A Variable that holds a value between calls. Operators and methods are those of [`Variable`].
///
/// Any number of threads may read it, write it, and call Functions over it. The shared variables of a
/// Function are one state: a call holds all of them while it runs, and an operation on several at once
/// ([`get_values`](super::get_values), [`set_values`](super::set_values),
/// [`Bundle::save`](crate::function::Bundle::save), [`Function::fork`](crate::function::Function::fork), a
/// Simulator's syncs) sees all of a call's updates or none. Variables that are read separately may differ by
/// a call in between.
#[derive(Clone, Debug)]
pub struct SharedVariable {
    variable: Variable,
}

impl Deref for SharedVariable {
    type Target = Variable;

    fn deref(&self) -> &Variable {
        &self.variable
    }
}

impl SharedVariable {
    pub(crate) fn build(
        name: &str,
        value: Value,
        dynamic: &[usize],
        default_update: Option<DefaultUpdate>,
    ) -> Result<SharedVariable> {
        let ty = SharedVariable::type_of(&value, dynamic)?;
        let cell = Arc::new(Cell::new(fresh_id(), name, ty, &value, default_update)?);
        Ok(SharedVariable::of(cell))
    }

    /// A shared variable with the id of another one, which was sent apart from its Functions:
    /// `cell()?.id()` says it. The listed axes may change their extent. A default update is not sent.
    ///
    /// # Errors
    /// If there is no such axis, or no memory for the value.
    pub fn restored(id: u128, name: &str, value: impl Into<Value>, axes: &[usize]) -> Result<SharedVariable> {
        let value = value.into();
        let ty = SharedVariable::type_of(&value, axes)?;
        Ok(SharedVariable::of(Arc::new(Cell::new(id, name, ty, &value, None)?)))
    }

    /// The type of a value whose listed axes may have any extent.
    fn type_of(value: &Value, dynamic: &[usize]) -> Result<TensorType> {
        let mut ty = TensorType::fixed(value.dtype(), value.shape());
        for &axis in dynamic {
            let rank = ty.ndim();
            let slot = ty.shape.get_mut(axis);
            *slot.ok_or_else(|| {
                Error::mismatch("dynamic axis", format!("below {rank}"), axis.to_string())
            })? = None;
        }
        Ok(ty)
    }

    /// The Variable of an existing cell.
    pub fn of(cell: Arc<Cell>) -> SharedVariable {
        let (ty, name) = (cell.ty().clone(), Some(cell.name().to_string()));
        SharedVariable { variable: Variable::with_kind(Kind::Shared(cell), ty, name) }
    }

    /// The cell.
    ///
    /// # Errors
    /// If the shared variable could not be created (no memory).
    pub fn cell(&self) -> Result<&Arc<Cell>> {
        match self.variable.kind() {
            Kind::Shared(cell) => Ok(cell),
            Kind::Poison(error) => Err(error.clone()),
            _ => Err(Error::Internal("a shared variable without a cell".into())),
        }
    }

    /// The same shared variable with a default update (Theano's `default_update`): every Function compiled
    /// from now on whose outputs or updates read it updates it so, unless it has another update for it.
    /// `update` returns the expression of the new value.
    ///
    /// See [`FunctionBuilder::no_default_updates`](crate::function::FunctionBuilder::no_default_updates).
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let calls = shared("calls", 0i64).with_default_update(|n| n + 1i64);
    /// let f = function(()).output(&calls).compile()?;
    /// f.call(args![])?;
    /// assert_eq!(f.call(args![])?[0].item::<i64>()?, 1);
    /// let peek = function(()).output(&calls).no_default_updates().compile()?;
    /// peek.call(args![])?;
    /// assert_eq!(calls.get_value()?.item::<i64>()?, 2);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn with_default_update(
        self,
        update: impl Fn(&Variable) -> Variable + Send + Sync + 'static,
    ) -> SharedVariable {
        if let Kind::Shared(cell) = self.variable.kind() {
            cell.set_default_update(Arc::new(update));
        }
        self
    }

    /// The same shared variable, to live in the memory of a context of this name, which is given when a
    /// Function is re-hosted: see [`contexts`](crate::engine::contexts). A hint, which other backends ignore;
    /// files hold it.
    #[must_use]
    pub fn on(self, context: &str) -> SharedVariable {
        if let Kind::Shared(cell) = self.variable.kind() {
            cell.set_context(Some(context));
        }
        self
    }

    /// The same shared variable, whose value files leave out, such as data that a device draws minibatches
    /// from: a file has its name and type. It is set after loading, before the first call.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let data = shared("data", vec![1f32; 1000]).transient();
    /// let f = function(()).output(data.sum(..)).compile()?;
    /// let loaded = Function::from_bytes(&f.to_bytes()?)?;
    /// assert!(loaded.call(args![]).is_err());
    /// loaded.shared("data")?.set_value(vec![2f32; 1000])?;
    /// assert_eq!(loaded.call(args![])?[0].item::<f32>()?, 2000.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn transient(self) -> SharedVariable {
        if let Kind::Shared(cell) = self.variable.kind() {
            cell.set_transient(true);
        }
        self
    }

    /// A copy of the value. For a snapshot of several values, see [`get_values`](super::get_values).
    ///
    /// # Errors
    /// If there is no memory for it, or an op asks while the Function that performs it holds the variable.
    pub fn get_value(&self) -> Result<Value> {
        self.cell()?.get_value()
    }

    /// Replaces the value. To replace several at once, see [`set_values`](super::set_values).
    ///
    /// # Errors
    /// If dtype or shape do not fit the variable's type, there is no memory for it, or an op asks while the
    /// Function that performs it holds the variable.
    pub fn set_value(&self, value: impl Into<Value>) -> Result<()> {
        self.cell()?.set_value(value)
    }
}

impl From<&SharedVariable> for SharedVariable {
    fn from(shared: &SharedVariable) -> SharedVariable {
        shared.clone()
    }
}

impl From<&&SharedVariable> for SharedVariable {
    fn from(shared: &&SharedVariable) -> SharedVariable {
        (*shared).clone()
    }
}

impl From<Arc<Cell>> for SharedVariable {
    fn from(cell: Arc<Cell>) -> SharedVariable {
        SharedVariable::of(cell)
    }
}

impl From<&Arc<Cell>> for SharedVariable {
    fn from(cell: &Arc<Cell>) -> SharedVariable {
        SharedVariable::of(cell.clone())
    }
}

/// A shared variable with this initial value. Its dtype and shape are fixed.
pub fn shared(name: &str, value: impl Into<Value>) -> SharedVariable {
    shared_dynamic(name, value, &[])
}

/// A shared variable whose listed axes may change their extent between calls, by `set_value` or by an update.
pub fn shared_dynamic(name: &str, value: impl Into<Value>, axes: &[usize]) -> SharedVariable {
    SharedVariable::build(name, value.into(), axes, None)
        .unwrap_or_else(|error| SharedVariable { variable: Variable::poison(error) })
}

/// A 128-bit id that no other shared variable has: process, time and counter under a randomly keyed hash.
pub(crate) fn fresh_id() -> u128 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let half = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(count);
        hasher.write_u128(time);
        hasher.write_u32(std::process::id());
        hasher.finish()
    };
    (half() as u128) << 64 | half() as u128
}
