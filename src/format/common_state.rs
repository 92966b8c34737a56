//! Loading several files or messages over common shared variables.

use super::bad;
use crate::error::Result;
use crate::graph::Cell;
use crate::value::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

thread_local! {
    /// The shared variables that were loaded within [`common_state`], by id.
    static LOADED: RefCell<Option<HashMap<u128, Arc<Cell>>>> = const { RefCell::new(None) };
}

/// Runs `load`, within which everything that this thread loads or deserializes has its shared variables in
/// common: those of one id are one variable, as they are within a [`Bundle`](crate::function::Bundle). A
/// pickle keeps one object likewise.
///
/// ```
/// use workalike::prelude::*;
/// let w = shared("w", 0i64);
/// let step = function(()).update(&w, &w + 1i64).compile()?;
/// let look = function(()).output(&w * 10i64).compile()?;
/// // Two messages; serde's formats are read in the same way.
/// let bytes = |f: &Function| Bundle::new().with("f", f).to_bytes();
/// let (step, look) = (bytes(&step)?, bytes(&look)?);
/// let [step, look] = common_state(|| [step, look].map(|bytes| Bundle::from_bytes(&bytes)));
/// step?["f"].call(args![])?;
/// assert_eq!(look?["f"].call(args![])?[0].item::<i64>()?, 10);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// A variable whose value or type differs from what was loaded before is an error of the load. A call within
/// another one has the same variables as the outer call.
pub fn common_state<T>(load: impl FnOnce() -> T) -> T {
    /// Forgets the variables at the end, also after a panic.
    struct CommonStateScope {
        is_outer: bool,
    }
    impl Drop for CommonStateScope {
        fn drop(&mut self) {
            if self.is_outer {
                LOADED.with_borrow_mut(|loaded| *loaded = None);
            }
        }
    }
    let is_outer = LOADED.with_borrow_mut(|loaded| {
        let is_outer = loaded.is_none();
        loaded.get_or_insert_default();
        is_outer
    });
    let _scope = CommonStateScope { is_outer };
    load()
}

/// The shared variable that was loaded before for this one, or the new one. A transient one has no value.
///
/// # Errors
/// If it has another type or value.
pub(super) fn in_common(new: Arc<Cell>, value: Option<&Value>) -> Result<Arc<Cell>> {
    let known = LOADED.with_borrow_mut(|loaded| {
        let Some(loaded) = loaded else { return new.clone() };
        loaded.entry(new.id()).or_insert_with(|| new.clone()).clone()
    });
    if Arc::ptr_eq(&known, &new) {
        return Ok(new);
    }
    let differs =
        |what: &str| format!("shared variable {} has another {what} than one loaded before", new.name());
    if known.ty() != new.ty() {
        return bad(differs("type"));
    }
    let Some(value) = value.filter(|_| !known.is_transient()) else { return Ok(known) };
    let bytes =
        |value: &Value| Ok::<_, crate::Error>(value.contiguous()?.contiguous_bytes().map(<[u8]>::to_vec));
    let held = known.get_value()?;
    match held.shape() == value.shape() && bytes(&held)? == bytes(value)? {
        true => Ok(known),
        false => bad(differs("value")),
    }
}
