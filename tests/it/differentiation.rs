//! Options of gradients, products with the Jacobian, and second derivatives, against values worked out by
//! hand.

use workalike::grad::{Disconnected, Grad};
use workalike::prelude::*;

/// Evaluates on the host device and by the reference, which must agree.
fn values(inputs: &[(&Variable, Value)], outputs: &[Variable]) -> Vec<Vec<f64>> {
    let f = function(inputs.iter().map(|i| i.0)).outputs(outputs).allow_unused_inputs().compile().unwrap();
    let args = || inputs.iter().fold(Args::new(), |args, (_, value)| args.with(value));
    let (fast, plain) = (f.call(args()).unwrap(), f.call_reference(args()).unwrap());
    for ((_, a), (_, b)) in fast.iter().zip(plain.iter()) {
        assert_eq!(a.shape(), b.shape());
        for (a, b) in a.to_f64s().into_iter().zip(b.to_f64s()) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
        }
    }
    plain.iter().map(|(_, value)| value.to_f64s()).collect()
}

#[test]
fn known_gradients_are_the_start() {
    let (x, g) = (vector::<f64>("x"), vector::<f64>("g"));
    let y = x.sqr();
    let (at, seed) = (Value::from(vec![1.0, 2.0]), Value::from(vec![10.0, 100.0]));
    let back = Grad::known([(&y, &g)]).wrt([&x]).unwrap();
    assert_eq!(values(&[(&x, at.clone()), (&g, seed.clone())], &back), [[20.0, 400.0]]);
    // With a cost as well, the gradients are added.
    let both = Grad::of(&y.sum(..)).and_known([(&y, &g)]).wrt([&x]).unwrap();
    assert_eq!(values(&[(&x, at), (&g, seed)], &both), [[22.0, 404.0]]);
    assert!(Grad::known([(&y, &constant(1.0f64))]).wrt([&x]).is_err(), "another type");
}

#[test]
fn constants_stop_gradients() {
    let x = vector::<f64>("x");
    let y = x.exp();
    let cost = (&y * &x).sum(..);
    let at = Value::from(vec![0.0, 1.0]);
    let e = std::f64::consts::E;
    let held = Grad::of(&cost).consider_constant([&y]).wrt([&x]).unwrap();
    assert_eq!(values(&[(&x, at.clone())], &held), [[1.0, e]]);
    let by_op = grad((consider_constant(&y) * &x).sum(..), [&x]).unwrap();
    assert_eq!(values(&[(&x, at.clone())], &by_op), [[1.0, e]]);
    let zero = grad(zero_grad(&y).sum(..), [&x]).unwrap();
    assert_eq!(values(&[(&x, at.clone())], &zero), [[0.0, 0.0]]);
    let clipped = grad((grad_clip(&x, -1.0, 2.0) * 7.0).sum(..), [&x]).unwrap();
    assert_eq!(values(&[(&x, at)], &clipped), [[2.0, 2.0]]);
}

#[test]
fn disconnected_inputs_are_an_error_or_zero() {
    let (x, y) = (vector::<f64>("x"), vector::<f64>("y"));
    let error = grad(x.sum(..), [&y]).unwrap_err().to_string();
    assert!(error.contains('y'), "{error}");
    let zero = Grad::of(&x.sum(..)).disconnected(Disconnected::Zero).wrt([&y]).unwrap();
    let at = [(&x, Value::from(vec![1.0])), (&y, Value::from(vec![5.0, 6.0]))];
    assert_eq!(values(&at, &zero), [[0.0, 0.0]]);
    assert!(Grad::of(&x.sum(..)).wrt_connected(&[y]).unwrap()[0].is_none());
    assert!(grad(x.argmax(..).cast(DType::F64), [&x]).is_err(), "an index has no slope");
}

#[test]
fn an_unknown_slope_is_an_error_only_if_requested() {
    let x = vector::<f64>("x");
    let error = grad(gammainc(&x, 2.0).sum(..), [&x]).unwrap_err().to_string();
    assert!(error.contains("gammainc") && error.contains("consider_constant"), "{error}");
    assert!(grad((consider_constant(gammainc(&x, 2.0)) * &x).sum(..), [&x]).is_ok());
}

