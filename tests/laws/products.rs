//! Laws of sums of products, and of products with fills.

use super::*;

finite!(sum_multiple, (x = array![1f64, 5., 2.]), (&x * 3.0).sum(..) => ["sum[0]", "multiply"]);
law!(sum_of_negative_multiples_stays, (x = array![1f64, -1.]), (&x * -3.0).sum(..) => ["multiply", "sum[0]"]);
law!(sum_of_no_multiples, (x = Array1::<f64>::zeros(0)), (2.0 * &x).sum(..) => ["sum[0]", "multiply"]);
law!(sum_of_parts_may_not_overflow, (x = array![1e308f64, 1e308]), (0.25 * &x).sum(..) => ["multiply", "sum[0]"]);
law!(sum_of_integer_multiples, (x = array![1i64, i64::MAX]), (&x * 3i64).sum(..) => ["sum[0]", "multiply"]);
law!(sum_of_multiples_of_what_is_infinite_when_cast, (x = array![0f32, 2.]), (constant(1e300).cast(DType::F32) * &x).sum(..)
    => ["multiply", "sum[0]"]);
law!(sum_outer_product, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.], [f64::NAN, 0.]]),
    (x.specify_shape([None, Some(2)]).expand_dims(1) * y.specify_shape([None, Some(2)]).expand_dims(0)).sum(2)
    => ["specify_shape[?, 2]", "specify_shape[?, 2]", "dimshuffle[1,0]", "dot"]);
law!(sum_of_an_outer_product_with_itself, (x = array![[1f64, 2.], [3., 4.]]), (x.expand_dims(1) * x.expand_dims(0)).sum(2)
    => ["dimshuffle[1,0]", "dot"]);
law!(sum_of_a_product_that_may_broadcast, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.], [f64::NAN, 0.]]),
    (x.expand_dims(1) * y.expand_dims(0)).sum(2) => ["dimshuffle[0,x,1]", "dimshuffle[x,0,1]", "multiply", "sum[2]"]);
law!(fill_beside, (x = array![1f64, 5., 2.]), workalike::ops::full_like(&x, 2.0) * &x => ["multiply"]);
law!(ones_beside_what_has_the_shape, (x = array![1f64, 5., 2.]), workalike::ops::ones_like(&x) * x.exp() => ["exp"]);
law!(fill_that_may_not_fit_stays, (v = array![1f64, 2., 3.], x = array![4f64, 5., 6.]), workalike::ops::full_like(&x, &v) * &x =>
    ["broadcast_like", "multiply"]);
law!(fill_of_no_axes, (x = 2f64), workalike::ops::full_like(&x, 2.0) * x.exp() + x.sin() => ["exp", "multiply", "sin", "add"]);
law!(fill_to_known_extents, (x = array![1f64, 5., 2.]), (constant(array![2.5f64]).broadcast_to([3]) - x.specify_shape([Some(3)])).exp() =>
    ["specify_shape[3]", "subtract", "exp"]);
law!(sum_of_multiples_by_what_has_a_shape, (x = array![1f64, 5., 2.], m = array![3f64, 1., 1.]), (workalike::ops::full_like(&m, 2.0) * &x).sum(..)
    => ["broadcast_like", "multiply", "sum[0]"]);
law!(sum_of_a_product_of_vectors_stays, (x = array![1f64, 2.], y = array![3f64, 4.]), (&x * &y).sum(0) => ["multiply", "sum[0]"]);
finite!(dot_zeros, (x = array![[1f64, 2.]], y = array![[5f64, 6.], [7., 8.]]),
    zeros_like(x.specify_shape([None, Some(2)])).dot(y.specify_shape([Some(2), None])) =>
    ["specify_shape[?, 2]", "broadcast_like", "specify_shape[2, ?]", "shape[0]", "shape[1]", "broadcast_to"]);
finite!(dot_of_zeros_that_may_not_fit_stays, (x = array![[1f64, 2.]], y = array![[5f64, 6.], [7., 8.]]), zeros_like(&x).dot(&y) =>
    ["broadcast_like", "dot"]);
