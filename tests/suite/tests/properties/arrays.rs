//! Broadcasting, slicing and reductions are ndarray's.

use super::{counted, failed, random};
use ndarray::{Slice, SliceInfoElem};
use proptest::prelude::*;
use workalike::ops::Ix;
use workalike::prelude::{Variable, function, tensor};
use workalike::{DType, args};

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
}
