use super::*;
use crate::ops::Elemwise;
use crate::prelude::*;
use workalike_kernels::ops::MUL;

/// Terms that are scaled very often, one after another: a recursion as deep would overflow the stack.
#[test]
fn chains_of_scales_have_a_bounded_depth() {
    let scale = MemberArray::replicated(scalar::<f32>("scale"));
    let mut term = MemberArray::term(scalar::<f32>("term"));
    for _ in 0..200_000 {
        let inputs = [term, scale.clone()];
        let mut made = Elemwise { op: MUL }.shard(&Shards { inputs: &inputs, group: "g" }).unwrap().unwrap();
        term = made.swap_remove(0);
        assert_eq!(term.sharding, Sharding::Partial(Fold::Sum));
    }
    let mut whole = term.gathered("g").unwrap();
    let mut scales = 0;
    while whole.owner().unwrap().0.op.label() == "multiply" {
        whole = whole.owner().unwrap().0.inputs[0].clone();
        scales += 1;
    }
    assert_eq!(whole.owner().unwrap().0.op.label(), "all_reduce[g]");
    assert!(scales <= MOST_SCALES, "{scales} scales follow the sum");
    // A few of them follow the sum instead.
    let inputs = [MemberArray::term(scalar::<f32>("term")), scale];
    let made = Elemwise { op: MUL }.shard(&Shards { inputs: &inputs, group: "g" }).unwrap().unwrap();
    let last = made[0].gathered("g").unwrap();
    assert_eq!(last.owner().unwrap().0.op.label(), "multiply");
}
