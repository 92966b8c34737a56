//! Random graphs: fused, unfused and reference results are equal, and those of a loaded Function.

use super::{counted, distance, failed, random};
use proptest::prelude::*;
use workalike::ops::Ix;
use workalike::prelude::{Host, Open, Options, Variable, arange, function, softmax, tensor, where_};
use workalike::{Value, args};
use workalike_suite::wide::Wide;

/// One op of a random graph over the previous Variables.
#[derive(Clone, Debug)]
pub(crate) enum Grow {
    Unary(u8, usize),
    Binary(u8, usize, usize),
    Reduce(u8, usize, u8),
    Transpose(usize),
    Reverse(usize),
    Rows(usize),
    Softmax(usize),
    Choice(usize, bool),
    Product(usize),
}

pub(crate) fn grow() -> impl Strategy<Value = Grow> {
    let pick = || 0usize..64;
    prop_oneof![
        4 => (0u8..5, pick()).prop_map(|(op, a)| Grow::Unary(op, a)),
        5 => (0u8..6, pick(), pick()).prop_map(|(op, a, b)| Grow::Binary(op, a, b)),
        2 => (0u8..4, pick(), 0u8..3).prop_map(|(op, a, axes)| Grow::Reduce(op, a, axes)),
        1 => pick().prop_map(Grow::Transpose),
        1 => pick().prop_map(Grow::Reverse),
        1 => pick().prop_map(Grow::Rows),
        1 => pick().prop_map(Grow::Softmax),
        1 => (pick(), any::<bool>()).prop_map(|(a, set)| Grow::Choice(a, set)),
        1 => pick().prop_map(Grow::Product),
    ]
}

/// Builds a graph op by op, over matrices of static shapes (rows, columns), (1, columns), (rows, 1) and (1,
/// 1). Returns every Variable.
pub(crate) fn graph(leaves: &[Variable], steps: &[Grow]) -> Vec<Variable> {
    let mut made = leaves.to_vec();
    for step in steps {
        let at = |i: &usize| made[i % made.len()].clone();
        let next = match step {
            // All values stay moderate, so that errors stay bounded.
            Grow::Unary(op, a) => match op {
                0 => at(a).tanh(),
                1 => at(a).sigmoid(),
                2 => -at(a),
                3 => (at(a).sqr() + 1.0).sqrt(),
                _ => at(a).sin(),
            },
            Grow::Binary(op, a, b) => match op {
                0 => at(a) + at(b),
                1 => at(a) - at(b),
                2 => at(a) * at(b).tanh(),
                3 => at(a).maximum(at(b)),
                4 => where_(at(a).less(at(b)), at(b), at(a) * 0.5),
                _ => at(a) / (at(b).sqr() + 1.0),
            },
            Grow::Reduce(op, a, axes) => {
                let axis = isize::from(*axes == 1);
                let axes: &[isize] = if *axes == 2 { &[0, 1] } else { &[axis] };
                let reduced = match op {
                    0 => at(a).mean(axes),
                    1 => at(a).max(axes),
                    2 => at(a).min(axes),
                    _ => at(a).sum(axes) * 0.1,
                };
                if axes.len() == 2 { reduced.dimshuffle([None, None]) } else { reduced.expand_dims(axis) }
            }
            Grow::Transpose(a) => at(a).t().t() + at(a).t().sum(0).expand_dims(1) * 0.1,
            Grow::Reverse(a) => at(a).index([Ix::from(..).step(-1)]) * 0.5,
            Grow::Rows(a) => {
                let x = at(a);
                x.index([Ix::from(arange(x.extent(0)))]) + 0.25
            }
            Grow::Softmax(a) => softmax(at(a), 1),
            Grow::Choice(a, set) => {
                let x = at(a);
                // The condition is on inputs, not on computed values, which round differently and could
                // select differently.
                let column = made[0].argmax(1).minimum(x.extent(1) - 1);
                let places = [Ix::from(arange(x.extent(0))), Ix::from(column)];
                if *set { x.set_index(places, x.sum(1) * 0.01) } else { x.inc_index(places, -0.5) }
            }
            Grow::Product(a) => {
                let x = at(a).tanh();
                (&x * 0.1).dot(x.t()).dot(&x) * 0.01
            }
        };
        // An ill-typed step (a broadcast that does not fit) is left out.
        if next.checked().is_ok() {
            made.push(next);
        }
    }
    made
}

