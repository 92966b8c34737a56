//! Laws of sums, products, powers, choices, conversions and reductions.

use super::*;
use workalike::kernels::nest::Fold;
use workalike::ops::{Cast, Reduce};

law!(negate_negate, (x = array![1f64, 2.]), -(-&x) => []);
finite!(negate_difference, (x = array![1f64, 2.], y = array![2f64, 5.]), -(&x - &y) => ["subtract"]);
law!(negative_of_a_difference_of_integers, (x = array![1i64, 2], y = array![2i64, 5]), -(&x - &y) => ["subtract"]);
law!(a_difference_that_is_read_twice_stays, (x = array![1f64, 2.], y = array![2f64, 5.]), { let d = &x - &y; -&d * d.exp() } =>
    ["subtract", "negative", "exp", "multiply"]);
law!(abs_abs, (x = array![-1f64, 2.]), x.abs().abs() => ["absolute"]);
law!(add_negative, (x = array![1f64], y = array![2f64]), &x + -&y => ["subtract"]);
law!(subtract_negative, (x = array![1f64], y = array![2f64]), &x - -&y => ["add"]);
law!(multiply_negatives, (x = array![1f64], y = array![2f64]), -&x * -&y => ["multiply"]);
law!(quotient_of_negatives, (x = array![1f64], y = array![2f64]), -&x / -&y => ["true_divide"]);
law!(multiply_one, (x = array![1f64, 2.]), &x * 1.0 => []);
law!(by_one, (x = array![1f64, 2.]), &x / 1.0 => []);
law!(subtract_zero, (x = array![1f64, -0.]), &x - 0.0 => []);
law!(less_a_negative_zero, (x = array![1f64, -0.]), &x - -0.0 => ["subtract"]);
law!(add_zero, (x = array![1i64, 2]), 0i64 + &x => []);
law!(plus_zero_makes_zeros_positive, (x = array![1f64, -0.]), &x + 0.0 => ["add"]);
finite!(subtract_itself, (x = array![1f64, 2.]), &x - &x => ["broadcast_like"]);
finite!(less_itself_of_no_axes, (x = 2f64), &x - &x => []);
law!(integers_less_themselves, (x = array![1i64, 2]), &x - &x => ["broadcast_like"]);
finite!(common_factor, (x = array![1f64, 2.], y = array![3f64, 4.], z = array![5f64, -4.]), &x * &y + &z * &x => ["add", "multiply"]);
finite!(common_factor_of_no_axes, (x = 2f64, y = 3f64, z = 5f64), &x * &y + &x * &z => ["add", "multiply"]);

/// A sum that is multiplied once may overflow where its parts do not, and halves overflow early. Numbers are
/// not compared, because fused halves are rounded less often than written ones.
#[test]
fn common_factor_of_halves_stays() {
    let [x, y] = ["x", "y"].map(|name| Variable::input(name, TensorType::of_rank(DType::F16, 1)));
    let (written, _) =
        FunctionGraph::import(&[x.clone(), y.clone()], &[&x * &y + &x * y.exp()], &[]).unwrap();
    let rewritten = Rewrites::default().run(written).unwrap();
    assert_eq!(ops(&rewritten), ["multiply", "exp", "multiply", "add"]);
}

law!(common_factor_of_integers, (x = array![1i64, 2], y = array![3i64, 4], z = array![5i64, -4]), &x * &y - &x * &z =>
    ["subtract", "multiply"]);
law!(a_product_that_is_read_twice_stays, (x = array![1f64, 2.], y = array![3f64, 4.], z = array![5f64, -4.]),
    { let p = &x * &y; &p + &x * &z + p.exp() } => ["multiply", "multiply", "add", "exp", "add"]);
law!(multiply_itself, (x = array![3f64, 2.]), &x * &x => ["sqr"]);
finite!(divide_itself, (x = array![1f64, 2.]), &x / &x => ["broadcast_like"]);
finite!(product_over_factor, (x = array![1f64, 2.]), &x * x.exp() / x.exp() => []);
finite!(product_over_a_factor_that_may_broadcast, (x = array![1f64, 2.], y = array![3f64, 4.]), &x * &y / &y =>
    ["multiply", "broadcast_like"]);
