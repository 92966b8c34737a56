//! Where the values of shared variables live on the host.

use super::cell_set::{CellSet, NewValue, check_value, nested};
use super::lock::{Lock, LockGuard};
use super::tensor_type::TensorType;
use super::variable::Variable;
use crate::error::{Error, Result};
use crate::value::Value;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use workalike_device::HostMemory;

/// The expression that advances a shared variable at each call, unless the user gives another.
pub(crate) type DefaultUpdate = Arc<dyn Fn(&Variable) -> Variable + Send + Sync>;

/// Where a shared variable's value lives on the host: identity, type, value and version.
///
/// Functions over the same shared variable hold the same cell. The id is saved with them; cells with equal
/// ids are one variable again when their Functions become methods of one Simulator.
///
/// Any number of threads may use one cell: see [`SharedVariable`](super::SharedVariable).
pub struct Cell {
    id: u128,
    name: String,
    ty: TensorType,
    state: Lock<CellState>,
    /// Number of changes of the value; written only while `state` is locked.
    version: AtomicU64,
    /// Number of Simulators that may hold a newer value.
    ahead: AtomicUsize,
    /// Number of Simulators that have it as a parent.
    watchers: AtomicUsize,
    /// Whether it was saved while a Simulator held a newer value.
    saved_behind: AtomicBool,
    default_update: Mutex<Option<DefaultUpdate>>,
    /// The name of the context that is to hold it: a hint.
    context: Mutex<Option<Arc<str>>>,
    /// Whether files leave out its value.
    transient: AtomicBool,
}

