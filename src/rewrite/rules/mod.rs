//! The local rules of this library: each replaces an op, given its inputs, and keeps dtype and shape.
//!
//! One table per family, in the order in which rules are tried:
//!
//! - [`stability`]: forms that lose digits or overflow become forms that do not; also before differentiation.
//! - [`inverses`]: a function applied to its inverse.
//! - [`algebra`], [`factors`], [`powers`]: normal forms of sums, of products and quotients, and of powers.
//! - [`choices`], [`casts`], [`reductions`]: the same for `where` and extrema, conversions, and sums.
//! - [`slices`]: slices of slices, reads of a part that was just written or that a mask keeps, assertions
//!   known to hold.
//! - [`inc_subtensor`]: zeros to which parts are added.
//! - [`diagonals`]: diagonals of products, of elementwise results and of transposes: what traces sum.
//! - [`contractions`]: sums of multiples, sums of products that are matrix products, products with zeros.
//! - [`layout`]: views of views, and views that are the identity.
//! - [`complex`]: parts of complex numbers that were made of parts.

mod algebra;
mod casts;
mod choices;
mod complex;
mod contractions;
mod diagonals;
mod factors;
mod inc_subtensor;
mod inverses;
mod layout;
mod powers;
mod reductions;
mod slices;
pub(super) mod stability;

use super::terms::{CountedGraph, Dag, Same, Terms};
use crate::error::Result;
use crate::graph::VarId;
use crate::op::Op;
use crate::ops::elemwise::Elemwise;
use workalike_kernels::ops::ScalarOp;

/// The result of a rule: the replacement, if it applies.
pub(super) type Found<T> = Result<Option<<T as Terms>::V>>;

/// The ops that a rule may replace.
pub(super) enum Root {
    /// Elementwise ops.
    Elementwise(&'static [ScalarOp]),
    /// The op with this id.
    Op(&'static str),
}

/// A rule on the nodes of a graph.
type OnGraph = fn(&mut CountedGraph<'_>, &dyn Op, &[VarId]) -> Result<Option<VarId>>;
/// A rule on Variables.
type OnVariables = fn(&mut Dag<'_>, &dyn Op, &[Same]) -> Result<Option<Same>>;

/// A rule of this library, in one version for each form of expressions.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) root: Root,
    pub(super) on_graph: OnGraph,
    pub(super) on_variables: OnVariables,
}

impl BuiltIn {
    /// Whether it may replace this op.
    pub(super) fn is_for(&self, op: &dyn Op) -> bool {
        match self.root {
            Root::Elementwise(list) => scalar_op(op).is_some_and(|scalar| list.contains(&scalar)),
            Root::Op(id) => op.id() == id,
        }
    }
}

/// All families.
pub(super) static FAMILIES: &[&[BuiltIn]] = &[
    stability::RULES,
    inverses::RULES,
    algebra::RULES,
    factors::RULES,
    powers::RULES,
    choices::RULES,
    casts::RULES,
    reductions::RULES,
    slices::RULES,
    inc_subtensor::RULES,
    diagonals::RULES,
    contractions::RULES,
    layout::RULES,
    complex::RULES,
];

/// The row of an elementwise op.
pub(super) fn scalar_op(op: &dyn Op) -> Option<ScalarOp> {
    op.downcast::<Elemwise>().map(|elemwise| elemwise.op)
}

/// Declares the rules of a family, each a function of its name: `name on root => "what it does";`.
macro_rules! rules {
    ($($name:ident on $root:expr => $doc:literal;)*) => {
        /// The rules of this family, in the order in which they are tried.
        pub(in crate::rewrite) const RULES: &[$crate::rewrite::rules::BuiltIn] = &[
            $($crate::rewrite::rules::BuiltIn {
                name: stringify!($name),
                doc: $doc,
                root: $root,
                on_graph: |t, op, inputs| $name(t, op, inputs),
                on_variables: |t, op, inputs| $name(t, op, inputs),
            }),*
        ];
    };
}
use rules;
