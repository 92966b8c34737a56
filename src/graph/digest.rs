//! A digest of a graph: equal for equal graphs, in every process.

use super::function_graph::{Def, FunctionGraph};
use crate::error::Result;
use crate::op::Attr;
use sha2::{Digest, Sha256};

/// The digest of ops, types, constants and structure; names and source lines do not count.
///
/// # Errors
/// If the system refuses memory for a copy of a constant.
pub(crate) fn digest(graph: &FunctionGraph) -> Result<[u8; 32]> {
    let mut sha = Sha256::new();
    add(&mut sha, graph)?;
    Ok(sha.finalize().into())
}

/// A part, after its length, so that parts do not run into each other.
fn part(sha: &mut Sha256, bytes: &[u8]) {
    sha.update((bytes.len() as u64).to_le_bytes());
    sha.update(bytes);
}

fn ids(sha: &mut Sha256, ids: &[u32]) {
    sha.update((ids.len() as u64).to_le_bytes());
    ids.iter().for_each(|id| sha.update(id.to_le_bytes()));
}

fn add(sha: &mut Sha256, graph: &FunctionGraph) -> Result<()> {
    for var in &graph.vars {
        part(sha, var.ty.to_string().as_bytes());
        match &var.def {
            Def::Constant(value) => part(sha, value.contiguous()?.contiguous_bytes().unwrap_or(&[])),
            other => part(sha, format!("{other:?}").as_bytes()),
        }
    }
    for node in &graph.nodes {
        part(sha, node.op.id().as_bytes());
        sha.update(node.op.version().to_le_bytes());
        for (name, attribute) in node.op.attributes() {
            part(sha, name.as_bytes());
            match attribute {
                Attr::Graph(body) => add(sha, &body.0)?,
                other => part(sha, format!("{other:?}").as_bytes()),
            }
        }
        ids(sha, &node.inputs);
        ids(sha, &node.outputs);
    }
    [&graph.inputs, &graph.shared, &graph.outputs].into_iter().for_each(|list| ids(sha, list));
    let updates: Vec<u32> = graph.updates.iter().flat_map(|&(shared, id)| [shared, id]).collect();
    ids(sha, &updates);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::loops::fori;
    use crate::prelude::*;

    fn of(build: impl Fn(Variable) -> Variable) -> [u8; 32] {
        let x = vector::<f32>("x");
        digest(function([&x]).output(build(x)).compile().unwrap().graph()).unwrap()
    }

    #[test]
    fn equal_graphs_have_equal_digests() {
        let builds: [fn(Variable) -> Variable; 5] = [
            |x| x.exp().sum(..),
            |x| x.exp().sum(..) + 1.0,
            |x| x.exp().sum(..) + 2.0,
            |x| x.log().sum(..),
            |x| fori(3i64, &x, |_, x| x.exp()),
        ];
        let all: Vec<_> = builds.iter().map(of).collect();
        assert_eq!(all, builds.iter().map(of).collect::<Vec<_>>());
        (1..5).for_each(|i| assert!(!all[..i].contains(&all[i]), "{i}"));
    }
}