fn check_graph(rows: usize, columns: usize, steps: &[Grow]) -> workalike::Result<Result<(), String>> {
    let shapes = [[rows, columns], [1, columns], [rows, 1]];
    let fixed = |name: &str, shape: &[usize; 2]| tensor::<f64>(name, shape.map(Some).to_vec());
    let leaves = [fixed("a", &shapes[0]), fixed("row", &shapes[1]), fixed("column", &shapes[2])];
    let numbers = |shape: &[usize], seed: f64| {
        let len = shape.iter().product::<usize>();
        Value::from_vec(shape, (0..len).map(|i| ((i as f64 + seed) * 1.37).sin() * 2.0).collect::<Vec<f64>>())
    };
    let args = || -> workalike::Result<_> {
        Ok(args![numbers(&shapes[0], 0.1)?, numbers(&shapes[1], 50.2)?, numbers(&shapes[2], 90.3)?])
    };
    let made = graph(&leaves, steps);
    // The last Variable is an output, and some others, so that fusion must keep them.
    let outputs = made[leaves.len()..].iter().rev().step_by(3).take(6);
    let f = function(&leaves).outputs(outputs).allow_unused_inputs().compile()?;
    let reference = f.call_reference(args()?)?;
    let loaded =
        workalike::prelude::Bundle::from_bytes(&workalike::prelude::Bundle::new().with("f", &f).to_bytes()?)?;
    let again = loaded["f"].call_reference(args()?)?;
    let fused = f.optimize(Host::threads(2).strict())?.call(args()?)?;
    let wide = f.optimize(Wide.strict())?.call(args()?)?;
    let unfused = f
        .optimize(Host::threads(1).with_options(Options { strict: true, fuse: false, ..Options::default() }))?
        .call(args()?)?;
    for i in 0..reference.len() {
        if again[i] != reference[i] {
            return Ok(Err(format!("output {i} differs after save and load")));
        }
        for (what, got) in [("fused", &fused[i]), ("fused wide", &wide[i]), ("unfused", &unfused[i])] {
            let off = distance(got, &reference[i]);
            if got.shape() != reference[i].shape() || off > 1e-10 {
                return Ok(Err(format!("output {i}, {what}: {got:?} is {off:e} from {:?}", reference[i])));
            }
        }
    }
    Ok(Ok(()))
}

proptest! {
    #![proptest_config(random::config(400))]

    #[test]
    fn fused_is_unfused_is_the_reference(
        rows in 1usize..9,
        columns in prop_oneof![1usize..9, Just(300usize), Just(1100)],
        steps in prop::collection::vec(grow(), 1..25),
    ) {
        check_graph(rows, columns, &steps).map_err(failed)?.map_err(failed)?;
    }
}

/// Graphs that random tests found.
#[test]
fn graphs_that_failed_once() {
    use Grow::{Binary, Reverse, Rows, Softmax, Unary};
    // Equal nodes, of which one was written when less was known about its operands.
    let equal_nodes = [
        Rows(24),
        Unary(0, 0),
        Unary(0, 0),
        Unary(0, 10),
        Softmax(0),
        Unary(0, 0),
        Binary(0, 22, 4),
        Unary(0, 14),
        Unary(0, 0),
        Unary(0, 0),
        Unary(0, 0),
        Reverse(14),
        Unary(0, 0),
        Unary(0, 62),
        Unary(0, 0),
        Unary(0, 0),
        Reverse(22),
        Unary(0, 0),
        Unary(0, 4),
        Unary(0, 17),
        Unary(0, 0),
        Unary(0, 0),
        Binary(0, 4, 0),
    ];
    check_graph(2, 1, &equal_nodes).unwrap().unwrap();
}

/// A wide device splits such a product along k, and the sum of the parts is fused with its consumer.
#[test]
fn a_deep_product_in_parts_is_the_product() -> workalike::Result<()> {
    let fixed = |name: &str, shape: [usize; 2]| tensor::<f64>(name, shape.map(Some).to_vec());
    let (x, w) = (fixed("x", [96, 4096]), fixed("w", [4096, 100]));
    let f = function([&x, &w]).output(x.dot(&w) + 1.0).output(x.dot(&w).t() * 2.0).compile()?;
    let args = || args![counted(&[96, 4096]), counted(&[4096, 100])];
    let mut wide = f.optimize(Wide.strict())?;
    let (got, want) = (wide.call(args())?, f.call_reference(args())?);
    let parts = wide.explain();
    assert!(parts.contains("matmul float64 8x96x100x512") && parts.contains("sum_of_parts"), "{parts}");
    for i in 0..want.len() {
        // Integers: the sum is exact in any order.
        assert_eq!(got[i], want[i], "output {i}");
    }
    Ok(())
}
