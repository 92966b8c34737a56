//! Prints values while a Function runs. The op returns its input.

pub(crate) mod lower;

use super::methods::methods;
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Op, ShardedOutputs, Shards, expect_inputs};
use crate::printable::printable;
use crate::value::Value;
use std::io::Write;
use std::sync::{Arc, PoisonError, RwLock};

/// Its input, which is passed to the hook of [`set_print_hook`] whenever it is computed.
///
/// It does not change what a device computes, except that work before it and after it is neither fused nor
/// recorded together: the device copies the value to the host, and waits. So each Print adds a round trip to
/// a call, and `run_n` goes iteration by iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// The text before the value.
    pub label: String,
}

/// The function that is called with each value that a [`Print`] sees: its label, and the value.
pub type PrintHook = Arc<dyn Fn(&str, &Value) + Send + Sync>;

/// `None`: a line on stderr.
static HOOK: RwLock<Option<PrintHook>> = RwLock::new(None);

/// Sets the hook that every [`Print`] of this process calls, on the thread that made the call; `None`, the
/// default, writes a line to stderr. Returns the previous hook.
///
/// ```
/// use workalike::ops::set_print_hook;
/// use workalike::prelude::*;
/// use std::sync::{Arc, Mutex};
/// let seen = Arc::new(Mutex::new(vec![]));
/// let sink = seen.clone();
/// set_print_hook(Some(Arc::new(move |label: &str, value: &Value| {
///     sink.lock().unwrap().push(format!("{label} {value:?}"));
/// })));
/// let x = vector::<f32>("x");
/// let f = function([&x]).output(x.print("x is").exp()).compile()?;
/// f.call(args![vec![0f32]])?;
/// assert_eq!(*seen.lock().unwrap(), ["x is float32(1,)[0.0]"]);
/// set_print_hook(None);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn set_print_hook(hook: Option<PrintHook>) -> Option<PrintHook> {
    let mut set = HOOK.write().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *set, hook)
}

/// The text for stderr. A label may come from a file.
fn line(label: &str, value: &Value) -> String {
    format!("{} {value:?}", printable(label))
}

impl Op for Print {
    fn id(&self) -> &'static str {
        "print"
    }

    fn attributes(&self) -> Attributes {
        vec![("label".into(), Attr::Text(self.label.clone()))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        Ok(vec![inputs[0].clone()])
    }

    fn has_effect(&self) -> bool {
        true
    }

    fn quietly(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].clone()])
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(self.clone(), false, Some)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        // Not while it is locked: a hook may set another.
        let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
        match hook {
            Some(hook) => hook(&self.label, &inputs[0]),
            // A missing stderr is not an error of the call.
            None => _ = writeln!(std::io::stderr().lock(), "{}", line(&self.label, &inputs[0])),
        }
        self.quietly(inputs)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

methods! {
    /// `x`, written to stderr after `label` each time it is computed, or told to the hook of
    /// [`set_print_hook`](crate::ops::set_print_hook) (PyTensor's `Print`). It changes no value and no
    /// gradient; on a device it costs a copy to the host, and `run_n` goes step by step.
    print / try_print(x, label: &str) { Variable::apply1(Print { label: label.into() }, std::slice::from_ref(x)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_not_obeyed() {
        let value = Value::from(1f32);
        assert_eq!(line("x is", &value), format!("x is {value:?}"));
        let text = line("\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\u{2028}", &value);
        assert!(text.starts_with("\u{fffd}]0;title\u{fffd}\u{fffd}31m\u{fffd}\u{fffd} float32"), "{text}");
    }
}
