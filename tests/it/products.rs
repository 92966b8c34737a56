//! How products become steps: operands that are read without a copy, one library call per product, and no
//! host nodes.

use workalike::engine::Plan;
use workalike::prelude::*;

fn plan(output: &Variable, inputs: &[(&Variable, &[usize])]) -> Plan {
    let f = function(inputs.iter().map(|i| i.0)).output(output).allow_unused_inputs().compile().unwrap();
    let mut sim = f.optimize(Host::default().strict()).unwrap();
    let args = inputs.iter().fold(Args::new(), |args, (_, shape)| args.with(of_shape::<f32>(shape).unwrap()));
    sim.plan(args).unwrap()
}

/// The steps, and the batch, m, n and k of the products among them.
fn steps(plan: &Plan) -> (Vec<&str>, Vec<Vec<u64>>) {
    let products = plan.steps.iter().filter(|s| s.name == "matmul").map(|s| s.axes.clone());
    (plan.steps.iter().map(|s| s.kind).collect(), products.collect())
}

fn one(output: &Variable, inputs: &[(&Variable, &[usize])], product: [u64; 4]) {
    let plan = plan(output, inputs);
    assert_eq!(steps(&plan), (vec!["library"], vec![product.to_vec()]), "{plan}");
}

#[test]
fn transposes_cost_nothing() {
    let (x, y) = (&matrix::<f32>("x"), &matrix::<f32>("y"));
    one(&x.t().dot(y), &[(x, &[40, 30]), (y, &[40, 50])], [1, 30, 50, 40]);
    one(&x.dot(y.t()), &[(x, &[30, 40]), (y, &[50, 40])], [1, 30, 50, 40]);
    one(&x.t().dot(y.t()), &[(x, &[40, 30]), (y, &[50, 40])], [1, 30, 50, 40]);
    let turned = x.dot(y).t().dot(x);
    let plan = plan(&turned, &[(x, &[30, 40]), (y, &[40, 30])]);
    assert_eq!(steps(&plan).0, ["library", "library"], "{plan}");
}

#[test]
fn batches_are_one_call() {
    let (x, y) = (&tensor3::<f32>("x"), &tensor3::<f32>("y"));
    let (w, v) = (&matrix::<f32>("w"), &tensor::<f32>("v", [None, None, None, None]));
    let b: &[usize] = &[7, 20, 30];
    one(&x.matmul(y), &[(x, b), (y, &[7, 30, 40])], [7, 20, 40, 30]);
    one(&x.matmul(y.swapaxes(1, 2)), &[(x, b), (y, &[7, 40, 30])], [7, 20, 40, 30]);
    one(&x.swapaxes(0, 1).matmul(w), &[(x, b), (w, &[30, 40])], [20, 7, 40, 30]);
    one(&w.matmul(x), &[(x, b), (w, &[40, 20])], [7, 40, 30, 20]);
    // One matrix for the whole batch: the rows of one product.
    one(&x.matmul(w), &[(x, b), (w, &[30, 40])], [1, 140, 40, 30]);
    one(&v.matmul(w), &[(v, &[2, 7, 20, 30]), (w, &[30, 40])], [1, 280, 40, 30]);
    one(&v.matmul(v), &[(v, &[2, 7, 30, 30])], [14, 30, 30, 30]);
}

#[test]
fn gradients_of_a_batch_are_one_call_each() {
    let (x, w) = (&tensor3::<f32>("x"), &matrix::<f32>("w"));
    let y = &tensor3::<f32>("y");
    // Of a weighted sum: the gradient of the product is y itself.
    let g = grad((x.matmul(w) * y).sum(..), [x, w]).unwrap();
    let given: [(&Variable, &[usize]); 3] = [(x, &[7, 20, 30]), (w, &[30, 40]), (y, &[7, 20, 40])];
    for (g, product) in g.iter().zip([[1, 140, 30, 40], [1, 30, 40, 140]]) {
        let plan = plan(g, &given);
        // The first step computes the incoming gradient.
        assert_eq!(steps(&plan), (vec!["nest", "library"], vec![product.to_vec()]), "{plan}");
    }
}

#[test]
fn sums_over_several_axes_are_one_call() {
    let (x, y) = (&tensor3::<f32>("x"), &tensor3::<f32>("y"));
    let (a, b): (&[usize], &[usize]) = (&[12, 20, 30], &[12, 20, 25]);
    one(&einsum("abk,abn->kn", [x, y]), &[(x, a), (y, b)], [1, 30, 25, 240]);
    one(&einsum("abk,abn->nk", [x, y]), &[(x, a), (y, b)], [1, 25, 30, 240]);
    one(&x.tensordot(y, ([0, 1], [0, 1])), &[(x, a), (y, b)], [1, 30, 25, 240]);
    one(&x.tensordot(y, 1), &[(x, a), (y, &[30, 5, 8])], [1, 240, 40, 30]);
    one(&einsum("bij,bjk->bik", [x, y]), &[(x, a), (y, &[12, 30, 7])], [12, 20, 7, 30]);
}

#[test]
fn einsum_without_sums_is_one_kernel() {
    let (x, y) = (&matrix::<f32>("x"), &matrix::<f32>("y"));
    for output in [x.kron(y), einsum("ij,kl->ikjl", [x, y]), x.outer(y), einsum("ij,ij->i", [x, y]).exp()] {
        let plan = plan(&output, &[(x, &[5, 6]), (y, &[5, 6])]);
        assert_eq!(steps(&plan).0, ["nest"], "{plan}");
    }
}

#[test]
fn malformed_strings_are_refused() {
    let (x, y) = (matrix::<f32>("x"), tensor::<f32>("y", [Some(3), Some(4)]));
    for (text, part) in [
        ("ij,jk->ik", "2 operands"),
        ("ijk", "operand 0 has 2 axes"),
        ("i.j", "part of '...'"),
        ("ij->ik", "k of the output occurs in no operand"),
        ("ij->ii", "i occurs twice"),
        ("i1", "'1' is no letter"),
        ("...i->i", "lacks the '...'"),
    ] {
        let message = workalike::ops::try_einsum(text, [&x]).unwrap_err().to_string();
        assert!(message.contains("einsum") && message.contains(text) && message.contains(part), "{message}");
    }
    let message = workalike::ops::try_einsum("ii", [&y]).unwrap_err().to_string();
    assert!(message.contains("extents 3 and 4"), "{message}");
    let message = workalike::ops::try_einsum("ij,ji", [&y, &y]).unwrap_err().to_string();
    assert!(message.contains("has extents"), "{message}");
    // Extents known at run time only are checked then.
    let f = function([&x]).output(einsum("ii->i", [&x])).compile().unwrap();
    assert!(f.call(args![Array2::<f32>::zeros((2, 3))]).is_err());
    assert_eq!(f.call(args![Array2::<f32>::ones((2, 2))]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0; 2]);
    for bad in [x.try_matmul(constant(1f32)), x.try_tensordot(&y, 3), x.try_tensordot(&y, ([0, 0], [0, 1]))] {
        assert!(bad.is_err());
    }
    assert!(workalike::ops::try_multi_dot([&x]).is_err());
}