#[test]
fn the_jacobian_and_its_products() {
    let x = tensor::<f64>("x", [Some(3)]);
    let a = constant(array![[1.0, 2.0, 3.0], [0.0, -1.0, 4.0]]);
    let y = a.dot(&x).sqr();
    let at = [(&x, Value::from(vec![1.0, -1.0, 2.0]))];
    // y = (5, 9)^2, so its Jacobian is 2 (5, 9) times the rows of a.
    let j = jacobian(&y, [&x]).unwrap();
    assert_eq!(values(&at, &j), [[10.0, 20.0, 30.0, 0.0, -18.0, 72.0]]);
    let v = constant(vec![1.0, 10.0, 100.0]);
    assert_eq!(values(&at, &[jvp(&y, [&x], [&v]).unwrap()]), [[3210.0, 7020.0]]);
    let u = constant(vec![1.0, 10.0]);
    assert_eq!(values(&at, &vjp(&y, [&x], &u).unwrap()), [[10.0, -160.0, 750.0]]);
    let unknown = vector::<f64>("z");
    let error = jacobian(&unknown.sort(0), [&unknown]);
    assert!(error.is_ok() || error.unwrap_err().to_string().contains("specify_shape"));
    assert!(jvp(&y, [&x], Vec::<Variable>::new()).is_err());
}

#[test]
fn second_derivatives() {
    let x = tensor::<f64>("x", [Some(2)]);
    let (a, b) = (x.index(workalike::idx![0]), x.index(workalike::idx![1]));
    let cost = a.pow(3i64) * &b + b.sin();
    let at = [(&x, Value::from(vec![2.0, 0.5]))];
    let h = values(&at, &hessian(&cost, [&x]).unwrap()).swap_remove(0);
    for (got, want) in h.iter().zip([6.0 * 2.0 * 0.5, 12.0, 12.0, -(0.5f64.sin())]) {
        assert!((got - want).abs() < 1e-12, "{h:?}");
    }
    let v = constant(vec![1.0, -2.0]);
    let along = values(&at, &hvp(&cost, [&x], [&v]).unwrap()).swap_remove(0);
    for (got, want) in along.iter().zip([h[0] - 2.0 * h[1], h[2] - 2.0 * h[3]]) {
        assert!((got - want).abs() < 1e-12, "{along:?}");
    }
}

#[test]
fn forward_mode_through_everything_that_a_network_has() {
    let (x, w) = (matrix::<f64>("x"), matrix::<f64>("w"));
    let y = softmax(x.dot(&w).tanh(), -1).max(1) + x.sum(1);
    let (dx, dw) = (matrix::<f64>("dx"), matrix::<f64>("dw"));
    let numbers = |shape: [usize; 2], seed: f64| {
        let list: Vec<f64> = (0..shape[0] * shape[1]).map(|i| (seed + i as f64 * 0.7).sin()).collect();
        Value::from_vec(&shape, list).unwrap()
    };
    let (x0, w0) = (numbers([4, 3], 0.1), numbers([3, 5], 0.2));
    let (dx0, dw0) = (numbers([4, 3], 0.3), numbers([3, 5], 0.4));
    let along = jvp(&y, [&x, &w], [&dx, &dw]).unwrap();
    let got = values(&[(&x, x0.clone()), (&w, w0.clone()), (&dx, dx0.clone()), (&dw, dw0.clone())], &[along]);
    let step = |by: f64| {
        let shift = |at: &Value, d: &Value| {
            let list: Vec<f64> = at.to_f64s().iter().zip(d.to_f64s()).map(|(a, d)| a + by * d).collect();
            Value::from_vec(at.shape(), list).unwrap()
        };
        values(&[(&x, shift(&x0, &dx0)), (&w, shift(&w0, &dw0))], std::slice::from_ref(&y)).swap_remove(0)
    };
    let (after, before) = (step(1e-5), step(-1e-5));
    for ((got, after), before) in got[0].iter().zip(after).zip(before) {
        let numeric = (after - before) / 2e-5;
        assert!((got - numeric).abs() < 1e-8, "{got} {numeric}");
    }
}