/// A cell's value. The embedded host device binds `memory` directly, so a Function's call copies no state.
pub(crate) struct CellState {
    pub(crate) memory: Arc<HostMemory>,
    pub(crate) shape: Vec<usize>,
    /// Whether there is no value, because the file that it was loaded from leaves it out.
    pub(super) absent: bool,
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
        let state = CellState { memory, shape: value.shape().to_vec(), absent: false };
        Ok(Cell::of(id, name, ty, state, default_update))
    }

    /// A transient cell without a value.
    pub(crate) fn absent(id: u128, name: &str, ty: TensorType) -> Result<Cell> {
        let shape = ty.shape.iter().map(|extent| extent.unwrap_or(0)).collect();
        let state = CellState { memory: Arc::new(HostMemory::from_bytes(&[])?), shape, absent: true };
        let cell = Cell::of(id, name, ty, state, None);
        cell.set_transient(true);
        Ok(cell)
    }

    fn of(
        id: u128,
        name: &str,
        ty: TensorType,
        state: CellState,
        default_update: Option<DefaultUpdate>,
    ) -> Cell {
        let state = Lock::new(state);
        let (version, saved_behind) = (AtomicU64::new(0), AtomicBool::new(false));
        let (ahead, watchers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let default_update = Mutex::new(default_update);
        let (name, context, transient) = (name.into(), Mutex::default(), AtomicBool::new(false));
        Cell {
            id,
            name,
            ty,
            state,
            version,
            ahead,
            watchers,
            saved_behind,
            default_update,
            context,
            transient,
        }
    }

    /// Whether files leave out its value: see
    /// [`SharedVariable::transient`](super::SharedVariable::transient).
    pub fn is_transient(&self) -> bool {
        self.transient.load(Ordering::Relaxed)
    }

    pub(crate) fn set_transient(&self, transient: bool) {
        self.transient.store(transient, Ordering::Relaxed);
    }

    /// The error if there is no value.
    pub(super) fn check(&self, state: &CellState) -> Result<()> {
        if !state.absent {
            return Ok(());
        }
        Err(Error::Sync(format!(
            "shared variable {} has no value: it is transient, and its file holds none; give it one with set_value (of a \
             Simulator's file, load a Bundle, set it, and optimize that)",
            self.name
        )))
    }

    /// A copy of the value of a locked cell.
    pub(super) fn read(&self, state: &CellState) -> Result<Value> {
        self.check(state)?;
        let dtype = self.ty.dtype;
        Value::try_filled(dtype, &state.shape, |bytes| Ok(state.memory.read(0, bytes)?))
    }

    /// The name of the context that is to hold it: see [`SharedVariable::on`](super::SharedVariable::on).
    pub fn context(&self) -> Option<Arc<str>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the name of the context that is to hold it.
    pub(crate) fn set_context(&self, name: Option<&str>) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = name.map(Into::into);
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
        self.version.load(Ordering::Acquire)
    }

    /// Counts a change. The caller holds the cell.
    pub(super) fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Whether a Simulator may hold a newer value, which is lost unless it is synced.
    pub fn is_behind(&self) -> bool {
        self.ahead.load(Ordering::Relaxed) > 0
    }

    /// Whether a Simulator has it as a parent, so that somebody compares versions.
    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Notes that the value was saved.
    pub(crate) fn note_saved(&self) {
        self.saved_behind.store(self.is_behind(), Ordering::Relaxed);
    }

    /// Whether a Simulator may have held a newer value when the value was last saved.
    pub(crate) fn was_saved_behind(&self) -> bool {
        self.saved_behind.load(Ordering::Relaxed)
    }

    pub(super) fn lock(&self) -> Result<LockGuard<'_, CellState>> {
        // A panic while the lock is held leaves a consistent value: memory is replaced or written as a whole.
        self.state.lock().map_err(|why| nested(self, why))
    }

    pub(super) fn try_lock(&self) -> Option<LockGuard<'_, CellState>> {
        self.state.try_lock()
    }

    /// A copy of the value.
    ///
    /// # Errors
    /// If there is no memory for it, or an op asks while the Function that performs it holds the variable.
    pub fn get_value(&self) -> Result<Value> {
        self.read(&*self.lock()?)
    }

    /// Replaces the value. To replace several at once, see [`set_values`](super::set_values).
    ///
    /// # Errors
    /// If dtype or shape do not fit the variable's type, there is no memory for it, or an op asks while the
    /// Function that performs it holds the variable.
    pub fn set_value(self: &Arc<Cell>, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        check_value(self, &value)?;
        let new = NewValue::of(&value)?;
        CellSet::of([self]).lock()?.publish(vec![(0, new)]).map(|_| ())
    }

    pub(super) fn set_default_update(&self, update: DefaultUpdate) {
        *self.default_update.lock().unwrap_or_else(PoisonError::into_inner) = Some(update);
    }

    pub(crate) fn default_update(&self) -> Option<DefaultUpdate> {
        self.default_update.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl CellState {
    /// Whether it has exactly this shape and these bytes.
    pub(crate) fn holds(&self, shape: &[usize], bytes: &[u8]) -> Result<bool> {
        let mut part = [0u8; 4096];
        if self.absent || self.shape != shape {
            return Ok(false);
        }
        for (at, given) in bytes.chunks(part.len()).enumerate() {
            let held = &mut part[..given.len()];
            self.memory.read((at * 4096) as u64, held)?;
            if held != given {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Marks cells, while it lives, as possibly older than the values of a Simulator.
#[derive(Debug)]
pub(crate) struct Ahead(Vec<Arc<Cell>>);

impl Ahead {
    pub(crate) fn of<'c>(cells: impl IntoIterator<Item = &'c Arc<Cell>>) -> Ahead {
        let cells: Vec<Arc<Cell>> = cells.into_iter().cloned().collect();
        cells.iter().for_each(|cell| _ = cell.ahead.fetch_add(1, Ordering::Relaxed));
        Ahead(cells)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.iter().for_each(|cell| _ = cell.ahead.fetch_sub(1, Ordering::Relaxed));
    }
}

/// A cell that is, while this lives, the parent of a Simulator's variable: see [`Cell::is_watched`].
#[derive(Debug)]
pub(crate) struct Watched(Arc<Cell>);

impl Watched {
    pub(crate) fn new(cell: Arc<Cell>) -> Watched {
        cell.watchers.fetch_add(1, Ordering::Relaxed);
        Watched(cell)
    }
}

impl Clone for Watched {
    fn clone(&self) -> Watched {
        Watched::new(self.0.clone())
    }
}

impl Deref for Watched {
    type Target = Arc<Cell>;

    fn deref(&self) -> &Arc<Cell> {
        &self.0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} = shared", self.name, self.ty)
    }
}
