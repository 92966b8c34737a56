//! Laws of slices, and of views that are moved before an op.

use super::*;
use workalike::ops::{Bound, Slot, Subtensor};

law!(read_read, (x = array![1f64, f64::NAN, -0., 4., 5., 6., 7.]), x.index(idx![1..6]).index(idx![1..9]) => ["subtensor"]);
law!(strides_multiply, (x = array![1f64, 2., 3., 4., 5., 6., 7.]), x.index(idx![range(1, 7).step(2)]).index(idx![range(1, 9).step(2)]) => ["subtensor"]);
law!(row_then_column, (x = array![[1f64, 2.], [3., 4.]], i = array![1i64]), x.index(idx![i.index(idx![0])]).index(idx![0]) => ["subtensor", "subtensor"]);
law!(slice_of_nothing, (x = Array1::<f64>::zeros(0)), x.index(idx![2..]).index(idx![1..]) => ["subtensor"]);
law!(element_of_a_slice, (x = array![1f64, 2., 3.]), x.index(idx![1..]).index(idx![1]) => ["subtensor"]);
law!(element_from_the_end_stays, (x = array![1f64, 2., 3.]), x.index(idx![1..]).index(idx![-1]) => ["subtensor", "subtensor"]);
law!(read_whole, (x = array![1f64, 2., 3.]), {
    let all = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
    Variable::apply(Subtensor { slots: vec![all] }, std::slice::from_ref(&x)).unwrap().remove(0)
} => []);
law!(set_read, (x = array![1f64, 2., 3.]), x.set_index(idx![1..], x.index(idx![1..])) => []);
law!(read_set, (x = array![1f64, 2., 3.], y = array![7f64, f64::NAN]), {
    let (x, y) = (x.specify_shape([Some(3)]), y.specify_shape([Some(2)]));
    x.set_index(idx![1..], &y).index(idx![1..])
} => ["specify_shape[2]"]);
law!(read_increment, (x = array![1f64, 2., 3.]), x.inc_index(idx![1..], 1.5).index(idx![1..]) => ["subtensor", "add"]);
law!(read_of_an_increment_of_unknown_extent_stays, (x = array![1f64, 2., 3.], y = array![7f64, 8.]),
    x.inc_index(idx![1..], &y).index(idx![1..]) => ["inc_subtensor", "subtensor"]);
law!(assert_known, (x = array![1f64, 2.]), { let y = x.specify_shape([Some(2)]); y.assert(y.extent(0).equal(2i64), "two") } =>
    ["specify_shape[2]"]);
law!(read_of_a_write_of_unknown_extent_stays, (x = array![1f64, 2., 3.], y = array![7f64, 8.]), x.set_index(idx![1..], &y).index(idx![1..]) =>
    ["set_subtensor", "subtensor"]);

law!(add_parts, (x = array![1f64, -0.], y = array![f64::NAN, 4.]), {
    let whole = zeros_like(x.specify_shape([Some(2)]));
    whole.inc_index(idx![1..], x.index(idx![1..])) + whole.inc_index(idx![..1], y.index(idx![1..]))
} => ["specify_shape[2]", "broadcast_like", "subtensor", "inc_subtensor", "subtensor", "inc_subtensor"]);
law!(parts_of_zeros_that_may_differ_stay, (x = array![1f64, -0.], y = array![f64::NAN, 4.]),
    zeros_like(&x).inc_index(idx![0], 1.0) + zeros_like(&y).inc_index(idx![1], 2.0) =>
    ["broadcast_like", "inc_subtensor", "broadcast_like", "inc_subtensor", "add"]);
law!(join_parts, (x = array![[1f64, -0.], [f64::NAN, 4.]]), {
    let x = x.specify_shape([None, Some(2)]);
    let whole = zeros_like(&x);
    whole.inc_index(idx![.., 1..], x.index(idx![.., ..1])).inc_index(idx![.., ..-1], x.index(idx![.., 1..]))
} => ["specify_shape[?, 2]", "subtensor", "subtensor", "add", "add", "join[1]"]);
finite!(subtract_rows, (x = array![[1f64, -0.], [3., 4.], [5., 6.]], y = array![[7f64, 8.], [9., -0.], [f64::NAN, 2.]], k = array![2i64, 0, 2]), {
    let table = x.specify_shape([Some(3), Some(2)]);
    &table - 0.5 * zeros_like(&table).inc_index(idx![&k], &y)
} => ["specify_shape[3, 2]", "multiply", "advanced_inc_subtensor"]);
finite!(subtract_rows_of_two, (x = array![[1f64, -0.], [3., 4.]], y = array![[7f64, 8.]], k = array![1i64]), {
    let table = x.specify_shape([Some(2), Some(2)]);
    let rows = |at: &Variable| zeros_like(&table).inc_index(idx![at], &y);
    &table - (rows(&k) + rows(&(&k - 1i64)))
} => ["specify_shape[2, 2]", "subtract", "multiply", "advanced_inc_subtensor", "advanced_inc_subtensor"]);
finite!(add_negative_rows, (x = array![[1f64, -0.], [3., 4.]], y = array![[7f64, 8.]], k = array![1i64]), {
    let table = x.specify_shape([Some(2), Some(2)]);
    &table + zeros_like(&table).inc_index(idx![&k], &y) * -2.0
} => ["specify_shape[2, 2]", "multiply", "advanced_inc_subtensor"]);
law!(rows_of_positive_multiples_stay, (x = array![[1f64, -0.], [3., 4.]], y = array![[7f64, 8.]], k = array![1i64]), {
    let table = x.specify_shape([Some(2), Some(2)]);
    &table + zeros_like(&table).inc_index(idx![&k], &y) * 2.0
} => ["specify_shape[2, 2]", "broadcast_like", "advanced_inc_subtensor", "multiply", "add"]);
law!(parts_that_overlap_stay, (x = array![1f64, 2., 3.]), {
    let x = x.specify_shape([Some(3)]);
    zeros_like(&x).inc_index(idx![1..], x.index(idx![1..])).inc_index(idx![..2], x.index(idx![1..]))
} => ["specify_shape[3]", "broadcast_like", "subtensor", "inc_subtensor", "inc_subtensor"]);
law!(parts_with_a_gap_stay, (x = array![1f64, 2., 3.]), {
    let x = x.specify_shape([Some(3)]);
    zeros_like(&x).inc_index(idx![2..], x.index(idx![2..])).inc_index(idx![..1], x.index(idx![1..2]))
} => ["specify_shape[3]", "broadcast_like", "subtensor", "inc_subtensor", "subtensor", "inc_subtensor"]);

