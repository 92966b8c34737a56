//! Local rewrite rules as values: this library's and users'.

use super::rules::{BuiltIn, FAMILIES, scalar_op};
use super::terms::{Dag, Same, Terms};
use crate::error::Result;
use crate::graph::Variable;
use crate::op::Op;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use workalike_kernels::ops::ScalarOp;

/// A rule on Variables.
type Replace = dyn Fn(&dyn Op, &[Variable]) -> Result<Option<Variable>> + Send + Sync;

/// A local rewrite rule: it gets an op and its inputs, and may return an expression that replaces the op's
/// output.
///
/// [`Rewrites`](super::Rewrites) holds this library's rules and added ones. An added rule sees the graph as
/// Variables, whether the graph was compiled or loaded:
///
/// - [`Variable::owner`] returns the op that made an input, and its inputs; [`argument`] and
///   [`uniform`](super::uniform()) look for common patterns.
/// - The inputs of an elementwise op have one rank, and the dtypes that the op takes: new axes are a
///   `dimshuffle` op, conversions a `cast` op. Equal expressions are one: compare them with
///   [`Variable::is_same`].
/// - Shared variables are inputs here. Ops with several outputs are not passed to rules.
/// - The replacement is any expression of these Variables. Its type must be that of the op's output: the same
///   dtype and rank, and each known extent. An unknown extent may become known, but not as 1, which
///   broadcasts.
/// - An extent that a type does not know may turn out to be 1 and broadcast: `x * y` has the shape of `x`
///   only where the extents of `y` are 1, or known to be those of `x`. A rule that drops an input keeps its
///   shape: [`full_like(&inputs[0], x)`](crate::ops::full_like) reads only the shape of its first argument.
///
/// ```
/// use workalike::kernels::ops::{ADD, COS, SIN, SQR};
/// use workalike::prelude::*;
/// use workalike::rewrite::{Rewrites, Rule, argument};
///
/// let rule = Rule::elementwise("my.pythagoras", "sin(x)^2 + cos(x)^2 is 1 of finite x", ADD, |inputs| {
///     let angle = |v: &Variable, wave| argument(&argument(v, SQR)?, wave);
///     match (angle(&inputs[0], SIN), angle(&inputs[1], COS)) {
///         (Some(x), Some(same)) if x.is_same(&same) => Ok(Some(ones_like(&x))),
///         _ => Ok(None),
///     }
/// });
/// let x = vector::<f64>("x");
/// let one = x.sin().sqr() + x.cos().sqr();
/// let f = function([&x]).output(&one).rewrites(Rewrites::default().with_rule(rule)?).compile()?;
/// assert!(f.graph().nodes.iter().all(|node| node.op.label() != "sin"));
/// assert_eq!(f.call(args![vec![0.5, 2.0]])?[0].to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone)]
pub struct Rule {
    name: &'static str,
    doc: &'static str,
    pub(super) body: RuleKind,
}

/// The implementation of a rule.
#[derive(Clone)]
pub(super) enum RuleKind {
    /// A rule of this library.
    BuiltIn(&'static BuiltIn),
    /// A rule added by a program.
    Custom(Arc<Replace>),
}

impl Rule {
    /// A rule for any op with one output: `replace` gets the op and its inputs, and returns the replacement,
    /// or `None` where the rule does not apply. Its errors are errors of `compile`.
    ///
    /// Choose a unique name, e.g. with your crate's name in front. `doc` describes the rule in a sentence.
    pub fn new(
        name: &'static str,
        doc: &'static str,
        replace: impl Fn(&dyn Op, &[Variable]) -> Result<Option<Variable>> + Send + Sync + 'static,
    ) -> Rule {
        Rule { name, doc, body: RuleKind::Custom(Arc::new(replace)) }
    }

    /// A rule for one elementwise op, given by its row: see [`Rule::new`].
    pub fn elementwise(
        name: &'static str,
        doc: &'static str,
        op: ScalarOp,
        replace: impl Fn(&[Variable]) -> Result<Option<Variable>> + Send + Sync + 'static,
    ) -> Rule {
        Rule::new(
            name,
            doc,
            move |given, inputs| {
                if scalar_op(given) == Some(op) { replace(inputs) } else { Ok(None) }
            },
        )
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it does, and where it changes a value: special values such as NaN and infinities.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// This library's rules, in the order in which they are tried.
    pub(super) fn built_in() -> Vec<Rule> {
        let rules = FAMILIES.iter().flat_map(|family| family.iter());
        rules.map(|rule| Rule { name: rule.name, doc: rule.doc, body: RuleKind::BuiltIn(rule) }).collect()
    }

    /// Whether a program added it.
    pub(super) fn is_custom(&self) -> bool {
        matches!(self.body, RuleKind::Custom(_))
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("name", &self.name).field("doc", &self.doc).finish_non_exhaustive()
    }
}

/// The argument of `op`, an elementwise op of one argument, if it made `v`.
pub fn argument(v: &Variable, op: ScalarOp) -> Option<Variable> {
    Terms::argument(&Dag { closed: &HashSet::new() }, &Same(v.clone()), op).map(|same| same.0)
}
