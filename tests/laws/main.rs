//! Laws of the portable rewrites, one line each. A law checks the rewritten graph and that values are equal.
//!
//! The law of a rule has the rule's name: it fails unless the rule is applied. `registry.rs` checks that
//! every rule has one.

#![allow(clippy::unwrap_used)]

use workalike::graph::{Def, FunctionGraph};
use workalike::ops::{Known, Op};
use workalike::prelude::*;
use workalike::rewrite::Rewrites;

/// Labels of the remaining nodes.
fn ops(graph: &FunctionGraph) -> Vec<String> {
    graph.nodes.iter().map(|n| n.op.label()).collect()
}

/// An op with one output, applied without the simplifications of the methods.
fn applied(op: impl Op, inputs: &[&Variable]) -> Variable {
    let inputs: Vec<Variable> = inputs.iter().copied().cloned().collect();
    Variable::apply(op, &inputs).unwrap().remove(0)
}

/// Why the original graph has no value.
enum Refused {
    /// Shapes that do not match; passes keep these errors.
    Shapes,
    /// Another error, including assertions of shapes: it may disappear if no output needs its node.
    Values,
}

/// The original graph, evaluated op by op, without any pass.
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
        let known: Vec<Known> = given.iter().map(Known::of).collect();
        let asserts = node.op.id() == "specify_shape";
        node.op.shapes(&known).map_err(|_| if asserts { Refused::Values } else { Refused::Shapes })?;
        let made = node.op.perform(&given).map_err(|_| Refused::Values)?;
        node.outputs.iter().zip(made).for_each(|(&o, value)| values[o as usize] = Some(value));
    }
    Ok(values[graph.outputs[0] as usize].clone().unwrap())
}

/// Special values in the dtype and shape of `like`, starting from a different one in each turn.
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

/// The numbers of an array, of complex ones both parts.
fn parts(value: &Value) -> Vec<f64> {
    if !value.dtype().is_complex() {
        return value.to_f64s();
    }
    let numbers = value.cast(DType::C128).unwrap().to_vec::<Complex<f64>>().unwrap();
    numbers.iter().flat_map(|z| [z.re, z.im]).collect()
}

/// How the rewritten graph must agree with the original.
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    /// In every element, including NaN, infinities and the sign of zero.
    Values,
    /// Where the original is finite, to the digits that it has: the point of the rule is that the original
    /// has fewer correct digits. Results that NaN arguments make NaN stay NaN.
    Digits,
    /// Where the original is finite: the rule cancels terms that turn 0, infinities and NaN into NaN, or
    /// ignores the sign of 0.
    Finite,
}

#[track_caller]
fn agree(keeps: Keeps, given: &[Value], want: &Value, got: &Value) {
    assert_eq!(want.shape(), got.shape(), "of {given:?}");
    for (a, b) in parts(got).into_iter().zip(parts(want)) {
        let same = (a.is_nan() && b.is_nan())
            || (a == b && (a != 0.0 || a.is_sign_negative() == b.is_sign_negative()));
        let near = match keeps {
            Keeps::Values => b != 0.0 && (a - b).abs() <= 1e-5 * b.abs(),
            Keeps::Digits if b.is_nan() => !given.iter().all(|v| v.to_f64s().iter().all(|x| x.is_nan())),
            Keeps::Finite if b.is_nan() => true,
            Keeps::Digits | Keeps::Finite => b.is_infinite() || (a - b).abs() <= 1e-5 * b.abs().max(1.0),
        };
        assert!(same || near, "{a} where {b} was written, of {given:?}");
    }
}

/// Checks a law: the remaining nodes, that the rule of the same name was applied, that a second run changes
/// nothing, and that a call returns the original values, at the given values, at special values and for empty
/// arrays.
#[track_caller]
fn check(keeps: Keeps, name: &str, inputs: &[(&Variable, Value)], expression: &Variable, left: &[&str]) {
    let variables: Vec<Variable> = inputs.iter().map(|i| i.0.clone()).collect();
    let (written, _) = FunctionGraph::import(&variables, std::slice::from_ref(expression), &[]).unwrap();
    let rewrites = Rewrites::default();
    let mut graph = written.clone();
    for pass in rewrites.passes() {
        graph = rewrites.run_pass(pass, &graph).unwrap();
        workalike::graph::verify(&graph).unwrap();
    }
    assert_eq!(ops(&graph), left);
    let (_, fired) = rewrites.trace(written.clone()).unwrap();
    let is_of_rule = rewrites.rules().iter().any(|rule| rule.name() == name);
    assert!(!is_of_rule || fired.contains(&name), "rule {name} was not applied, but {fired:?}");
    assert_eq!(ops(&rewrites.run(graph).unwrap()), left, "the passes find nothing more the second time");
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
    // One argument alone is longer or shorter along an axis: it broadcasts, or is refused.
    for one in 0..inputs.len() {
        for (axis, extent) in (0..inputs[one].1.ndim()).flat_map(|axis| [(axis, 1), (axis, 4)]) {
            let mut values: Vec<Value> = given().cloned().collect();
            values[one] = with_extent(&values[one], axis, extent);
            at(values);
        }
    }
}

/// `law!(name, (inputs), expression => ["ops", "left"])`: the compiled expression has these nodes in this
/// order, and every element keeps its value. `stable!` is for rules that preserve digits, `finite!` for rules
/// that cancel; see [`Keeps`].
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
            check($keeps, stringify!($name), &[$((&$x, Value::from($value))),*], &expression, &$left as &[&str]);
        }
    };
}
macro_rules! stable {
    ($($law:tt)*) => { law!(Keeps::Digits, $($law)*); };
}
macro_rules! finite {
    ($($law:tt)*) => { law!(Keeps::Finite, $($law)*); };
}

mod algebra;
mod complex;
mod diagonals;
mod layout;
mod products;
mod registry;
mod slices;
mod stability;

law!(equal_expressions_are_computed_once, (x = array![1f32, 2.]), x.exp() + x.exp() => ["exp", "add"]);
law!(equal_constants_are_one, (x = array![1f32, 2.]), (&x + 1.0).exp() * (&x + 1.0).exp() => ["add", "exp", "sqr"]);
law!(constants_fold, (x = array![1f32, 2.]), &x * (constant(2f32) + constant(3f32)).exp() => ["multiply"]);
law!(known_extents_fold, (x = array![1f32, 2.]), &x * constant(array![1f32, 2., 3.]).extent(0).cast(DType::F32) => ["multiply"]);
law!(nothing_unused_is_kept, (x = array![1f32, 2.]), { let _ = x.exp(); &x + 1.0 } => ["add"]);

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
