//! Laws of the portable passes: one line each, checked for equal graph and for equal value.

#![allow(clippy::unwrap_used)]

use workalike::graph::{Def, FunctionGraph};
use workalike::ops::Known;
use workalike::prelude::*;
use workalike::rewrite::{PASSES, rewrite};

/// Labels of the nodes that are left.
fn ops(graph: &FunctionGraph) -> Vec<String> {
    graph.nodes.iter().map(|n| n.op.label()).collect()
}

/// Why what was written has no value.
enum Refused {
    /// Shapes that do not fit; passes keep such errors.
    Shapes,
    /// Anything else, assertions of shapes among them, which may be an error no longer when nothing needs it.
    Values,
}

/// The graph as it was written, op by op: what no pass has touched.
fn as_written(graph: &FunctionGraph, inputs: &[Value]) -> Result<Value, Refused> {
    let mut values: Vec<Option<Value>> = vec![None; graph.vars.len()];
    for (value, var) in values.iter_mut().zip(&graph.vars) {
        *value = match &var.def {
            Def::Input(i) => Some(inputs[*i as usize].clone()),
            Def::Constant(constant) => Some(constant.clone()),
            _ => None,
        };
    }
    for node in &graph.nodes {
        let given: Vec<Value> = node.inputs.iter().map(|&i| values[i as usize].clone().unwrap()).collect();
        let known: Vec<Known> = given.iter().map(|v| Known { shape: v.shape(), value: Some(v) }).collect();
        let asserts = node.op.id() == "specify_shape";
        node.op.shapes(&known).map_err(|_| if asserts { Refused::Values } else { Refused::Shapes })?;
        let made = node.op.perform(&given).map_err(|_| Refused::Values)?;
        node.outputs.iter().zip(made).for_each(|(&o, value)| values[o as usize] = Some(value));
    }
    Ok(values[graph.outputs[0] as usize].clone().unwrap())
}

/// Numbers at which formulas go wrong, in the dtype and shape of `like`, from another one on at each turn.
fn awkward(like: &Value, turn: usize) -> Value {
    let len = like.len();
    let picked = |count: usize| (0..len).map(move |i| (i + turn) % count);
    let floats = [f64::NAN, 1.5, f64::INFINITY, -0.0, -2.25, 0.0, f64::NEG_INFINITY, 3e-3, 40.0];
    let whole = [0i64, -1, 3, i64::MIN, 300, i64::MAX, -129, 1, 7];
    let value = if like.dtype().is_float() {
        Value::from_vec(like.shape(), picked(floats.len()).map(|i| floats[i]).collect())
    } else {
        Value::from_vec(like.shape(), picked(whole.len()).map(|i| whole[i]).collect())
    };
    value.unwrap().cast(like.dtype()).unwrap()
}

/// How a rewritten graph must agree with what was written.
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    /// In every number, NaN, infinity and the sign of zero among them.
    Values,
    /// Where what was written is a finite number, to the digits that it has; the point of the rule is that it has fewer. What
    /// arguments of nothing but NaN make NaN stays so.
    Digits,
}

#[track_caller]
fn agree(keeps: Keeps, given: &[Value], want: &Value, got: &Value) {
    assert_eq!(want.shape(), got.shape(), "of {given:?}");
    for (a, b) in got.to_f64s().into_iter().zip(want.to_f64s()) {
        let same = (a.is_nan() && b.is_nan())
            || (a == b && (a != 0.0 || a.is_sign_negative() == b.is_sign_negative()));
        let near = match keeps {
            Keeps::Values => b != 0.0 && (a - b).abs() <= 1e-5 * b.abs() + 1e-12,
            Keeps::Digits if b.is_nan() => !given.iter().all(|v| v.to_f64s().iter().all(|x| x.is_nan())),
            Keeps::Digits => b.is_infinite() || (a - b).abs() <= 1e-5 * b.abs().max(1.0),
        };
        assert!(same || near, "{a} where {b} was written, of {given:?}");
    }
}

