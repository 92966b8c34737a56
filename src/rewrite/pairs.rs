//! Elementwise ops that do to both parts of complex numbers what they do to a real number.

use super::terms::{Terms, WHOLE};
use super::transform;
use crate::error::Result;
use crate::graph::{Def, FunctionGraph, Node, VarId};
use crate::ops::complex::{ComplexOf, ImagPart, RealPart, ViewAsComplex, ViewAsReal};
use crate::ops::elemwise::Elemwise;
use crate::ops::{Bound, DimShuffle, Slot, Subtensor};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of ops on top of each other that are looked through: a graph may be as deep as it is large.
const DEEPEST: usize = 64;

/// The pass: `complex(f(real(z), r), f(imag(z), r))` becomes `view_as_complex(f(view_as_real(z), r))`, where
/// the real `r` gets an axis behind its others. An array is then written in one piece instead of two, which
/// the kernel of a reader can compute itself, such as the one that orders elements for a transform.
///
/// It runs after `simplify`, which leaves no parts of numbers that were made of parts. Results with other
/// readers stay apart.
///
/// # Errors
/// If the new graph is ill-formed, which is a bug.
pub fn pairs(graph: &FunctionGraph) -> Result<FunctionGraph> {
    let mut pass = PairSearch { graph, uses: graph.uses(), became: HashMap::new() };
    transform(graph, |new, node, inputs| {
        pass.became.extend(node.inputs.iter().copied().zip(inputs.iter().copied()));
        let ([re, im], true) = (&node.inputs[..], node.op.downcast::<ComplexOf>().is_some()) else {
            return Ok(None);
        };
        let Some(pairs) = pass.of(new, *re, *im, DEEPEST)? else { return Ok(None) };
        // Of reals alone there are no pairs.
        if new.var(pairs).ty.shape.last() != Some(&Some(2)) {
            return Ok(None);
        }
        Ok(Some(vec![new.apply(Arc::new(ViewAsComplex), vec![pairs])?]))
    })
}

struct PairSearch<'g> {
    graph: &'g FunctionGraph,
    uses: Vec<u32>,
    /// From variables of the graph to those of the new one.
    became: HashMap<VarId, VarId>,
}

impl PairSearch<'_> {
    /// The pairs of these real and imaginary parts; of a real number that is in both places the number, for
    /// each part. `None` if they are no elementwise results of pairs, or too deep.
    fn of(&self, new: &mut FunctionGraph, re: VarId, im: VarId, depth: usize) -> Result<Option<VarId>> {
        if re == im {
            let Some(&number) = self.became.get(&re) else { return Ok(None) };
            return for_each_part(new, number).map(Some);
        }
        let (Some(re_node), Some(im_node)) = (self.node(re), self.node(im)) else { return Ok(None) };
        if let Some(pairs) = self.taken_apart(new, re_node, im_node)? {
            return Ok(Some(pairs));
        }
        let alone = self.uses[re as usize] == 1 && self.uses[im as usize] == 1;
        if depth == 0 || !alone {
            return Ok(None);
        }
        let order = |node: &Node| node.op.downcast::<DimShuffle>().map(|op| op.order.clone());
        if let (Some(mut order), true) = (order(re_node), order(re_node) == order(im_node)) {
            let (re, im) = (re_node.inputs[0], im_node.inputs[0]);
            let Some(pairs) = self.of(new, re, im, depth - 1)? else { return Ok(None) };
            order.push(Some(self.graph.var(re).ty.ndim()));
            return new.apply(Arc::new(DimShuffle { order }), vec![pairs]).map(Some);
        }
        let scalar = |node: &Node| node.op.downcast::<Elemwise>().map(|op| op.op);
        if scalar(re_node).is_none() || scalar(re_node) != scalar(im_node) {
            return Ok(None);
        }
        let mut args = Vec::with_capacity(re_node.inputs.len());
        for (&re, &im) in re_node.inputs.iter().zip(&im_node.inputs) {
            let Some(arg) = self.of(new, re, im, depth - 1)? else { return Ok(None) };
            args.push(arg);
        }
        new.apply(re_node.op.clone(), args).map(Some)
    }

    fn node(&self, id: VarId) -> Option<&Node> {
        match self.graph.var(id).def {
            Def::Output { node, .. } => self.graph.nodes.get(node as usize),
            _ => None,
        }
    }

    /// The pairs of which these ops are the parts.
    fn taken_apart(&self, new: &mut FunctionGraph, re: &Node, im: &Node) -> Result<Option<VarId>> {
        let (Some(&from), true) = (re.inputs.first(), re.inputs == im.inputs) else { return Ok(None) };
        let Some(&pairs) = self.became.get(&from) else { return Ok(None) };
        if re.op.downcast::<RealPart>().is_some() && im.op.downcast::<ImagPart>().is_some() {
            return new.apply(Arc::new(ViewAsReal), vec![pairs]).map(Some);
        }
        let last = |node: &Node| {
            let (slot, others) = node.op.downcast::<Subtensor>()?.slots.split_last()?;
            let whole =
                others.len() + 1 == self.graph.var(from).ty.ndim() && others.iter().all(|s| *s == WHOLE);
            match slot {
                Slot::Index(Bound::At(at)) if whole => Some(*at),
                _ => None,
            }
        };
        let both = self.graph.var(from).ty.shape.last() == Some(&Some(2));
        Ok((both && last(re) == Some(0) && last(im) == Some(1)).then_some(pairs))
    }
}

/// A real number with an axis of extent 1 behind its others.
fn for_each_part(new: &mut FunctionGraph, number: VarId) -> Result<VarId> {
    if let Some(value) = new.value(&number) {
        let shape: Vec<usize> = value.shape().iter().copied().chain([1]).collect();
        return Ok(new.constant(value.reshaped(&shape)?));
    }
    let order = (0..new.var(number).ty.ndim()).map(Some).chain([None]).collect();
    new.apply(Arc::new(DimShuffle { order }), vec![number])
}
