//! Two methods over one shared variable.

use workalike::prelude::*;
use workalike_cli_common::report::Result;

/// `accumulate` adds to `state`, `decrement` subtracts from it; both return the value from before the call.
pub(super) fn accumulator() -> Result<Bundle> {
    let inc = scalar::<i64>("inc");
    let state = shared("state", 0i64);
    let method =
        |next: Variable| function([&inc]).output_named("state", &state).update(&state, next).compile();
    let accumulate = method(&state + &inc)?;
    let decrement = method(&state - &inc)?;
    Ok(Bundle::new().with("accumulate", &accumulate).with("decrement", &decrement))
}