/// Checks a law: which nodes are left, that nothing more is found, and that a call gives what was written; at the values given, at
/// awkward ones, and of empty arrays.
#[track_caller]
fn check(keeps: Keeps, inputs: &[(&Variable, Value)], expression: &Variable, left: &[&str]) {
    let variables: Vec<Variable> = inputs.iter().map(|i| i.0.clone()).collect();
    let (written, _) = FunctionGraph::import(&variables, std::slice::from_ref(expression), &[]).unwrap();
    let mut graph = written.clone();
    for (_, pass) in PASSES {
        graph = pass(&graph).unwrap();
        workalike::graph::verify(&graph).unwrap();
    }
    assert_eq!(ops(&graph), left);
    assert_eq!(ops(&rewrite(graph).unwrap()), left, "the passes find nothing more the second time");
    let f = function(&variables).output(expression).allow_unused_inputs().compile().unwrap();
    let at = |values: Vec<Value>| {
        let args = || values.iter().fold(Args::new(), |args, value| args.with(value));
        let want = as_written(&written, &values);
        let (fast, plain) = (f.call(args()), f.call_reference(args()));
        match want {
            Ok(want) => {
                agree(keeps, &values, &want, &plain.unwrap()[0]);
                agree(keeps, &values, &want, &fast.unwrap()[0]);
            }
            Err(Refused::Shapes) => assert!(fast.is_err() && plain.is_err(), "no error of {values:?}"),
            Err(Refused::Values) => (),
        }
    };
    let given = || inputs.iter().map(|i| &i.1);
    at(given().cloned().collect());
    for turn in 0..9 {
        at(given().enumerate().map(|(i, value)| awkward(value, turn + 2 * i)).collect());
    }
    let nowhere = |value: &Value| {
        Value::from_vec(value.shape(), vec![f64::NAN; value.len()]).unwrap().cast(value.dtype())
    };
    at(given().map(|value| nowhere(value).unwrap()).collect());
    let with_extent = |value: &Value, axis: usize, extent: usize| {
        let mut shape = value.shape().to_vec();
        shape.iter_mut().skip(axis).take(1).for_each(|e| *e = extent);
        awkward(&Value::zeros(value.dtype(), &shape).unwrap(), 1)
    };
    for axis in 0..given().map(Value::ndim).max().unwrap_or(0) {
        at(given().map(|value| with_extent(value, axis, 0)).collect());
    }
    // One of them alone is longer or shorter along an axis: it broadcasts, or it does not fit.
    for one in 0..inputs.len() {
        for (axis, extent) in (0..inputs[one].1.ndim()).flat_map(|axis| [(axis, 1), (axis, 4)]) {
            let mut values: Vec<Value> = given().cloned().collect();
            values[one] = with_extent(&values[one], axis, extent);
            at(values);
        }
    }
}

/// `law!(name, (inputs), expression => ["ops", "left"])`: the expression, compiled, has these nodes in this order, and every number
/// keeps its value. `stable!` is the same of a rule that exists to keep digits: see [`Keeps`].
macro_rules! law {
    ($name:ident, ($($x:ident = $value:expr),*), $expression:expr => $left:expr) => {
        law!(Keeps::Values, $name, ($($x = $value),*), $expression => $left);
    };
    ($keeps:expr, $name:ident, ($($x:ident = $value:expr),*), $expression:expr => $left:expr) => {
        #[test]
        fn $name() {
            $(let $x = Variable::input(stringify!($x), {
                let value = Value::from($value);
                TensorType::of_rank(value.dtype(), value.ndim())
            });)*
            let expression: Variable = $expression;
            check($keeps, &[$((&$x, Value::from($value))),*], &expression, &$left as &[&str]);
        }
    };
}
macro_rules! stable {
    ($($law:tt)*) => { law!(Keeps::Digits, $($law)*); };
}

stable!(log_of_softmax_is_log_softmax, (x = array![[1f32, 2.], [3., 5.]]), softmax(&x, 1).log() => ["log_softmax[1]"]);
stable!(softmax_stays_where_it_is_used_twice, (x = array![[1f32, 2.]]), softmax(&x, 1).log() + softmax(&x, 1)
    => ["softmax[1]", "log_softmax[1]", "add"]);