#[test]
fn verify_grad_tells_right_from_wrong() {
    let at = [Value::from(vec![0.3, 1.2, -0.7]), Value::from(vec![2.0, -1.0, 0.4])];
    verify_grad(|x| (x[0].sin() * &x[1]).cumulated(), &at, 1e-8).unwrap();
    // A wrong gradient.
    let error = verify_grad(|x| consider_constant(&x[0]) * &x[0], &at[..1], 1e-8).unwrap_err().to_string();
    assert!(error.contains("input 0"), "{error}");
    assert!(verify_grad(|x| x[0].floor() * &x[1], &at, 1e-8).is_ok(), "flat where it is not a jump");
}

#[test]
fn special_functions_of_several_arguments() {
    type Of = fn(&Variable) -> Variable;
    let positive: [Of; 9] = [
        |x| gammainc(1.7, x),
        |x| gammaincc(0.4, x),
        |x| polygamma(1i64, x) + polygamma(4i64, x),
        |x| x.trigamma(),
        |x| jv(1.5, x),
        |x| iv(0.3, x),
        |x| ive(2i64, x),
        |x| kve(0.7, x),
        |x| owens_t(x, x * 1.3),
    ];
    for of in positive {
        verify_grad(|x| of(&x[0]), &[Value::from(vec![0.3, 1.1, 2.9])], 1e-7).unwrap();
    }
    let within: [Of; 3] =
        [|x| betainc(2.5, 0.7, x), |x| hyp2f1(0.5, 1.5, 2.2, x), |x| hyp2f1(-2i64, 1.5, 2.2, x)];
    for of in within {
        verify_grad(|x| of(&x[0]), &[Value::from(vec![0.2, 0.51, 0.8])], 1e-7).unwrap();
    }
    let negative = [Value::from(vec![-0.4, -1.3, -3.6])];
    verify_grad(|x| ive(3i64, &x[0]) * jv(-2i64, &x[0]), &negative, 1e-7).unwrap();
    verify_grad(|x| polygamma(2i64, &x[0]) + hyp2f1(1.5, -0.3, 2.0, &x[0]), &negative, 1e-6).unwrap();
}

/// Concatenates a vector and its squares.
trait Cumulated {
    fn cumulated(&self) -> Variable;
}
impl Cumulated for Variable {
    fn cumulated(&self) -> Variable {
        workalike::ops::concatenate([self.clone(), self.sqr()], 0)
    }
}

#[test]
fn intermediate_variables_are_independent() {
    let x = vector::<f64>("x");
    let at = [(&x, Value::from(vec![0.0, 1.0]))];
    let p = softmax(&x, -1);
    let g = values(&at, &[p.clone(), grad(p.log().sum(..), [&p]).unwrap().swap_remove(0)]);
    for (p, g) in g[0].iter().zip(&g[1]) {
        assert!((g - 1.0 / p).abs() < 1e-12);
    }
    let y = x.exp();
    let g = values(&at, &grad(((&y + 1.0).log() + &y).sum(..), [&y]).unwrap()).swap_remove(0);
    for (g, y) in g.iter().zip([1.0, std::f64::consts::E]) {
        assert!((g - (1.0 / (1.0 + y) + 1.0)).abs() < 1e-12, "{g}");
    }
    let held = Grad::of(&(&y + 1.0).log().sum(..)).consider_constant([&y]);
    assert!(held.wrt([&x]).is_err(), "nothing is left that depends on x");
}

#[test]
fn all_outputs_of_a_node_are_waited_for() {
    let (x, c) = (vector::<f64>("x"), constant(vec![10.0, 20.0, 30.0, 40.0]));
    let [v, i] = x.topk_both(3, -1);
    let at = [(&x, Value::from(vec![0.0, 3.0, 1.0, 2.0]))];
    let e = |x: f64| x.exp();
    let want = [0.0, 20.0 * e(3.0), 30.0 * e(1.0), 40.0 * e(2.0)];
    // Either output may be visited first.
    for cost in [(v.exp() * c.take(&i, 0)).sum(..), (c.take(&i, 0) * v.exp()).sum(..)] {
        let g = values(&at, &grad(&cost, [&x]).unwrap()).swap_remove(0);
        g.iter().zip(want).for_each(|(g, want)| assert!((g - want).abs() < 1e-12, "{g} {want}"));
        let more = values(&at, &grad(&(cost + x.sum(..)), [&x]).unwrap()).swap_remove(0);
        more.iter().zip(want).for_each(|(g, want)| assert!((g - want - 1.0).abs() < 1e-12, "{g} {want}"));
    }
}