finite!(quotient_times_divisor, (x = array![1f64, 2.]), x.exp() * (&x / x.exp()) => []);
finite!(factor_over_product, (x = array![1f64, 2.]), x.exp() / (x.exp() * &x) => ["reciprocal"]);
law!(collect_factors, (x = array![3f64, 2.]), 2.0 * (&x * 3.0) => ["multiply"]);
law!(collected_factors_of_one, (x = array![3f64, 2.]), &x * 2.0 / 2.0 => []);
law!(collected_divisors, (x = array![3f64, 2.]), &x / 2.0 / 4.0 => ["true_divide"]);
law!(a_divisor_and_a_factor, (x = array![3f64, 2.]), &x / 4.0 * 2.0 => ["multiply"]);
law!(collected_factors_of_integers, (x = array![3i64, 2]), 2i64 * &x * 3i64 => ["multiply"]);
law!(factors_that_overflow_stay, (x = array![3f64, 2.]), &x * 1e200 * 1e200 => ["multiply", "multiply"]);
law!(factors_that_an_integer_does_not_have_stay, (x = array![3i8, 2]), &x * 100i64 * 2i64 => ["multiply", "multiply"]);
law!(factors_of_zero_stay, (x = array![3f64, 2.]), &x * 0.0 * 3.0 => ["multiply", "multiply"]);
law!(integers_divide_as_floats, (x = array![3i64, 2]), &x * 2i64 / 2i64 => ["multiply", "cast_float64", "true_divide"]);
law!(reciprocal_reciprocal, (x = array![3f64, 2.]), x.reciprocal().reciprocal() => []);
law!(reciprocals_of_integers_stay, (x = array![3i64, 1]), x.reciprocal().reciprocal() => ["reciprocal", "reciprocal"]);
law!(reciprocal_quotient, (x = array![3f64, 2.], y = array![7f64, -2.]), (&x / &y).reciprocal() => ["true_divide"]);
law!(divide_reciprocal, (x = array![3f64, 2.], y = array![7f64, -2.]), &x / y.reciprocal() => ["multiply"]);
law!(to_the_second, (x = array![3f64, 2.]), x.pow(2i64) => ["sqr"]);
law!(power_number, (x = array![3f64, 2.]), x.pow(3i64) => ["sqr", "multiply"]);
law!(by_power_of_two, (x = array![-9i32, -8, -1, 0, 7, 8, i32::MAX, i32::MIN]), &x % 8 + x.floor_divide(8i32) =>
    ["bitwise_and", "right_shift", "add"]);
