//! Laws of views.

use super::*;
use workalike::ops::{BroadcastLike, DimShuffle, SumLike};

law!(dimshuffle_identity, (x = array![[1f64, 2.]]), applied(DimShuffle { order: vec![Some(0), Some(1)] }, &[&x]) => []);
law!(dimshuffle_dimshuffle, (x = array![[1f64, 2.]]), x.t().t() => []);
law!(views_of_views, (x = array![[1f64, 2.]]), x.t().expand_dims(0) => ["dimshuffle[x,1,0]"]);
law!(flattened_and_reshaped, (x = array![[1f64, 2., 3., 4.]]), x.flatten().reshape([2, 2]).exp() => ["reshape[2, 2]", "exp"]);
law!(a_reshape_that_may_fail_stays, (x = array![[1f64, 2., 3., 4.]]), x.reshape([4]).reshape([2, -1]).exp() => ["reshape[4]", "reshape[2, -1]", "exp"]);
law!(reshape_same, (x = array![1f64, 2., 3.]), x.reshape([-1]) => []);
law!(reshape_reshape, (x = array![[1f64, 2., 3., 4.]]), x.reshape([4]).reshape([2, 2]).exp() => ["reshape[2, 2]", "exp"]);

law!(a_broadcast_that_may_not_fit_stays, (x = array![1f64, 2., 3.]), workalike::ops::full_like(&x, constant(array![1f64, 2., 3.])).exp()
    => ["broadcast_like", "exp"]);
law!(broadcast_to_same, (x = array![1f64, 2.]), x.specify_shape([Some(2)]).broadcast_to([2]) => ["specify_shape[2]"]);
law!(broadcast_like_same, (x = array![1f64, 2.]), { let y = x.specify_shape([Some(2)]); applied(BroadcastLike, &[&y, &y]) } =>
    ["specify_shape[2]"]);
law!(sum_like_same, (x = array![1f64, 2.]), { let y = x.specify_shape([Some(2)]); applied(SumLike, &[&y, &y]) } =>
    ["specify_shape[2]"]);
law!(a_sum_to_a_shape_that_is_not_known_stays, (x = array![1f64, 2.], y = array![3f64, 4.]), applied(SumLike, &[&x, &y]) =>
    ["sum_like"]);
law!(a_sum_to_its_own_shape_is_none, (x = array![1f64, 2.]), applied(SumLike, &[&x, &x.exp()]) => []);
