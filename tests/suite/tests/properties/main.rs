//! Properties for random shapes and graphs: broadcasting and slicing agree with ndarray; fused, unfused and
//! reference results are equal; loaded Functions equal the saved ones.

#[path = "../../../common/random.rs"]
mod random;

mod loops;

use ndarray::{ArrayD, IxDyn, Slice, SliceInfoElem};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use workalike::ops::Ix;
use workalike::prelude::{Host, Open, Options, Variable, arange, function, shared, softmax, tensor, where_};
use workalike::{DType, Value, args};
use workalike_suite::wide::Wide;

fn failed(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// An array of small integers, each different from its neighbours.
fn counted(shape: &[usize]) -> ArrayD<f64> {
    let mut at = 0usize;
    ArrayD::from_shape_fn(IxDyn(shape), |_| {
        at += 1;
        ((at * 7919 + 13) % 101) as f64 - 50.0
    })
}

/// A Variable for an array; axes of extent 1 broadcast.
fn variable(name: &str, shape: &[usize]) -> Variable {
    let axes: Vec<Option<usize>> = shape.iter().map(|&e| (e == 1).then_some(1)).collect();
    tensor::<f64>(name, axes).named(name)
}

/// Two shapes that broadcast together: a common shape, of which each side lacks leading axes or has extents
/// of 1.
fn broadcastable() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    let axis = (0usize..5, any::<bool>(), any::<bool>());
    (prop::collection::vec(axis, 0..5), 0usize..4, 0usize..4).prop_map(|(axes, cut_a, cut_b)| {
        let side = |cut: usize, one: fn(&(usize, bool, bool)) -> bool| {
            let all: Vec<usize> = axes.iter().map(|a| if one(a) { 1 } else { a.0 }).collect();
            all[cut.min(all.len())..].to_vec()
        };
        (side(cut_a, |a| a.1), side(cut_b, |a| a.2))
    })
}

/// One slice of an axis: start, stop and step, as in Python.
type Piece = (Option<i64>, Option<i64>, i64);

fn piece() -> impl Strategy<Value = Piece> {
    let bound = || prop::option::of(-9i64..10);
    (bound(), bound(), prop_oneof![1i64..4, -3i64..0])
}

/// The positions that a slice selects in Python.
fn positions((start, stop, step): Piece, extent: usize) -> Vec<usize> {
    let n = extent as i64;
    let clamp = |b: i64, low: i64, high: i64| (if b < 0 { b + n } else { b }).clamp(low, high);
    let (first, last) = if step > 0 {
        (start.map_or(0, |b| clamp(b, 0, n)), stop.map_or(n, |b| clamp(b, 0, n)))
    } else {
        (start.map_or(n - 1, |b| clamp(b, -1, n - 1)), stop.map_or(-1, |b| clamp(b, -1, n - 1)))
    };
    let mut at = first;
    let mut taken = Vec::new();
    while if step > 0 { at < last } else { at > last } {
        taken.push(at as usize);
        at += step;
    }
    taken
}

