//! Ops of a file that this program cannot decode: kept, so that the file can be saved again, but never run.

use super::Op;
use super::arguments::Gradient;
use super::attributes::Attributes;
use crate::error::{Error, Result};
use crate::graph::{FunctionGraph, TensorType, Variable};
use crate::value::Value;

/// A file's description of an op, and why it could not be decoded.
#[derive(Clone, Debug)]
pub(crate) struct UnknownOp {
    pub(crate) id: String,
    pub(crate) version: u32,
    pub(crate) attributes: Attributes,
    pub(crate) why: String,
}

impl UnknownOp {
    /// The first op of a graph that could not be decoded.
    pub(crate) fn first_of(graph: &FunctionGraph) -> Option<&UnknownOp> {
        graph.nodes.iter().find_map(|node| UnknownOp::of(node.op.as_ref()))
    }

    /// The op as one that could not be decoded, if it is one.
    pub(crate) fn of(op: &dyn Op) -> Option<&UnknownOp> {
        op.downcast()
    }
}

impl Op for UnknownOp {
    fn id(&self) -> &'static str {
        "unknown"
    }

    fn label(&self) -> String {
        self.id.clone()
    }

    fn types(&self, _: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Err(self.why.clone())
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Err(Error::Compile(self.why.clone()))
    }

    fn perform(&self, _: &[Value]) -> Result<Vec<Value>> {
        Err(Error::Compile(self.why.clone()))
    }
}
