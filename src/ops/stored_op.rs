//! An op as a file has it: id, version and attributes by name.

use crate::graph::FunctionGraph;
use crate::op::{Attr, AttrGraph, Attributes, OpGroup};
use std::sync::Arc;
use workalike_kernels::DType;

/// Numbers in one attribute of an op of this library; none needs more, and each node of a graph may look at
/// all of them.
const MOST_NUMBERS: usize = 1024;

/// An op as a file holds it.
#[derive(Clone, Copy, Debug)]
pub struct StoredOp<'a> {
    pub(super) id: &'a str,
    pub(super) version: u32,
    pub(super) attributes: &'a Attributes,
    /// Whether its kernels in C may be compiled.
    pub(super) kernels: bool,
}

impl<'a> StoredOp<'a> {
    /// An op of this id, version and attributes.
    pub fn new(id: &'a str, version: u32, attributes: &'a Attributes) -> StoredOp<'a> {
        StoredOp { id, version, attributes, kernels: false }
    }

    /// The id.
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// The version that wrote it.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// All attributes.
    pub fn attributes(&self) -> &'a Attributes {
        self.attributes
    }

    /// The attribute of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self, name: &str) -> Result<&'a Attr, String> {
        let found = self.attributes.iter().find(|a| a.0 == name);
        found.map(|a| &a.1).ok_or_else(|| format!("attribute {name} is missing"))
    }

    /// The whole number of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn int(&self, name: &str) -> Result<i64, String> {
        match self.find(name)? {
            Attr::Int(n) => Ok(*n),
            other => Err(other.instead_of(name, "a whole number")),
        }
    }

    /// The whole numbers of this name.
    ///
    /// # Errors
    /// If there are none.
    pub fn ints(&self, name: &str) -> Result<&'a [i64], String> {
        match self.find(name)? {
            Attr::Ints(list) => Ok(list),
            other => Err(other.instead_of(name, "a list of whole numbers")),
        }
    }

    /// The text of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn text(&self, name: &str) -> Result<&'a str, String> {
        match self.find(name)? {
            Attr::Text(text) => Ok(text),
            other => Err(other.instead_of(name, "text")),
        }
    }

    /// The dtype of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn dtype(&self, name: &str) -> Result<DType, String> {
        match self.find(name)? {
            Attr::Type(dtype) => Ok(*dtype),
            other => Err(other.instead_of(name, "a dtype")),
        }
    }

    /// The graph of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn graph(&self, name: &str) -> Result<&'a Arc<FunctionGraph>, String> {
        match self.find(name)? {
            Attr::Graph(AttrGraph(graph)) => Ok(graph),
            other => Err(other.instead_of(name, "a graph")),
        }
    }

    /// Its group.
    pub(super) fn group(&self) -> Result<OpGroup, String> {
        let divides = self.find("divides").is_ok() && self.int("divides")? != 0;
        Ok(OpGroup { divides, ..OpGroup::new(self.text("group")?) })
    }

    pub(super) fn check_lengths(&self) -> Result<(), String> {
        let long = |a: &&(String, Attr)| matches!(&a.1, Attr::Ints(list) if list.len() > MOST_NUMBERS);
        match self.attributes.iter().find(long) {
            Some((name, _)) => Err(format!("attribute {name} of op {} has too many numbers", self.id)),
            None => Ok(()),
        }
    }

    pub(super) fn index(&self, name: &str) -> Result<usize, String> {
        usize::try_from(self.int(name)?).map_err(|e| format!("attribute {name}: {e}"))
    }

    pub(super) fn axes(&self, name: &str) -> Result<Vec<usize>, String> {
        let axes = self.ints(name)?.iter().map(|&n| usize::try_from(n));
        axes.collect::<Result<_, _>>().map_err(|e| format!("attribute {name}: {e}"))
    }
}

impl Attr {
    fn instead_of(&self, name: &str, expected: &str) -> String {
        let given = match self {
            Attr::Int(_) => "a whole number",
            Attr::Ints(_) => "a list of whole numbers",
            Attr::Text(_) => "text",
            Attr::Type(_) => "a dtype",
            Attr::Graph(_) => "a graph",
        };
        format!("attribute {name}: expected {expected}, got {given}")
    }
}
