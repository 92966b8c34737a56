//! What calls infer, and what follows from shapes.

use super::*;
use crate::ops::range;
use crate::prelude::*;

fn demand(inputs: &[&Variable], output: &Variable) -> (Demand, usize) {
    let f = function(inputs.iter().copied()).output(output).compile().unwrap();
    let graph = f.graph();
    (Demand::of(graph), graph.nodes.len())
}

#[test]
fn what_follows_from_shapes_decides_nothing() {
    let (x, n) = (&matrix::<f32>("x"), &scalar::<i64>("n"));
    let rolled = &(x.roll(1, 0) + x.roll(-3, 1));
    let inner = x.pad([[1, 1], [2, 2]], Pad::Edge).index(idx![1.., range(2, x.extent(1))]);
    for follows in [rolled, &inner, &x.flip(1), &x.index(idx![range(0, x.extent(0) - 1)])] {
        let (demand, _) = demand(&[x], follows);
        assert!(demand.is_static(), "{:?}", demand.deciding);
    }
    // The end of a slice is given: each call infers what is sliced, and not what comes after.
    let (sliced, all) = demand(&[x, n], &(x.index(idx![range(0, n)]).roll(1, 0).roll(1, 1) + 1.0).exp());
    assert!(!sliced.is_static() && sliced.inputs == [1], "{:?}", sliced.inputs);
    let (first, _) = demand(&[x, n], &x.index(idx![range(0, n)]));
    assert!(sliced.needed.len() < all / 2 && first.needed.len() <= 2, "{:?} of {all}", sliced.needed);
}