law!(equal_expressions_are_computed_once, (x = array![1f32, 2.]), x.exp() + x.exp() => ["exp", "add"]);
law!(equal_constants_are_one, (x = array![1f32, 2.]), (&x + 1.0).exp() * (&x + 1.0).exp() => ["add", "exp", "sqr"]);
law!(constants_fold, (x = array![1f32, 2.]), &x * (constant(2f32) + constant(3f32)).exp() => ["multiply"]);
law!(known_extents_fold, (x = array![1f32, 2.]), &x * constant(array![1f32, 2., 3.]).extent(0).cast(DType::F32) => ["multiply"]);
law!(nothing_unused_is_kept, (x = array![1f32, 2.]), { let _ = x.exp(); &x + 1.0 } => ["add"]);

// Stability.
stable!(log_of_one_and_more, (x = array![1e-20f64, 2.]), (&x + 1.0).log() => ["log1p"]);
stable!(log_of_one_less, (x = array![1e-20f64, 0.5]), (1.0 - &x).log() => ["negative", "log1p"]);
stable!(exp_less_one, (x = array![1e-20f64, 2.]), x.exp() - 1.0 => ["expm1"]);
stable!(minus_one_and_exp, (x = array![1e-20f64, 2.]), -1.0 + x.exp() => ["expm1"]);
stable!(log_of_exp, (x = array![1e5f64, -2.]), x.exp().log() => []);
stable!(softplus_is_found, (x = array![1e4f64, -50., 0.3]), (x.exp() + 1.0).log() => ["softplus"]);
stable!(softplus_of_log1p, (x = array![1e4f64, -50., 0.3]), x.exp().log1p() => ["softplus"]);
stable!(log_of_sigmoid, (x = array![1e4f64, -1e4, 0.3]), x.sigmoid().log() => ["negative", "softplus", "negative"]);
stable!(log_of_one_less_sigmoid, (x = array![1e4f64, -1e4, 0.3]), (1.0 - x.sigmoid()).log() => ["softplus", "negative"]);
stable!(log1p_of_minus_sigmoid, (x = array![1e4f64, -1e4, 0.3]), (-x.sigmoid()).log1p() => ["softplus", "negative"]);
stable!(sigmoid_is_found, (x = array![1e4f64, -1e4, 0.3]), 1.0 / ((-&x).exp() + 1.0) => ["sigmoid"]);
stable!(sigmoid_of_exp, (x = array![1e4f64, -1e4, 0.3]), x.exp() / (x.exp() + 1.0) => ["sigmoid"]);
stable!(one_less_sigmoid, (x = array![50f64, -1e4, 0.3]), 1.0 - x.sigmoid() => ["negative", "sigmoid"]);
stable!(one_less_erf, (x = array![6f64, -1.]), 1.0 - x.erf() => ["erfc"]);
stable!(log_of_one_less_exp, (x = array![-1e-20f64, -2.]), (1.0 - x.exp()).log() => ["log1mexp"]);
stable!(log_sum_exp_does_not_overflow, (x = array![[1e4f64, 1.], [-1e4, -1e4]]), x.exp().sum(1).log() =>
    ["max[1]", "absolute", "less", "where", "consider_constant", "dimshuffle[0,x]", "subtract", "exp", "sum[1]", "log", "add"]);
stable!(log_of_root, (x = array![1e-300f64, 2.]), x.sqrt().log() => ["log", "multiply"]);