law!(slice_through_elementwise, (x = array![1f64, 2., f64::NAN, 4.]), (x.exp() + 1.5).index(idx![1..3]) => ["subtensor", "exp", "add"]);
law!(slice_of_what_is_used_whole_stays, (x = array![1f64, 2., 3.]), { let y = x.exp(); &y + y.index(idx![0..1]) } =>
    ["exp", "subtensor", "add"]);
law!(slice_of_what_may_broadcast_stays, (x = array![1f64, 2., 3.], y = array![1f64, 2., 3.]), (&x * &y).index(idx![1..]) =>
    ["multiply", "subtensor"]);
law!(slice_of_one_with_itself, (x = array![1f64, 2., 3.]), (&x * x.exp()).index(idx![1..]).sum(..) => ["subtensor", "exp", "multiply", "sum[0]"]);
law!(slice_through_what_broadcasts, (x = array![[1f64, 2., 3.], [4., 5., 6.]], n = 1i64),
    (x.specify_shape([Some(2), None]) * x.specify_shape([Some(2), None]).sum(1).expand_dims(1)).index(idx![&n, 1..]) =>
    ["specify_shape[2, ?]", "sum[1]", "dimshuffle[0,x]", "subtensor", "subtensor", "multiply"]);
law!(slice_through_a_cast, (x = array![1i64, 2, 3]), x.cast(DType::F64).sin().index(idx![-1]) => ["subtensor", "cast_float64", "sin"]);

law!(slice_of_a_product, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6., 7.], [8., 9., 1.]]), x.dot(&y).index(idx![1.., ..2]) =>
    ["subtensor", "subtensor", "dot"]);
law!(transpose_of_a_product, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6., 7.], [8., 9., 1.]]), x.dot(&y).t().exp() =>
    ["dimshuffle[1,0]", "dimshuffle[1,0]", "dot", "exp"]);
law!(product_that_is_used_twice_stays, (x = array![[1f64, 2.], [3., 4.]]), { let y = x.dot(&x); &y + y.t() } =>
    ["dot", "dimshuffle[1,0]", "add"]);

/// Merging keeps the check of every index.
#[test]
fn indices_out_of_range_stay_errors() {
    let x = vector::<f64>("x");
    for (y, given) in [
        (x.index(idx![0..2]).index(idx![2]), 5),
        (x.index(idx![1..]).index(idx![3]), 4),
        (x.index(idx![3..]).index(idx![-1]), 3),
        (x.set_index(idx![3], 1.0).index(idx![3]), 3),
        (x.inc_index(idx![3], 1.0).index(idx![3]), 3),
        (x.set_index(idx![3], x.index(idx![3])), 3),
    ] {
        let f = function([&x]).output(&y).compile().unwrap();
        assert!(f.call(args![vec![0f64; given]]).is_err());
        assert!(f.call_reference(args![vec![0f64; given]]).is_err());
    }
}

law!(take_by_mask, (x = array![1f64, -2., f64::NAN, 3.]), x.index(idx![x.greater(0.0)]) => ["greater", "sum[0]", "nonzero", "compress"]);
law!(take_by_numbers_stays, (x = array![1f64, 0., 3.]), x.index(idx![x.flatnonzero()]) => ["not_equal", "sum[0]", "nonzero", "advanced_subtensor"]);
law!(take_rows_by_mask_stays, (x = array![[1f64, 0.], [3., 4.]], y = array![1f64, -1.]), x.index(idx![y.greater(0.0)]) =>
    ["greater", "sum[0]", "nonzero", "advanced_subtensor"]);

/// Infinities and signs of zero, bit by bit.
#[test]
fn special_values_pass_slices_and_sums() {
    let x = vector::<f64>("x");
    let inf = f64::INFINITY;
    let f = function([&x])
        .output(x.index(idx![1..]).index(idx![..2]))
        .output((&x * -3.0).sum(..))
        .compile()
        .unwrap();
    for (given, sum) in [
        (vec![inf, -0.0, 1.0], -inf),
        (vec![inf, -inf, 1.0], f64::NAN),
        (vec![f64::NAN, -0.0, -inf], f64::NAN),
    ] {
        for got in [f.call(args![given.clone()]).unwrap(), f.call_reference(args![given.clone()]).unwrap()] {
            let part: Vec<u64> = got[0].to_f64s().iter().map(|v| v.to_bits()).collect();
            assert_eq!(part, [given[1].to_bits(), given[2].to_bits()]);
            let total = got[1].item::<f64>().unwrap();
            assert!(total == sum || (total.is_nan() && sum.is_nan()), "{total} {sum}");
        }
    }
}