law!(by_the_zeroth_power_of_two, (x = array![-9i64, 0, 7]), x.remainder(1i64) + x.floor_divide(1i64) => ["bitwise_and", "right_shift", "add"]);
law!(bytes_by_a_power_of_two, (x = array![0u8, 127, 128, 255]), &x % constant(128u8) => ["bitwise_and"]);
law!(by_another_number_stays, (x = array![-9i64, 0, 7]), &x % 6 + x.floor_divide(i64::MAX) => ["remainder", "floor_divide", "add"]);
law!(by_a_negative_power_of_two_stays, (x = array![-9i64, 0, 7]), &x % -8 => ["remainder"]);
law!(floats_by_a_power_of_two_stay, (x = array![-9f64, 0., 7.5]), &x % 8.0 => ["remainder"]);
law!(bytes_by_a_wider_power_of_two, (x = array![-9i8, 0, 7]), &x % constant(8i64) => ["cast_int64", "bitwise_and"]);
law!(to_the_fourth, (x = array![3i64, 2]), x.pow(4i64) => ["sqr", "sqr"]);
law!(to_a_half, (x = array![3f64, 2.]), x.pow(0.5) => ["sqrt", "add", "equal", "where"]);
law!(to_minus_a_half, (x = array![3f64, 2.]), x.pow(-0.5) => ["sqrt", "add", "equal", "where", "reciprocal"]);
law!(to_minus_two, (x = array![3f64, 2.]), x.pow(-2.0) => ["reciprocal", "sqr"]);
law!(to_minus_two_of_what_has_no_square, (x = array![1e200f64, 1e-200]), x.pow(-2.0) => ["reciprocal", "sqr"]);
law!(to_minus_one, (x = array![3f64, 2.]), x.pow(-1.0) => ["reciprocal"]);
law!(to_nothing, (x = array![3f64, 2.]), x.pow(0.0) => ["broadcast_like"]);
law!(sqrt_sqr, (x = array![-3f64, 2.]), x.sqr().sqrt() => ["absolute"]);
law!(abs_negate, (x = array![-3f64, 2.]), (-&x).abs() => ["absolute"]);
law!(sqr_abs, (x = array![-3f64, 2.]), x.abs().sqr() => ["sqr"]);
law!(extremum_itself, (x = array![-3f64, 2.]), x.maximum(&x) => []);
law!(where_same, (c = true, x = array![-3f64, 2.]), where_(&c, &x, &x) => []);
law!(where_of_a_condition_that_may_broadcast_stays, (c = array![true, false], x = array![-3f64, 2.]), where_(&c, &x, &x) => ["where"]);
law!(where_not, (c = array![true, false], x = array![-3f64, 2.]), where_(c.not(), &x, 0.0) => ["where"]);
law!(where_known, (x = array![-3f64, 2.]), where_(constant(true), &x, 1.0) => []);
law!(the_same_either_way, (c = array![true, false], x = array![-3f64, 2.]), where_(constant(array![[true]]).squeeze([0, 1]), x.maximum(&x), &x) + where_(&c, &x, 0.0) =>
    ["where", "add"]);
law!(cast_itself, (x = array![-3f32, 2.]), applied(Cast { dtype: DType::F32 }, &[&x]) => []);
law!(cast_cast, (x = array![-3f32, 2.]), x.cast(DType::F64).cast(DType::F32) => []);
law!(wide_and_wider, (x = array![-3i8, 2]), x.cast(DType::I32).cast(DType::I64) => ["cast_int64"]);
law!(an_integer_through_a_float_saturates, (x = array![300i32, -1, 7]), x.cast(DType::F64).cast(DType::I8) => ["cast_float64", "cast_int8"]);
law!(a_negative_through_a_float_saturates, (x = array![-1i8, 3]), x.cast(DType::F32).cast(DType::U8) => ["cast_float32", "cast_uint8"]);
law!(an_integer_through_a_float_to_a_wider_one, (x = array![-1i8, 3]), x.cast(DType::F32).cast(DType::I16) => ["cast_int16"]);
law!(an_integer_through_a_float_to_another, (x = array![-1i8, 3]), x.cast(DType::F32).cast(DType::F64) => ["cast_float64"]);
law!(what_loses_digits_stays, (x = array![-3.5f64, 2.]), x.cast(DType::F32).cast(DType::F64) => ["cast_float32", "cast_float64"]);
law!(reduce_no_axes, (x = array![1f64, 2.]), {
    let (dtype, axes) = (DType::F64, vec![]);
    applied(Reduce { fold: Fold::Max, axes, acc_dtype: dtype, dtype, over_nothing: false }, &[&x])
} => []);
law!(sum_negative, (x = array![[1f64, 2.], [-1., -2.]]), (-&x).sum(0) => ["sum[0]", "subtract"]);
law!(sum_of_negative_integers, (x = array![[1i64, 2], [-1, -2]]), (-&x).sum(0) => ["sum[0]", "subtract"]);
law!(sum_of_narrow_negative_integers_stays, (x = array![1i32, -7]), (-&x).sum(..) => ["negative", "sum[0]"]);
law!(sum_sum, (x = array![[1f64, 2.], [3., 4.]]), x.sum(1).sum(0) => ["sum[0, 1]"]);
law!(gradient_rules_stay, (x = array![1f64]), zero_grad(consider_constant(&x)).exp() => ["consider_constant", "zero_grad", "exp"]);