// Algebra.
law!(minus_minus, (x = array![1f64, 2.]), -(-&x) => []);
law!(adding_a_negative, (x = array![1f64], y = array![2f64]), &x + -&y => ["subtract"]);
law!(taking_a_negative, (x = array![1f64], y = array![2f64]), &x - -&y => ["add"]);
law!(two_negatives, (x = array![1f64], y = array![2f64]), -&x * -&y => ["multiply"]);
law!(quotient_of_negatives, (x = array![1f64], y = array![2f64]), -&x / -&y => ["true_divide"]);
law!(times_one, (x = array![1f64, 2.]), &x * 1.0 => []);
law!(by_one, (x = array![1f64, 2.]), &x / 1.0 => []);
law!(minus_nothing, (x = array![1f64, -0.]), &x - 0.0 => []);
law!(less_a_negative_zero, (x = array![1f64, -0.]), &x - -0.0 => ["subtract"]);
law!(plus_nothing, (x = array![1i64, 2]), 0i64 + &x => []);
law!(plus_zero_makes_zeros_positive, (x = array![1f64, -0.]), &x + 0.0 => ["add"]);
law!(itself_twice, (x = array![3f64, 2.]), &x * &x => ["sqr"]);
law!(to_the_second, (x = array![3f64, 2.]), x.pow(2i64) => ["sqr"]);
law!(to_the_third, (x = array![3f64, 2.]), x.pow(3i64) => ["sqr", "multiply"]);
law!(to_the_fourth, (x = array![3i64, 2]), x.pow(4i64) => ["sqr", "sqr"]);
law!(to_a_half, (x = array![3f64, 2.]), x.pow(0.5) => ["sqrt", "add", "equal", "where"]);
law!(to_minus_a_half, (x = array![3f64, 2.]), x.pow(-0.5) => ["sqrt", "add", "equal", "where", "reciprocal"]);
law!(to_minus_two, (x = array![3f64, 2.]), x.pow(-2.0) => ["reciprocal", "sqr"]);
law!(to_minus_two_of_what_has_no_square, (x = array![1e200f64, 1e-200]), x.pow(-2.0) => ["reciprocal", "sqr"]);
law!(to_minus_one, (x = array![3f64, 2.]), x.pow(-1.0) => ["reciprocal"]);
law!(to_nothing, (x = array![3f64, 2.]), x.pow(0.0) => ["broadcast_like"]);
law!(root_of_square, (x = array![-3f64, 2.]), x.sqr().sqrt() => ["absolute"]);
law!(magnitude_of_negative, (x = array![-3f64, 2.]), (-&x).abs() => ["absolute"]);
law!(square_of_magnitude, (x = array![-3f64, 2.]), x.abs().sqr() => ["sqr"]);
law!(choice_that_is_none, (x = array![-3f64, 2.]), where_(constant(true), &x, 1.0) => []);
law!(the_same_either_way, (c = array![true, false], x = array![-3f64, 2.]), where_(constant(array![[true]]).squeeze([0, 1]), x.maximum(&x), &x) + where_(&c, &x, 0.0) =>
    ["where", "add"]);
law!(there_and_back, (x = array![-3f32, 2.]), x.cast(DType::F64).cast(DType::F32) => []);
law!(wide_and_wider, (x = array![-3i8, 2]), x.cast(DType::I32).cast(DType::I64) => ["cast_int64"]);
law!(an_integer_through_a_float_saturates, (x = array![300i32, -1, 7]), x.cast(DType::F64).cast(DType::I8) => ["cast_float64", "cast_int8"]);
law!(a_negative_through_a_float_saturates, (x = array![-1i8, 3]), x.cast(DType::F32).cast(DType::U8) => ["cast_float32", "cast_uint8"]);
law!(an_integer_through_a_float_to_a_wider_one, (x = array![-1i8, 3]), x.cast(DType::F32).cast(DType::I16) => ["cast_int16"]);
law!(an_integer_through_a_float_to_another, (x = array![-1i8, 3]), x.cast(DType::F32).cast(DType::F64) => ["cast_float64"]);
law!(what_loses_digits_stays, (x = array![-3.5f64, 2.]), x.cast(DType::F32).cast(DType::F64) => ["cast_float32", "cast_float64"]);
law!(sum_of_negatives_is_a_positive_zero, (x = array![[1f64, 2.], [-1., -2.]]), (-&x).sum(0) => ["negative", "sum[0]"]);
law!(sum_of_sums, (x = array![[1f64, 2.], [3., 4.]]), x.sum(1).sum(0) => ["sum[0, 1]"]);
law!(gradient_rules_stay, (x = array![1f64]), zero_grad(consider_constant(&x)).exp() => ["consider_constant", "zero_grad", "exp"]);

