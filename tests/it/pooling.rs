//! Sliding windows and pooling against literal values and plain loops, and their gradients against
//! differences.

use super::arrays::{near, numbers, of, reference, value};
use workalike::ops::{WindowSum, Windows};
use workalike::prelude::*;

#[test]
fn windows_and_their_sum_are_adjoint() {
    let x = constant((0..7).map(f64::from).collect::<Vec<f64>>());
    let windows = x.sliding_windows([3], [2], [1]);
    near(&value(&windows), &[3, 3], &[0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0]);
    near(&value(&x.sliding_windows([2], [1], [4])), &[3, 2], &[0.0, 4.0, 1.0, 5.0, 2.0, 6.0]);
    near(&value(&x.flip(0).sliding_windows([2], [3], [1])), &[2, 2], &[6.0, 5.0, 3.0, 2.0]);
    let sum = WindowSum { windows: Windows { window: vec![3], stride: vec![2], dilation: vec![1] } };
    let counts = Variable::apply(sum.clone(), &[ones_like(&windows), x.clone()]).unwrap().swap_remove(0);
    near(&value(&counts), &[7], &[1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0]);
    let integers = Variable::apply(sum, &[ones_like(&windows).cast(DType::U8), x]).unwrap().swap_remove(0);
    assert_eq!(value(&integers).to_vec::<u8>().unwrap(), [1, 1, 2, 1, 2, 1, 1]);
    let at = [numbers(&[2, 6, 7], 0.3)];
    verify_grad(|x| x[0].sliding_windows([2, 3], [1, 2], [3, 1]), &at, 1e-8).unwrap();
    verify_grad(
        |x| {
            let cost = x[0].sliding_windows([2, 3], [1, 2], [3, 1]).exp().sum(..);
            grad(&cost, [&x[0]]).unwrap().swap_remove(0)
        },
        &at,
        1e-6,
    )
    .unwrap();
    // All rows of a Jacobian at once, for any number of rows.
    let v = vector::<f64>("v");
    let j = jacobian(&v.max_pool(Pool::new([2]).stride([1])), [&v]).unwrap();
    let at = Value::from(vec![1.0, 3.0, 2.0]);
    near(&reference(&j[0], &[(&v, &at)]), &[2, 3], &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn pools_by_hand() {
    let x = of(&[4, 3], &[1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 9.0, -10.0, 11.0, -12.0]);
    near(&value(&x.max_pool([2, 2])), &[2, 1], &[5.0, 11.0]);
    near(&value(&x.sum_pool([2, 2])), &[2, 1], &[0.0, 0.0]);
    near(&value(&x.average_pool([2, 3])), &[2, 1], &[-0.5, -0.5]);
    let partial = |window: [usize; 2]| Pool::new(window).ceil_mode(true);
    near(&value(&x.max_pool(partial([3, 2]))), &[2, 2], &[7.0, 9.0, 11.0, -12.0]);
    near(&value(&x.average_pool(partial([3, 2]))), &[2, 2], &[-1.0 / 6.0, 2.0, 0.5, -12.0]);
    let row = of(&[5], &[-1.0, -2.0, -3.0, -4.0, -5.0]);
    let padded = Pool::new([3]).stride([2]).padding([(1, 1)]);
    // Padding is never the maximum.
    near(&value(&row.max_pool(&padded)), &[3], &[-1.0, -2.0, -4.0]);
    near(&value(&row.average_pool(&padded)), &[3], &[-1.0, -3.0, -3.0]);
    near(&value(&row.average_pool(padded.clone().count_include_pad(false))), &[3], &[-1.5, -3.0, -4.5]);
    near(&value(&row.sum_pool(&padded)), &[3], &[-3.0, -9.0, -9.0]);
    near(&value(&row.max_pool(Pool::new([2]).dilation([3]).stride([1]))), &[2], &[-1.0, -2.0]);
    let integers = constant(vec![-3i32, -1, -2]);
    let padded = Pool::new([2]).padding([(1, 0)]).stride([1]);
    assert_eq!(value(&integers.max_pool(&padded)).to_vec::<i32>().unwrap(), [-3, -1, -1]);
    assert_eq!(value(&integers.sum_pool(&padded)).to_vec::<i64>().unwrap(), [-3, -4, -3]);
    assert_eq!(value(&integers.average_pool(&padded)).to_vec::<f64>().unwrap(), [-1.5, -2.0, -1.5]);
    assert_eq!(integers.cast(DType::F16).average_pool([2]).dtype(), DType::F16);
}

/// Equal maxima share the gradient.
#[test]
fn ties_of_a_maximum() {
    let x = vector::<f64>("x");
    let g = grad(x.max_pool([2]).sum(..), [&x]).unwrap();
    let got = reference(&g[0], &[(&x, &Value::from(vec![2.0, 2.0, 1.0, 3.0]))]);
    near(&got, &[4], &[0.5, 0.5, 0.0, 1.0]);
}

/// Windows along one axis: for each, the positions within the array, and the number of positions within the
/// padded array.
fn laid(
    extent: usize,
    [window, stride, dilation]: [usize; 3],
    (before, after): (usize, usize),
    ceil: bool,
) -> Vec<(Vec<usize>, usize)> {
    let last = (window - 1) * dilation;
    let fits = |start: &usize| {
        let inside = start + last < before + extent + after;
        inside || (ceil && *start < before + extent && start + last + 1 < before + extent + after + stride)
    };
    let of = |start: usize| {
        let at: Vec<usize> = (0..window).map(|k| start + k * dilation).collect();
        let padded = at.iter().filter(|&&at| at < before + extent + after).count();
        (at.iter().filter_map(|at| at.checked_sub(before).filter(|&at| at < extent)).collect(), padded)
    };
    (0..).map(|o| o * stride).take_while(fits).map(of).collect()
}

#[test]
fn pools_agree_with_the_definition() {
    for extent in 3..9 {
        for shape in [[2, 2, 1], [3, 1, 1], [3, 2, 1], [2, 3, 1], [2, 5, 1], [2, 1, 2]] {
            for padding in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                for ceil in [false, true] {
                    let [window, stride, dilation] = shape;
                    let x = numbers(&[extent], 0.4);
                    let list = x.to_f64s();
                    let pool = Pool::new([window]).stride([stride]).dilation([dilation]).padding([padding]);
                    let pool = pool.ceil_mode(ceil);
                    let windows = laid(extent, shape, padding, ceil);
                    let of = |f: &dyn Fn(&[f64], usize) -> f64| -> Vec<f64> {
                        let values = |at: &[usize]| at.iter().map(|&i| list[i]).collect::<Vec<f64>>();
                        windows.iter().map(|(at, padded)| f(&values(at), *padded)).collect()
                    };
                    let total = |list: &[f64]| list.iter().sum::<f64>();
                    let x = constant(&x);
                    let shape = [windows.len()];
                    near(
                        &value(&x.max_pool(&pool)),
                        &shape,
                        &of(&|v, _| v.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
                    );
                    near(&value(&x.sum_pool(&pool)), &shape, &of(&|v, _| total(v)));
                    near(&value(&x.average_pool(&pool)), &shape, &of(&|v, padded| total(v) / padded as f64));
                    let own = pool.clone().count_include_pad(false);
                    near(&value(&x.average_pool(own)), &shape, &of(&|v, _| total(v) / v.len() as f64));
                }
            }
        }
    }
}

#[test]
fn pools_have_gradients() {
    // Well separated, so that the maximum does not change under a small step.
    let apart = (0..60).map(|i| f64::from(i * 37 % 61) / 10.0 - 3.0).collect();
    let at = [Value::from_vec(&[2, 5, 6], apart).unwrap()];
    let pools = [
        Pool::new([2, 2]),
        Pool::new([3, 2]).stride([1, 2]).padding([(1, 1), (0, 1)]),
        Pool::new([3, 4]).ceil_mode(true),
        Pool::new([2, 2]).dilation([2, 3]).stride([1, 1]),
    ];
    for pool in pools {
        verify_grad(|x| x[0].max_pool(&pool), &at, 1e-8).unwrap();
        verify_grad(|x| x[0].sum_pool(&pool), &at, 1e-8).unwrap();
        verify_grad(|x| x[0].average_pool(pool.clone().count_include_pad(false)).sqr(), &at, 1e-7).unwrap();
    }
    verify_grad(|x| x[0].average_pool([2, 2, 3]), &at, 1e-8).unwrap();
}

#[test]
fn extents_may_be_known_at_run_time_only() {
    let x = matrix::<f64>("x");
    let at = numbers(&[5, 7], 0.2);
    let pool =
        Pool::new([3, 2]).stride([2, 2]).padding([(1, 1), (0, 1)]).ceil_mode(true).count_include_pad(false);
    let want = value(&constant(&at).average_pool(&pool));
    near(&reference(&x.average_pool(&pool), &[(&x, &at)]), want.shape(), &want.to_f64s());
    let f = function([&x]).output(x.max_pool([3, 3])).compile().unwrap();
    let message = f.call_reference(args![numbers(&[2, 4], 0.1)]).err().unwrap().to_string();
    assert!(message.contains("3 elements") && message.contains("has 2"), "{message}");
}