/// One op of a random graph over the previous Variables.
#[derive(Clone, Debug)]
enum Grow {
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

fn grow() -> impl Strategy<Value = Grow> {
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
fn graph(leaves: &[Variable], steps: &[Grow]) -> Vec<Variable> {
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

/// The largest difference between arrays of float64, relative to the largest magnitude (or 1).
fn distance(a: &Value, b: &Value) -> f64 {
    let (a, b) = (a.to_f64s(), b.to_f64s());
    let scale = b.iter().fold(1f64, |m, v| m.max(v.abs()));
    a.iter().zip(&b).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max)
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

/// One update of a vector by the old value of the first, second or another variable of the Function.
#[derive(Clone, Debug)]
struct Change {
    length: usize,
    from: usize,
    how: u8,
}

fn change() -> impl Strategy<Value = Change> {
    let length = prop_oneof![Just(1usize), Just(4), Just(5), Just(700)];
    (length, 0usize..16, 0u8..7).prop_map(|(length, from, how)| Change { length, from, how })
}

/// Runs all updates together, three times: on devices that join them, on one that does not, and by the
/// reference.
fn check_updates(changes: &[Change]) -> workalike::Result<Result<(), String>> {
    let cells: Vec<_> = (changes.iter().enumerate())
        .map(|(i, change)| {
            let values = counted(&[change.length]).mapv(|v| (v + i as f64) / 64.0);
            shared(&format!("cell{i}"), Value::from(&values))
        })
        .collect();
    let x = tensor::<f64>("x", [Some(5)]).named("x");
    let mut f = function([&x]).output(&x * 2.0);
    for (own, change) in cells.iter().zip(changes) {
        let other = &cells[change.from % cells.len()];
        let new = match change.how {
            0 => own * 0.5 + 1.0,
            1 => own - other.sum(..) * 0.01,
            2 => own + other.max(..),
            3 => own.index([Ix::from(..).step(-1)]) * 0.75,
            4 => own * 0.5 + other.index([Ix::from(..1)]) + x.sum(..),
            5 => (own * 0.5).tanh() + own.sum(..) * 0.001,
            // The new value of another variable, which that variable is assigned too.
            _ => own * 0.25 - other.index([Ix::from(..).step(-1)]).sum(..) * 0.01,
        };
        f = f.update(own, new).output(own.sum(..));
    }
    let f = f.compile()?;
    let plain = Options { strict: true, fuse: false, ..Options::default() };
    let mut devices = [
        ("fused", f.fork()?.optimize(Host::threads(2).strict())?),
        ("fused wide", f.fork()?.optimize(Wide.strict())?),
        ("unfused", f.fork()?.optimize(Host::threads(1).with_options(plain))?),
    ];
    for step in 0..3 {
        let args = || args![counted(&[5]) + f64::from(step)];
        let want = f.call_reference(args())?;
        for (what, simulator) in &mut devices {
            let got = simulator.call(args())?;
            for (i, want) in want.iter().map(|(_, want)| want).enumerate() {
                let off = distance(&got[i], want);
                if off > 1e-10 {
                    return Ok(Err(format!(
                        "step {step}, output {i}, {what}: {:?} is {off:e} from {want:?}",
                        got[i]
                    )));
                }
            }
            for (i, cell) in cells.iter().enumerate() {
                let name = format!("cell{i}");
                let (got, want) = (simulator.get_value(&name)?, cell.get_value()?);
                let off = distance(&got, &want);
                if off > 1e-10 {
                    return Ok(Err(format!("step {step}, {name}, {what}: {got:?} is {off:e} from {want:?}")));
                }
            }
        }
    }
    Ok(Ok(()))
}

proptest! {
    #![proptest_config(random::config(400))]

    #[test]
    fn broadcasting_is_ndarrays((a, b) in broadcastable()) {
        let (x, y) = (variable("x", &a), variable("y", &b));
        let (left, right) = (counted(&a), counted(&b) + 0.5);
        let f = function([&x, &y]).output(&x + &y).output(y.less(&x)).compile().map_err(failed)?;
        let want = &left + &right;
        let got = f.call(args![&left, &right]).map_err(failed)?;
        prop_assert_eq!(got[0].to_array::<f64>().map_err(failed)?, want.clone());
        let reference = f.call_reference(args![&left, &right]).map_err(failed)?;
        prop_assert_eq!(&got[0], &reference[0]);
        prop_assert_eq!(&got[1], &reference[1]);
        prop_assert_eq!(got[1].shape(), want.shape());
    }

    #[test]
    fn shapes_that_do_not_broadcast_are_errors(rows in 2usize..6, columns in 2usize..6, more in 1usize..4) {
        let (x, y) = (variable("x", &[rows, columns]), variable("y", &[columns + more]));
        let f = function([&x, &y]).output(&x + &y).compile().map_err(failed)?;
        let (a, b) = (counted(&[rows, columns]), counted(&[columns + more]));
        prop_assert!(f.call(args![&a, &b]).is_err());
        prop_assert!(f.call_reference(args![&a, &b]).is_err());
    }

    #[test]
    fn slicing_is_ndarrays(
        shape in prop::collection::vec(0usize..8, 1..4),
        pieces in prop::collection::vec(piece(), 1..4),
        write in any::<bool>(),
    ) {
        let pieces = &pieces[..pieces.len().min(shape.len())];
        let x = variable("x", &shape);
        let array = counted(&shape);
        let entries: Vec<Ix> = pieces
            .iter()
            .map(|&(start, stop, step)| Ix::Slice {
                start: start.map(Variable::constant),
                stop: stop.map(Variable::constant),
                step,
            })
            .collect();
        let taken: Vec<Vec<usize>> = pieces.iter().zip(&shape).map(|(p, &e)| positions(*p, e)).collect();
        let mut want = array.clone();
        if write {
            let output = x.set_index(&entries, 1000.0);
            let f = function([&x]).output(output).compile().map_err(failed)?;
            for (index, element) in want.indexed_iter_mut() {
                if taken.iter().enumerate().all(|(axis, list)| list.contains(&index[axis])) {
                    *element = 1000.0;
                }
            }
            prop_assert_eq!(f.call(args![&array]).map_err(failed)?[0].to_array::<f64>().map_err(failed)?, want.clone());
            prop_assert_eq!(f.call_reference(args![&array]).map_err(failed)?[0].to_array::<f64>().map_err(failed)?, want);
        } else {
            let f = function([&x]).output(x.index(&entries)).compile().map_err(failed)?;
            for (axis, list) in taken.iter().enumerate() {
                want = want.select(ndarray::Axis(axis), list);
            }
            // If ndarray's slices can express it, they agree with the list of positions.
            if pieces.iter().all(|p| p.2 > 0) {
                let info: Vec<SliceInfoElem> = (0..shape.len())
                    .map(|axis| match taken.get(axis) {
                        Some(list) if list.is_empty() => Slice::from(0..0).into(),
                        Some(list) => {
                            let stop = list[list.len() - 1] as isize + 1;
                            Slice::new(list[0] as isize, Some(stop), pieces[axis].2 as isize).into()
                        }
                        None => Slice::from(..).into(),
                    })
                    .collect();
                prop_assert_eq!(array.slice(info.as_slice()).to_owned(), want.clone());
            }
            prop_assert_eq!(f.call(args![&array]).map_err(failed)?[0].to_array::<f64>().map_err(failed)?, want.clone());
            prop_assert_eq!(f.call_reference(args![&array]).map_err(failed)?[0].to_array::<f64>().map_err(failed)?, want);
        }
    }

    #[test]
    fn reductions_are_ndarrays(shape in prop::collection::vec(1usize..7, 1..5), axis in 0usize..4) {
        let axis = axis % shape.len();
        let (x, array) = (variable("x", &shape), counted(&shape));
        let f = function([&x]).output(x.sum([axis as isize])).output(x.t().max([-1 - axis as isize])).compile().map_err(failed)?;
        let got = f.call(args![&array]).map_err(failed)?;
        prop_assert_eq!(got[0].to_array::<f64>().map_err(failed)?, array.sum_axis(ndarray::Axis(axis)));
        let max = array.fold_axis(ndarray::Axis(axis), f64::NEG_INFINITY, |a, b| a.max(*b));
        prop_assert_eq!(got[1].to_array::<f64>().map_err(failed)?, max.reversed_axes());
        prop_assert_eq!(got[0].dtype(), DType::F64);
    }

    #[test]
    fn updates_side_by_side_are_the_references(changes in prop::collection::vec(change(), 1..12)) {
        check_updates(&changes).map_err(failed)?.map_err(failed)?;
    }

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