#[test]
fn run_time_broadcasts_are_summed_over() {
    let (x, y) = (vector::<f64>("x"), vector::<f64>("y"));
    let at = |x0: &[f64], y0: &[f64]| [(&x, Value::from(x0.to_vec())), (&y, Value::from(y0.to_vec()))];
    let g = grad((&x * &y).sum(..), [&x, &y]).unwrap();
    assert_eq!(values(&at(&[2.0], &[1.0, 2.0, 3.0]), &g), [vec![6.0], vec![2.0, 2.0, 2.0]]);
    assert_eq!(values(&at(&[2.0, 3.0], &[5.0, 7.0]), &g), [[5.0, 7.0], [2.0, 3.0]]);
    assert_eq!(values(&at(&[2.0, 3.0], &[5.0]), &g), [vec![5.0, 5.0], vec![5.0]]);
    // The same for second derivatives.
    let again = grad((&x * &y).sqr().sum(..), [&x]).unwrap();
    let twice = grad(again[0].sum(..), [&x, &y]).unwrap();
    assert_eq!(values(&at(&[2.0], &[1.0, 3.0]), &twice), [vec![20.0], vec![8.0, 24.0]]);
    let wide = grad(x.broadcast_to([5]).sum(..), [&x]).unwrap();
    assert_eq!(values(&at(&[2.0], &[]), &wide), [[5.0]]);
    assert_eq!(values(&at(&[0.0; 5], &[]), &wide), [[1.0; 5]]);
    let written = constant(vec![0.0; 4]);
    for part in
        [written.set_index(workalike::idx![1..], &x), written.set_index(workalike::idx![[1i64, 2, 3]], &x)]
    {
        let g = grad((part * constant(vec![1.0, 2.0, 3.0, 4.0])).sum(..), [&x]).unwrap();
        assert_eq!(values(&at(&[2.0], &[]), &g), [[9.0]]);
        assert_eq!(values(&at(&[2.0, 3.0, 4.0], &[]), &g), [[2.0, 3.0, 4.0]]);
    }
    let (a, b) = (tensor3::<f64>("a"), tensor3::<f64>("b"));
    let product = a.matmul(&b);
    let g = grad(product.sum(..), [&a, &b]).unwrap();
    let ones = |shape: [usize; 3]| Value::from_vec(&shape, vec![1.0; shape.iter().product()]).unwrap();
    let batch = [(&a, ones([1, 2, 3])), (&b, ones([4, 3, 5]))];
    assert_eq!(values(&batch, &g), [vec![20.0; 6], vec![2.0; 60]]);
}

#[test]
fn extents_that_are_the_same_are_not_asked_for_twice() {
    let (x, w) = (matrix::<f64>("x"), shared("w", workalike::prelude::array![[1.0], [2.0]]));
    let h = (x.dot(&w) + 1.0).tanh();
    let cost = (&h * softmax(&h, -1) - h.sqr()).sum(..);
    let f = function([&x]).outputs(grad(&cost, [&x]).unwrap()).compile().unwrap();
    assert!(f.graph().nodes.iter().all(|n| n.op.id() != "sum_like"), "{:?}", f.graph());
}

