//! Shared variables: Variables that hold a value between calls.

use super::tensor_type::TensorType;
use super::variable::{Kind, Variable};
use crate::dtype::DType;
use crate::error::{Error, Result, array_text};
use crate::host::HostMemory;
use crate::value::Value;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The expression that advances a shared variable at each call, unless the user says otherwise.
pub(crate) type DefaultUpdate = Box<dyn Fn(&Variable) -> Variable + Send + Sync>;

/// Where a shared variable's value lives on the host: identity, type, value and version.
///
/// Functions over the same shared variable hold the same cell. The id is saved with them; cells of one id meet again when their
/// Functions become methods of one Simulator.
pub struct Cell {
    id: u128,
    name: String,
    ty: TensorType,
    state: Mutex<CellState>,
    default_update: Option<DefaultUpdate>,
}

/// A cell's value. The embedded host device binds `memory` directly, so a Function's call copies no state.
pub(crate) struct CellState {
    pub(crate) memory: Arc<HostMemory>,
    pub(crate) shape: Vec<usize>,
    /// Counts changes of the value.
    pub(crate) version: u64,
}

impl Cell {
    pub(crate) fn new(
        id: u128,
        name: &str,
        ty: TensorType,
        value: &Value,
        default_update: Option<DefaultUpdate>,
    ) -> Result<Cell> {
        let whole = value.contiguous()?;
        let memory = Arc::new(HostMemory::from_bytes(whole.contiguous_bytes().unwrap_or(&[]))?);
        let state = Mutex::new(CellState { memory, shape: value.shape().to_vec(), version: 0 });
        Ok(Cell { id, name: name.into(), ty, state, default_update })
    }

    /// The identity that files keep.
    pub fn id(&self) -> u128 {
        self.id
    }

    /// The name, for people; it need not be unique.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type; an axis of unknown extent is one that may change between calls.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// How often the value was changed.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, CellState> {
        // A panic while the lock is held leaves a whole value behind: memory is replaced or written before the version counts up.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the value.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn get_value(&self) -> Result<Value> {
        self.lock().read(self.ty.dtype)
    }

    /// A copy of the value, and its version.
    pub(crate) fn snapshot(&self) -> Result<(Value, u64)> {
        let state = self.lock();
        Ok((state.read(self.ty.dtype)?, state.version))
    }

    /// Replaces the value.
    ///
    /// # Errors
    /// If dtype or shape do not fit the variable's type.
    pub fn set_value(&self, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        if !self.ty.admits(value.dtype(), value.shape()) {
            let given = array_text(value.dtype(), value.shape());
            return Err(Error::mismatch(
                format!("shared variable {}", self.name),
                self.ty.to_string(),
                given,
            ));
        }
        let whole = value.contiguous()?;
        self.lock().write(value.shape(), whole.contiguous_bytes().unwrap_or(&[]))
    }

    pub(crate) fn default_update(&self) -> Option<&DefaultUpdate> {
        self.default_update.as_ref()
    }
}

impl CellState {
    pub(crate) fn read(&self, dtype: DType) -> Result<Value> {
        Value::try_filled(dtype, &self.shape, |bytes| Ok(self.memory.read(0, bytes)?))
    }

    pub(crate) fn write(&mut self, shape: &[usize], bytes: &[u8]) -> Result<()> {
        if self.shape == shape {
            self.memory.write(0, bytes)?;
        } else {
            self.memory = Arc::new(HostMemory::from_bytes(bytes)?);
            self.shape = shape.to_vec();
        }
        self.version += 1;
        Ok(())
    }
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} = shared", self.name, self.ty)
    }
}

/// A Variable that holds a value between calls. Operators and methods are those of [`Variable`].
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
        let mut ty = TensorType::fixed(value.dtype(), value.shape());
        for &axis in dynamic {
            let rank = ty.ndim();
            let slot = ty.shape.get_mut(axis);
            *slot.ok_or_else(|| {
                Error::mismatch("dynamic axis", format!("below {rank}"), axis.to_string())
            })? = None;
        }
        let cell = Arc::new(Cell::new(fresh_id(), name, ty, &value, default_update)?);
        Ok(SharedVariable::of(cell))
    }

    /// The Variable of an existing cell.
    pub fn of(cell: Arc<Cell>) -> SharedVariable {
        let (ty, name) = (cell.ty.clone(), Some(cell.name.clone()));
        SharedVariable { variable: Variable::with_kind(Kind::Shared(cell), ty, name) }
    }

    /// The cell.
    ///
    /// # Errors
    /// If the shared variable could not be made (no memory).
    pub fn cell(&self) -> Result<&Arc<Cell>> {
        match self.variable.kind() {
            Kind::Shared(cell) => Ok(cell),
            Kind::Poison(error) => Err(error.clone()),
            _ => Err(Error::Internal("a shared variable without a cell".into())),
        }
    }

    /// A copy of the value.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn get_value(&self) -> Result<Value> {
        self.cell()?.get_value()
    }

    /// Replaces the value.
    ///
    /// # Errors
    /// If dtype or shape do not fit the variable's type.
    pub fn set_value(&self, value: impl Into<Value>) -> Result<()> {
        self.cell()?.set_value(value)
    }
}

/// A shared variable with this first value. Its dtype and shape are fixed.
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
