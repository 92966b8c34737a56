//! Selections, masks and sorts as lowered from Functions, against the reference.

use crate::Host;
use workalike::ops::Ix;
use workalike::prelude::*;
use workalike_kernels::DType;

/// Asserts that the results of `make` of a shared variable are equal on the host device and by the reference;
/// returns the device's plan.
fn same(value: &Value, make: impl Fn(&Variable) -> Vec<Variable>) -> String {
    let x = Variable::from(&shared("x", value.clone()));
    let none: [&Variable; 0] = [];
    let function = make(&x).into_iter().fold(function(none), |f, output| f.output(output)).compile().unwrap();
    let want = function.call_reference(args![]).unwrap();
    let mut simulator = function.optimize(Host::threads(2)).unwrap();
    // The second call replays.
    for _ in 0..2 {
        let found = simulator.call(args![]).unwrap();
        for at in 0..found.len() {
            assert_eq!(found[at].shape(), want[at].shape());
            let pairs = found[at].to_f64s().into_iter().zip(want[at].to_f64s());
            for (place, (a, b)) in pairs.enumerate() {
                assert!(a == b || (a.is_nan() && b.is_nan()), "{a}, not {b}, at {place} of output {at}");
            }
        }
    }
    simulator.explain()
}

fn numbers(shape: &[usize], zeros: bool) -> Value {
    let mut numbers = super::Numbers(5);
    let count = shape.iter().product();
    let element = |_| if zeros && numbers.next().is_multiple_of(3) { 0.0 } else { numbers.float() as f32 };
    Value::from_vec(shape, (0..count).map(element).collect::<Vec<f32>>()).unwrap()
}

#[test]
fn medians_select_and_sorts_that_are_read_elsewhere_do_not() {
    // Of three elements none is selected.
    for (shape, selected) in [([25, 40], 3), ([3, 20_000], 2)] {
        let x = numbers(&shape, false);
        let text = same(&x, |x| vec![x.median(..), x.quantile(0.3, -1), x.median(0)]);
        assert_eq!(text.matches("library select").count(), selected, "{text}");
        let text = same(&x, |x| {
            let sorted = x.sort(1);
            vec![sorted.take(3i64, 1), sorted.take(-1i64, 1)]
        });
        assert!(text.contains("library select"), "{text}");
        let text = same(&x, |x| {
            let sorted = x.sort(1);
            vec![sorted.take(3i64, 1), sorted.clone() + 1.0]
        });
        assert!(!text.contains("library select"), "{text}");
        let text = same(&x, |x| vec![x.sort(1).take(3i64, 1), x.sort(1)]);
        assert!(!text.contains("library select"), "{text}");
    }
}

#[test]
fn masks_compress_unless_their_positions_are_wanted() {
    for n in [0usize, 7, 1000, 100_003] {
        let x = numbers(&[n], true);
        let text = same(&x, |x| vec![x.index([Ix::from(x.greater(0.5))])]);
        assert!(n == 0 || text.contains("library compress"), "{text}");
        let text = same(&x, |x| vec![x.flatnonzero()]);
        assert!(n == 0 || text.contains("library nonzero"), "{text}");
        let text = same(&x, |x| {
            let at = x.cast(DType::Bool).flatnonzero();
            vec![x.take(&at, 0), at]
        });
        assert!(n == 0 || text.contains("library nonzero"), "{text}");
        same(&x, |x| vec![x.index([Ix::from(x.greater(9.0))]), x.index([Ix::from(x.less(9.0))])]);
    }
}

#[test]
fn numbers_are_found_in_sorted_vectors() {
    let mut list: Vec<f32> = (0..77).map(|at| (at / 3) as f32).collect();
    list.extend([f32::NAN, f32::NAN]);
    for n in [1, 2, 3, 10, 64, 77, 79] {
        let sorted = Value::from_vec(&[n], list[..n].to_vec()).unwrap();
        let asked: Vec<f32> = (-3..80).map(|at| at as f32 / 2.0).chain([f32::NAN, f32::INFINITY]).collect();
        let asked = Variable::from(&shared("asked", Value::from_vec(&[asked.len()], asked).unwrap()));
        let text = same(&sorted, |x| {
            vec![
                x.searchsorted(&asked, workalike::ops::Side::Left),
                x.searchsorted(&asked, workalike::ops::Side::Right),
            ]
        });
        assert!(text.contains("library searchsorted"), "{text}");
    }
}