#[test]
fn the_last_of_repeated_writes_has_the_gradient() {
    let y = vector::<f64>("y");
    let at = [(&y, Value::from(vec![5.0, 7.0]))];
    let zeros = constant(vec![0.0, 0.0]);
    let i = constant(vec![0i64, 0]);
    let g = grad(zeros.set_index(workalike::idx![&i], &y).sum(..), [&y]).unwrap();
    assert_eq!(values(&at, &g), [[0.0, 1.0]]);
    let g = grad(zeros.put_along_axis(&i, &y, 0).sum(..), [&y]).unwrap();
    assert_eq!(values(&at, &g), [[0.0, 1.0]]);
    // Rows, each written or overwritten; and one value for all of them.
    let (m, rows) = (constant(array![[0.0, 0.0], [0.0, 0.0]]), matrix::<f64>("rows"));
    let set = m.set_index(workalike::idx![[1i64, -1, 1]], &rows);
    let g = grad((set * constant(array![[1.0, 2.0], [3.0, 4.0]])).sum(..), [&rows]).unwrap();
    let three = [(&rows, Value::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))];
    assert_eq!(values(&three, &g), [[0.0, 0.0, 0.0, 0.0, 3.0, 4.0]]);
    assert_eq!(values(&[(&rows, Value::from(array![[1.0, 2.0]]))], &g), [[3.0, 4.0]]);
    // Positions that cannot repeat need no extra ops.
    let distinct = zeros.set_index(workalike::idx![arange(2)], &y);
    let f = function([&y]).outputs(grad(distinct.sum(..), [&y]).unwrap()).compile().unwrap();
    let sets = f.graph().nodes.iter().filter(|n| n.op.id() == "advanced_inc_subtensor").count();
    assert!(sets <= 1, "{:?}", f.graph());
}

#[test]
fn slopes_at_zero_and_near_it() {
    let (a, b) = (vector::<f64>("a"), vector::<f64>("b"));
    let slopes = |y: Variable, a0: f64, b0: f64| {
        let g = grad(y.sum(..), [&a, &b]).unwrap();
        values(&[(&a, Value::from(vec![a0])), (&b, Value::from(vec![b0]))], &g).concat()
    };
    let near = |got: Vec<f64>, want: [f64; 2]| {
        got.iter().zip(want).for_each(|(g, w)| assert!((g - w).abs() <= 1e-12 * (1.0 + w.abs()), "{got:?}"));
    };
    near(slopes(a.xlogy(&b), 0.0, 2.0), [2f64.ln(), 0.0]);
    near(slopes(a.xlogy(&b), 0.0, 0.0), [0.0, 0.0]);
    near(slopes(a.xlog1py(&b), 0.0, 2.0), [3f64.ln(), 0.0]);
    near(slopes(a.xlog1py(&b), 0.0, -1.0), [0.0, 0.0]);
    let x = vector::<f32>("x");
    let y = constant(vec![1e-25f32]);
    let g = grad(x.arctan2(&y).sum(..), [&x]).unwrap();
    let got = values(&[(&x, Value::from(vec![1e-25f32]))], &g)[0][0];
    assert!((got - 5e24).abs() < 1e19, "{got}");
    let g = grad(x.arcsinh().sum(..), [&x]).unwrap();
    let got = values(&[(&x, Value::from(vec![1e25f32]))], &g)[0][0];
    assert!((got - 1e-25).abs() < 1e-31, "{got}");
}

#[test]
fn products_with_zeros_have_second_derivatives() {
    let x = tensor::<f64>("x", [Some(3)]);
    let h = hessian(&x.prod(..), [&x]).unwrap();
    let at = |list: [f64; 3]| [(&x, Value::from(list.to_vec()))];
    assert_eq!(values(&at([0.0, 2.0, 3.0]), &h), [[0.0, 3.0, 2.0, 3.0, 0.0, 0.0, 2.0, 0.0, 0.0]]);
    assert_eq!(values(&at([0.0, 0.0, 3.0]), &h), [[0.0, 3.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]]);
    assert_eq!(values(&at([4.0, 2.0, 3.0]), &h), [[0.0, 3.0, 2.0, 3.0, 0.0, 4.0, 2.0, 4.0, 0.0]]);
    assert_eq!(values(&at([0.0, 0.0, 0.0]), &h), [[0.0; 9]]);
    // `mul_index` multiplies factors at a repeated position.
    let start = constant(vec![2.0]);
    let met = start.mul_index(workalike::idx![[0i64, 0, 0]], &x).sum(..);
    let h = hessian(&met, [&x]).unwrap();
    assert_eq!(values(&at([0.0, 2.0, 3.0]), &h), [[0.0, 6.0, 4.0, 6.0, 0.0, 0.0, 4.0, 0.0, 0.0]]);
}
