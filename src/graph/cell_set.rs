//! Several shared variables as one state: read, written and held together.

use super::cell::{Cell, CellState};
use super::lock::{Endless, LockGuard};
use super::shared::SharedVariable;
use crate::error::{Error, Result, array_text};
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;
use workalike_device::HostMemory;

/// Size in bytes from which a new value is written to new memory before the cell is locked, and then swapped
/// in. Functions that ran over the old memory record their calls again, which takes tens of microseconds;
/// copying a smaller value takes less.
const SWAPPED: usize = 4 << 20;

/// Cells that are locked together. Nothing else locks several cells. A cell may be given more than once and
/// is locked once.
#[derive(Clone, Debug)]
pub(crate) struct CellSet {
    /// Each once, in the order of their ids.
    cells: Vec<Arc<Cell>>,
    /// For each cell as given, its position in `cells`.
    places: Vec<usize>,
}

/// A [`CellSet`] whose cells this thread holds. Positions are those in which the cells were given.
pub(crate) struct LockedCells<'c> {
    set: &'c CellSet,
    /// In the order of `set.cells`.
    states: Vec<(usize, LockGuard<'c, CellState>)>,
}

impl CellSet {
    pub(crate) fn of<'c>(given: impl IntoIterator<Item = &'c Arc<Cell>>) -> CellSet {
        let given: Vec<&Arc<Cell>> = given.into_iter().collect();
        // Two cells may have one id, if a file was loaded twice.
        let key = |cell: &Arc<Cell>| (cell.id(), Arc::as_ptr(cell) as usize);
        let mut cells: Vec<Arc<Cell>> = given.iter().map(|&c| c.clone()).collect();
        cells.sort_by_key(key);
        cells.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let place = |&cell: &&Arc<Cell>| cells.binary_search_by_key(&key(cell), key).unwrap_or(0);
        let places = given.iter().map(place).collect();
        CellSet { cells, places }
    }

    /// Locks all cells: no other thread reads or writes any of them until the result is dropped.
    ///
    /// # Errors
    /// If this thread holds one of them already, or waiting would never end: a call is nested in another one.
    pub(crate) fn lock(&self) -> Result<LockedCells<'_>> {
        let mut states: Vec<(usize, LockGuard<'_, CellState>)> = Vec::with_capacity(self.cells.len());
        // The thread waits for a cell only while it holds none of the others, so threads that lock several
        // cells cannot block each other.
        let mut awaited = 0;
        while states.len() < self.cells.len() {
            states.clear();
            states.push((awaited, self.cells[awaited].lock()?));
            for (at, cell) in self.cells.iter().enumerate().filter(|(at, _)| *at != awaited) {
                match cell.try_lock() {
                    Some(state) => states.push((at, state)),
                    None => {
                        awaited = at;
                        break;
                    }
                }
            }
        }
        states.sort_by_key(|(at, _)| *at);
        Ok(LockedCells { set: self, states })
    }

    /// A consistent snapshot: copies of all values, and their versions, in the order in which the cells were
    /// given.
    ///
    /// # Errors
    /// If there is no memory for the copies, or a cell cannot be locked.
    pub(crate) fn snapshot(&self) -> Result<Vec<(Value, u64)>> {
        let locked = self.lock()?;
        let read = |(at, state): &(usize, LockGuard<'_, CellState>)| {
            let cell = &self.cells[*at];
            Ok((cell.read(state)?, cell.version()))
        };
        let values = locked.states.iter().map(read).collect::<Result<Vec<_>>>()?;
        Ok(self.places.iter().map(|&place| values[place].clone()).collect())
    }
}

