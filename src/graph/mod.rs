//! The symbolic half: what a user writes, and the flat form it is compiled to.
//!
//! - [`Variable`]: a cheap handle into an immutable DAG; operators and NumPy-like methods build it (see
//!   [`crate::ops`]).
//! - [`TensorType`]: dtype and, per axis, an extent where it is known. Only a static 1 broadcasts.
//! - [`SharedVariable`]: a Variable that holds a value between calls.
//! - [`FunctionGraph`]: the arena that `compile` imports a DAG into; passes, files and the engine see only
//!   this.

mod agreement;
mod cell;
mod cell_set;
mod default_updates;
pub(crate) mod digest;
mod evaluate;
mod expressions;
mod function_graph;
mod lock;
pub(crate) mod node_numbers;
mod operand;
mod parameters;
mod print;
pub(crate) mod prune;
mod rebuild;
pub mod shapes;
mod shared;
pub(crate) mod source_location;
mod tensor_type;
mod variable;
mod verify;

pub use cell::Cell;
pub(crate) use cell::{Ahead, Watched};
pub(crate) use cell_set::{CellSet, LockedCells, NewValue};
pub use cell_set::{get_values, set_values};
pub(crate) use default_updates::{carried_states, default_updates};
pub(crate) use evaluate::{evaluate, perform};
pub use function_graph::{Def, FunctionGraph, Node, NodeId, Var, VarId};
pub(crate) use lock::{Endless, Lock};
pub use operand::{IntoOperand, Operand};
pub use parameters::Parameters;
pub use print::{debugprint, dot, listing};
pub(crate) use rebuild::{ancestors, rebuild};
pub(crate) use shared::fresh_id;
pub use shared::{SharedVariable, shared, shared_dynamic};
pub use source_location::{Place, written_at};
pub use tensor_type::TensorType;
pub use variable::{Apply, Constant, Kind, Variable, constant, matrix, scalar, tensor, tensor3, vector};
pub use verify::verify;