// Layout.
law!(transposed_twice, (x = array![[1f64, 2.]]), x.t().t() => []);
law!(views_of_views, (x = array![[1f64, 2.]]), x.t().expand_dims(0) => ["dimshuffle[x,1,0]"]);
law!(flattened_and_reshaped, (x = array![[1f64, 2., 3., 4.]]), x.flatten().reshape([2, 2]).exp() => ["reshape[2, 2]", "exp"]);
law!(a_reshape_that_may_fail_stays, (x = array![[1f64, 2., 3., 4.]]), x.reshape([4]).reshape([2, -1]).exp() => ["reshape[4]", "reshape[2, -1]", "exp"]);
law!(reshaped_twice, (x = array![[1f64, 2., 3., 4.]]), x.reshape([4]).reshape([2, 2]).exp() => ["reshape[2, 2]", "exp"]);

law!(a_broadcast_that_may_not_fit_stays, (x = array![1f64, 2., 3.]), workalike::ops::full_like(&x, constant(array![1f64, 2., 3.])).exp()
    => ["broadcast_like", "exp"]);

// Slices.
law!(slice_of_a_slice, (x = array![1f64, f64::NAN, -0., 4., 5., 6., 7.]), x.index(idx![1..6]).index(idx![1..9]) => ["subtensor"]);
law!(strides_multiply, (x = array![1f64, 2., 3., 4., 5., 6., 7.]), x.index(idx![range(1, 7).step(2)]).index(idx![range(1, 9).step(2)]) => ["subtensor"]);
law!(row_then_column, (x = array![[1f64, 2.], [3., 4.]], i = array![1i64]), x.index(idx![i.index(idx![0])]).index(idx![0]) => ["subtensor", "subtensor"]);
law!(slice_of_nothing, (x = Array1::<f64>::zeros(0)), x.index(idx![2..]).index(idx![1..]) => ["subtensor"]);
law!(element_of_a_slice, (x = array![1f64, 2., 3.]), x.index(idx![1..]).index(idx![1]) => ["subtensor"]);
law!(element_from_the_end_stays, (x = array![1f64, 2., 3.]), x.index(idx![1..]).index(idx![-1]) => ["subtensor", "subtensor"]);
law!(slice_of_everything, (x = array![1f64, 2., 3.]), x.index(idx![..]) => []);
law!(part_set_to_itself, (x = array![1f64, 2., 3.]), x.set_index(idx![1..], x.index(idx![1..])) => []);
law!(read_of_a_write, (x = array![1f64, 2., 3.], y = array![7f64, f64::NAN]), {
    let (x, y) = (x.specify_shape([Some(3)]), y.specify_shape([Some(2)]));
    x.set_index(idx![1..], &y).index(idx![1..])
} => ["specify_shape[2]"]);
law!(read_of_a_write_of_unknown_extent_stays, (x = array![1f64, 2., 3.], y = array![7f64, 8.]), x.set_index(idx![1..], &y).index(idx![1..]) =>
    ["set_subtensor", "subtensor"]);

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

/// Merging forgets no index that is out of range.
#[test]
fn what_is_out_of_range_stays_an_error() {
    let x = vector::<f64>("x");
    for (y, given) in [
        (x.index(idx![0..2]).index(idx![2]), 5),
        (x.index(idx![1..]).index(idx![3]), 4),
        (x.index(idx![3..]).index(idx![-1]), 3),
        (x.set_index(idx![3], 1.0).index(idx![3]), 3),
        (x.set_index(idx![3], x.index(idx![3])), 3),
    ] {
        let f = function([&x]).output(&y).compile().unwrap();
        assert!(f.call(args![vec![0f64; given]]).is_err());
        assert!(f.call_reference(args![vec![0f64; given]]).is_err());
    }
}

/// Infinities and the signs of zeros, to the bit.
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

