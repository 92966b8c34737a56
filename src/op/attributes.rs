//! The attributes of ops.

use crate::graph::FunctionGraph;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use workalike_kernels::DType;

/// The attributes of an op, tagged by name: what files hold besides its id and version.
pub type Attributes = Vec<(String, Attr)>;

/// One attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    /// A whole number.
    Int(i64),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Text.
    Text(String),
    /// A dtype.
    Type(DType),
    /// A graph, of public ops.
    Graph(AttrGraph),
}

/// A graph as an attribute. It equals only itself: graphs are not compared.
#[derive(Clone)]
pub struct AttrGraph(pub Arc<FunctionGraph>);

impl PartialEq for AttrGraph {
    fn eq(&self, other: &AttrGraph) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AttrGraph {}

impl Hash for AttrGraph {
    fn hash<H: Hasher>(&self, to: &mut H) {
        std::ptr::hash(Arc::as_ptr(&self.0), to);
    }
}

impl fmt::Debug for AttrGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a graph of {} nodes at {:p}", self.0.nodes.len(), Arc::as_ptr(&self.0))
    }
}

/// Whole numbers as an attribute.
pub(crate) fn ints(list: &[usize]) -> Attr {
    Attr::Ints(list.iter().map(|&n| n as i64).collect())
}