impl LockedCells<'_> {
    fn cell(&self, position: usize) -> &Cell {
        &self.set.cells[self.set.places[position]]
    }

    pub(crate) fn state(&self, position: usize) -> &CellState {
        &self.states[self.set.places[position]].1
    }

    /// # Errors
    /// If a cell has no value.
    pub(crate) fn check(&self) -> Result<()> {
        self.states.iter().try_for_each(|(at, state)| self.set.cells[*at].check(state))
    }

    /// A copy of a value.
    ///
    /// # Errors
    /// If there is none, or no memory for it.
    pub(crate) fn read(&self, position: usize) -> Result<Value> {
        self.cell(position).read(self.state(position))
    }

    /// Whether a cell's value has exactly these bits.
    ///
    /// # Errors
    /// If its memory cannot be read.
    pub(crate) fn holds(&self, position: usize, value: &Value) -> Result<bool> {
        let value = value.contiguous()?;
        self.state(position).holds(value.shape(), value.contiguous_bytes().unwrap_or(&[]))
    }

    pub(crate) fn version(&self, position: usize) -> u64 {
        self.cell(position).version()
    }

    /// Whether a Simulator compares the value's version.
    pub(crate) fn is_watched(&self, position: usize) -> bool {
        self.cell(position).is_watched()
    }

    /// Counts a change of a value, which was written in place.
    pub(crate) fn changed(&mut self, position: usize) {
        self.cell(position).changed();
    }

    /// Replaces the memory of a value.
    pub(crate) fn moved(&mut self, position: usize, memory: Arc<HostMemory>, shape: Vec<usize>) {
        let state = &mut self.states[self.set.places[position]].1;
        (state.memory, state.shape, state.absent) = (memory, shape, false);
    }

    /// Writes values to different cells, all or none. Returns the positions whose value changed; the other
    /// cells are left alone.
    ///
    /// # Errors
    /// If there is no memory for a value: nothing is written.
    pub(crate) fn publish(&mut self, values: Vec<(usize, NewValue)>) -> Result<Vec<usize>> {
        let mut differing = Vec::new();
        for (position, new) in values {
            let (state, bytes) = (self.state(position), new.value.contiguous_bytes().unwrap_or(&[]));
            if state.holds(new.value.shape(), bytes)? {
                continue;
            }
            let memory = match new.memory {
                None if state.absent || state.shape != new.value.shape() => {
                    Some(Arc::new(HostMemory::from_bytes(bytes)?))
                }
                prepared => prepared,
            };
            differing.push((position, new.value, memory));
        }
        for (position, value, memory) in &differing {
            match memory {
                Some(memory) => self.moved(*position, memory.clone(), value.shape().to_vec()),
                None => self.state(*position).memory.write(0, value.contiguous_bytes().unwrap_or(&[]))?,
            }
            self.changed(*position);
        }
        Ok(differing.into_iter().map(|d| d.0).collect())
    }
}

/// A new value for a cell. Slow work is done before the cell is locked.
pub(crate) struct NewValue {
    /// Contiguous.
    value: Value,
    /// Memory that is swapped in.
    memory: Option<Arc<HostMemory>>,
}

impl NewValue {
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn of(value: &Value) -> Result<NewValue> {
        let value = value.contiguous()?;
        let bytes = value.contiguous_bytes().unwrap_or(&[]);
        let memory = (bytes.len() >= SWAPPED).then(|| HostMemory::from_bytes(bytes).map(Arc::new));
        let memory = memory.transpose()?;
        Ok(NewValue { value, memory })
    }
}

/// The error for a cell whose lock must not be waited for.
pub(super) fn nested(cell: &Cell, why: Endless) -> Error {
    let name = cell.name();
    Error::Sync(match why {
        Endless::Own => format!(
            "shared variable {name} is held by the call that this one is nested in: an op must not read, write or call a \
             Function over a shared variable of the Function that performs it; give the value to the op as an input"
        ),
        Endless::Cycle => format!(
            "shared variable {name} is held by a call in another thread, which waits for a lock of this thread's call: both \
             perform an op that calls a Function over the other's shared variables; give the values to the ops as inputs"
        ),
    })
}

/// A consistent snapshot of several shared variables: copies of their values that hold all or none of the
/// writes of a call, a sync or [`set_values`].
///
/// ```
/// use workalike::prelude::*;
/// let (a, b) = (shared("a", 1i64), shared("b", 2i64));
/// set_values([(&a, Value::from(10i64)), (&b, Value::from(20i64))])?;
/// assert_eq!(get_values([&a, &b])?, [Value::from(10i64), Value::from(20i64)]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// If there is no memory for the copies, or an op asks while the Function that performs it holds one of them.
pub fn get_values(variables: impl IntoIterator<Item = impl Into<SharedVariable>>) -> Result<Vec<Value>> {
    let variables: Vec<SharedVariable> = variables.into_iter().map(Into::into).collect();
    let cells = variables.iter().map(SharedVariable::cell).collect::<Result<Vec<_>>>()?;
    Ok(CellSet::of(cells).snapshot()?.into_iter().map(|(value, _)| value).collect())
}