// Products.
law!(sum_of_multiples, (x = array![1f64, 5., 2.]), (&x * 3.0).sum(..) => ["sum[0]", "multiply"]);
law!(sum_of_negative_multiples_stays, (x = array![1f64, -1.]), (&x * -3.0).sum(..) => ["multiply", "sum[0]"]);
law!(sum_of_no_multiples, (x = Array1::<f64>::zeros(0)), (2.0 * &x).sum(..) => ["sum[0]", "multiply"]);
law!(sum_of_parts_may_not_overflow, (x = array![1e308f64, 1e308]), (0.25 * &x).sum(..) => ["multiply", "sum[0]"]);
law!(sum_of_integer_multiples, (x = array![1i64, i64::MAX]), (&x * 3i64).sum(..) => ["sum[0]", "multiply"]);
law!(sum_of_multiples_of_what_is_infinite_when_cast, (x = array![0f32, 2.]), (constant(1e300).cast(DType::F32) * &x).sum(..)
    => ["multiply", "sum[0]"]);
law!(sum_of_an_outer_product, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.], [f64::NAN, 0.]]),
    (x.specify_shape([None, Some(2)]).expand_dims(1) * y.specify_shape([None, Some(2)]).expand_dims(0)).sum(2)
    => ["specify_shape[?, 2]", "specify_shape[?, 2]", "dimshuffle[1,0]", "dot"]);
law!(sum_of_an_outer_product_with_itself, (x = array![[1f64, 2.], [3., 4.]]), (x.expand_dims(1) * x.expand_dims(0)).sum(2)
    => ["dimshuffle[1,0]", "dot"]);
law!(sum_of_a_product_that_may_broadcast, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.], [f64::NAN, 0.]]),
    (x.expand_dims(1) * y.expand_dims(0)).sum(2) => ["dimshuffle[0,x,1]", "dimshuffle[x,0,1]", "multiply", "sum[2]"]);
law!(fill_beside_what_has_the_shape, (x = array![1f64, 5., 2.]), workalike::ops::full_like(&x, 2.0) * &x => ["multiply"]);
law!(ones_beside_what_has_the_shape, (x = array![1f64, 5., 2.]), workalike::ops::ones_like(&x) * x.exp() => ["exp"]);
law!(fill_that_may_not_fit_stays, (v = array![1f64, 2., 3.], x = array![4f64, 5., 6.]), workalike::ops::full_like(&x, &v) * &x =>
    ["broadcast_like", "multiply"]);
law!(fill_of_no_axes, (x = 2f64), workalike::ops::full_like(&x, 2.0) * x.exp() + x.sin() => ["exp", "multiply", "sin", "add"]);
law!(fill_to_known_extents, (x = array![1f64, 5., 2.]), (constant(array![2.5f64]).broadcast_to([3]) - x.specify_shape([Some(3)])).exp() =>
    ["specify_shape[3]", "subtract", "exp"]);
law!(sum_of_multiples_by_what_has_a_shape, (x = array![1f64, 5., 2.], m = array![3f64, 1., 1.]), (workalike::ops::full_like(&m, 2.0) * &x).sum(..)
    => ["broadcast_like", "multiply", "sum[0]"]);
law!(sum_of_a_product_of_vectors_stays, (x = array![1f64, 2.], y = array![3f64, 4.]), (&x * &y).sum(0) => ["multiply", "sum[0]"]);

#[test]
fn a_large_broadcast_is_not_folded() {
    let x = vector::<f32>("x");
    let big = constant(1f32).broadcast_to([1 << 20]);
    let f = function([&x]).output(&x + &big).compile().unwrap();
    assert!(f.graph().nodes.iter().any(|n| n.op.label().starts_with("broadcast")));
}

/// Build, differentiate, rewrite, save and load 100,000 nodes: no pass recurses, none is quadratic.
#[test]
fn a_graph_of_a_hundred_thousand_nodes_is_ordinary() {
    let x = vector::<f32>("x");
    let mut y = x.clone();
    for i in 0..25_000 {
        y = (&y * (1.0 + f64::from(i) * 1e-9)).maximum(&x);
    }
    let cost = y.sum(..);
    let g = grad(&cost, [&x]).unwrap();
    let f = function([&x]).output(&cost).output(&g[0]).compile().unwrap();
    assert!(f.graph().nodes.len() > 100_000, "{}", f.graph().nodes.len());
    let bytes = Bundle::new().with("f", &f).to_bytes().unwrap();
    let back = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!(back["f"].graph().nodes.len(), f.graph().nodes.len());
}
