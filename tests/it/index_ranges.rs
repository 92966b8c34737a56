//! Computed indices that are proved to be in range are not checked, and state is not guarded for them.

use workalike::kernels::interval::Interval;
use workalike::kernels::ops::{OpBody, ScalarOp};
use workalike::ops::{Elemwise, Op, Side};
use workalike::prelude::*;

const ROWS: usize = 16;

/// An index, from a counter, a vector of 16 floats, and a vector of 16 indices that a caller gives.
type At = fn(&Variable, &Variable, &Variable) -> Variable;

/// Adds to rows of a table at an index, and counts calls.
fn step(at: At) -> (Function, SharedVariable) {
    let (table, t) = (shared("table", Array2::<f32>::zeros((ROWS, 3))), shared("t", 0i64));
    let (x, given) = (tensor::<f32>("x", [Some(ROWS)]), tensor::<i64>("given", [Some(ROWS)]));
    let next = table.inc_index(idx![at(&t, &x, &given)], 1.0);
    let f = function([&x, &given]).allow_unused_inputs().update(&table, next).update(&t, &t + 1);
    (f.compile().unwrap(), table)
}

fn inputs() -> (Vec<f32>, Vec<i64>) {
    let x = (0..ROWS).map(|i| ((i * 7) % 16) as f32 * 1.75 - 9.0).collect();
    (x, (0..ROWS as i64).map(|i| (i * 5) % 16).collect())
}

/// The plan of the step after 20 calls, which must do what the reference does.
fn plan(name: &str, at: At) -> String {
    let (f, table) = step(at);
    let mut sim = f.optimize(Host::threads(1).strict()).unwrap();
    let (x, given) = inputs();
    for _ in 0..20 {
        sim.call(args![x.clone(), given.clone()]).unwrap();
    }
    let plan = sim.explain();
    let [found, calls] = ["table", "t"].map(|name| sim.get_value(name).unwrap());
    for _ in 0..20 {
        f.call_reference(args![x.clone(), given.clone()]).unwrap();
    }
    assert_eq!(found.to_vec::<f32>().unwrap(), table.get_value().unwrap().to_vec::<f32>().unwrap(), "{name}");
    assert_eq!(calls.item::<i64>().unwrap(), 20);
    plan
}

#[test]
fn an_index_that_cannot_leave_its_axis_costs_no_guard() {
    let proved: &[(&str, At)] = &[
        ("a counter, wrapped", |t, _, _| t % 16),
        ("one ahead, wrapped", |t, _, _| (t + 5i64) % 16),
        ("from the end", |t, _, _| (t * 7i64) % 16 - 16i64),
        ("bits", |t, _, _| t & 15i64),
        ("a quotient", |t, _, _| (t % 160).floor_divide(10i64)),
        ("clipped", |t, _, _| t.clip(0i64, 15i64)),
        ("a choice", |t, _, _| where_(t.greater(3i64), 2i64, 5i64)),
        ("a comparison", |_, x, _| x.less(0.0).cast(DType::I64)),
        ("narrow", |t, _, _| t.cast(DType::U8) >> 4),
        ("whole floats, wrapped", |_, x, _| (x.floor() % 16.0).cast(DType::I32)),
        ("the next of whole floats", |_, x, _| (x.floor().cast(DType::I32) % 16 + 1) % 16),
        ("clipped floats", |_, x, _| x.clip(0.0, 15.0).cast(DType::I64)),
        ("argmax", |_, x, _| x.argmax(0)),
        ("argsort", |_, x, _| x.argsort(0)),
        ("ranks", |_, x, _| x.argsort(0).argsort(0)),
        ("a sorted range", |t, _, _| ((arange(16i64) * 5i64 + t) % 16).sort(0)),
        ("runs", |_, x, _| x.less(0.0).cumsum(0) - 1i64),
        ("a sum of bools", |_, x, _| x.index(idx![..15]).less(0.0).cast(DType::I64).sum(0)),
        ("a table of indices", |t, x, _| x.argsort(0).index(idx![t % 16])),
        ("joined", |t, x, _| concatenate([x.argsort(0), t.reshape([1]) % 16], 0)),
        ("set", |t, x, _| x.argsort(0).set_index(idx![2], t % 16)),
        ("a reader's", |t, _, given| given.index(idx![t % 16])),
        ("found", |_, x, _| constant(vec![-1f32, 0.0, 3.0]).searchsorted(x, Side::Left)),
    ];
    for (name, at) in proved {
        let plan = plan(name, *at);
        for guard in ["check", "commit", "count_calls"] {
            assert!(!plan.contains(guard), "{name}: {plan}");
        }
    }
}

#[test]
fn an_index_that_may_leave_its_axis_is_checked() {
    let open: &[(&str, At)] = &[
        ("without a lower bound", |t, _, given| t.minimum(given.index(idx![0]))),
        ("floats that may be rounded to 16", |_, x, _| (x % 16.0).cast(DType::I64)),
    ];
    for (name, at) in open {
        let plan = plan(name, *at);
        assert!(plan.contains("count_calls"), "{name}: {plan}");
    }
    let (f, _) = step(|t, _, _| t * 9i64);
    let mut sim = f.optimize(Host::threads(1).strict()).unwrap();
    let (x, given) = inputs();
    sim.call(args![x.clone(), given.clone()]).unwrap();
    sim.call(args![x.clone(), given.clone()]).unwrap();
    let before = sim.get_value("table").unwrap().to_vec::<f32>().unwrap();
    let error = sim.call(args![x, given]).unwrap_err().to_string();
    assert!(error.contains("out of range"), "{error}");
    assert_eq!(sim.get_value("table").unwrap().to_vec::<f32>().unwrap(), before);
    assert_eq!(sim.get_value("t").unwrap().item::<i64>().unwrap(), 2);
}

/// All lists of so many of these numbers.
fn lists(numbers: &[f64], length: usize) -> Vec<Vec<f64>> {
    let longer =
        |list: Vec<f64>| numbers.iter().map(move |&n| [&list[..], &[n]].concat()).collect::<Vec<_>>();
    (0..length).fold(vec![vec![]], |lists, _| lists.into_iter().flat_map(longer).collect())
}

/// Of ops that are put together of others, the range follows from the parts.
#[test]
fn results_of_compositions_are_in_the_range_that_follows() {
    let ends = [(-3.0, 5.0), (0.0, 1.0), (2.0, 2.0), (-40.0, -1.0)];
    for op in ScalarOp::all().filter(|op| matches!(op.row().body, OpBody::Composition(_))) {
        for dtype in [DType::F32, DType::F64, DType::I8, DType::I64] {
            let given = vec![dtype; op.row().arity];
            if op.signature(&given).is_none_or(|signature| signature.args != given) {
                continue;
            }
            for (low, high) in ends {
                let range = op.interval(&vec![Interval::new(dtype, low, high); given.len()]);
                for point in lists(&[low, f64::midpoint(low, high), high], given.len()) {
                    let number = |&n: &f64| Value::from(n).cast(dtype).unwrap();
                    let point: Vec<Value> = point.iter().map(number).collect();
                    let found = Elemwise { op }.perform(&point).unwrap()[0].to_f64s()[0];
                    let holds = found.is_nan() || (range.low <= found && found <= range.high);
                    assert!(holds, "{op:?} of {dtype} {point:?} is {found}, not in {range:?}");
                }
            }
        }
    }
}