/// Replaces the values of several shared variables at once: a reader sees all old or all new values. All are
/// replaced or none. If a variable is given twice, its last value holds.
///
/// # Errors
/// If dtype or shape of one do not fit its variable's type, there is no memory for it, or an op asks while
/// the Function that performs it holds one of them.
pub fn set_values<S: Into<SharedVariable>, V: Into<Value>>(
    values: impl IntoIterator<Item = (S, V)>,
) -> Result<()> {
    let given: Vec<(SharedVariable, Value)> =
        values.into_iter().map(|(variable, value)| (variable.into(), value.into())).collect();
    let given = given.iter().map(|(variable, value)| Ok((variable.cell()?, value.clone())));
    let mut given: Vec<(&Arc<Cell>, Value)> = given.collect::<Result<_>>()?;
    given.iter().try_for_each(|(cell, value)| check_value(cell, value))?;
    let mut seen = HashSet::new();
    given.reverse();
    given.retain(|(cell, _)| seen.insert(Arc::as_ptr(cell)));
    let new = given.iter().enumerate().map(|(at, (_, value))| Ok((at, NewValue::of(value)?)));
    let new = new.collect::<Result<Vec<_>>>()?;
    CellSet::of(given.iter().map(|g| g.0)).lock()?.publish(new).map(|_| ())
}

/// Refuses a value that is not of a cell's type.
pub(crate) fn check_value(cell: &Cell, value: &Value) -> Result<()> {
    if cell.ty().admits(value.dtype(), value.shape()) {
        return Ok(());
    }
    let given = array_text(value.dtype(), value.shape());
    Err(Error::mismatch(format!("shared variable {}", cell.name()), cell.ty().to_string(), given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::shared;
    use crate::graph::shared::shared_dynamic;

    #[test]
    fn cells_are_locked_once_however_often_they_are_given() {
        let (a, b) = (shared("a", 1i64), shared("b", 2i64));
        let (a, b) = (a.cell().unwrap(), b.cell().unwrap());
        let set = CellSet::of([b, a, b, a, a]);
        let values: Vec<i64> = set.snapshot().unwrap().iter().map(|(v, _)| v.item().unwrap()).collect();
        assert_eq!(values, [2, 1, 2, 1, 1]);
        let locked = set.lock().unwrap();
        assert!(a.get_value().unwrap_err().to_string().contains("shared variable a is held"));
        drop(locked);
        a.get_value().unwrap();
        assert!(CellSet::of([]).snapshot().unwrap().is_empty());
    }

    #[test]
    fn an_equal_value_is_no_change_and_nan_is_equal_to_itself() {
        let w = shared_dynamic("w", vec![f32::NAN, -0.0], &[0]);
        let cell = w.cell().unwrap();
        w.set_value(vec![f32::NAN, -0.0]).unwrap();
        assert_eq!(cell.version(), 0);
        w.set_value(vec![f32::NAN, 0.0]).unwrap();
        assert_eq!(cell.version(), 1);
        w.set_value(vec![f32::NAN]).unwrap();
        assert_eq!((cell.version(), w.get_value().unwrap().len()), (2, 1));
        let large = vec![1f32; SWAPPED / 4];
        w.set_value(large.clone()).unwrap();
        w.set_value(large).unwrap();
        assert_eq!((cell.version(), w.get_value().unwrap().len()), (3, SWAPPED / 4));
    }

    #[test]
    fn several_values_are_set_together_or_not_at_all() {
        let (a, b) = (shared("a", vec![0f32; 3]), shared("b", 0i64));
        let wrong = [(&a, Value::from(vec![1f32; 3])), (&b, Value::from(1f32))];
        assert!(set_values(wrong).unwrap_err().to_string().contains("shared variable b"));
        assert_eq!(a.get_value().unwrap().to_vec::<f32>().unwrap(), [0.0; 3]);
        set_values([(&a, Value::from(vec![1f32; 3])), (&b, Value::from(1i64)), (&b, Value::from(2i64))])
            .unwrap();
        let now = get_values([&b, &a, &b]).unwrap();
        assert_eq!(now, [Value::from(2i64), Value::from(vec![1f32; 3]), Value::from(2i64)]);
    }
}
