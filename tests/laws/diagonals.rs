//! Laws of diagonals, and of the traces that sum them.

use super::*;

/// A matrix of two rows and two columns.
fn square(x: &Variable) -> Variable {
    x.specify_shape([Some(2), Some(2)])
}

law!(gather_all, (x = array![1f64, f64::NAN, -0.]), x.specify_shape([Some(3)]).index(idx![[0i64, 1, 2]]) => ["specify_shape[3]"]);
law!(gather_of_a_part_stays, (x = array![1f64, f64::NAN, -0.]), x.specify_shape([Some(3)]).index(idx![[0i64, 1]]) =>
    ["specify_shape[3]", "advanced_subtensor"]);
law!(gather_of_what_may_be_longer_stays, (x = array![1f64, 2.]), x.index(idx![[0i64, 1]]) => ["advanced_subtensor"]);
law!(gather_transposed, (x = array![[1f64, 2.], [3., 4.]], i = array![1i64, 0]), x.t().index(idx![&i, [0i64, 1]]) =>
    ["advanced_subtensor"]);
finite!(diagonal_of_product, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.]]), square(&x).dot(square(&y)).trace(0) =>
    ["specify_shape[2, 2]", "specify_shape[2, 2]", "dimshuffle[1,0]", "multiply", "sum[0, 1]"]);
finite!(diagonal_of_a_product_with_the_transpose, (x = array![[1f64, 2.], [3., 4.]]), {
    let x = x.specify_shape([Some(2), None]);
    x.dot(x.t()).trace(0)
} => ["specify_shape[2, ?]", "sqr", "sum[0, 1]"]);
law!(diagonal_of_a_product_that_may_not_fit_stays, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.]]),
    x.specify_shape([Some(2), None]).dot(y.specify_shape([None, Some(2)])).trace(0) =>
    ["specify_shape[2, ?]", "specify_shape[?, 2]", "dot", "advanced_subtensor", "sum[0]"]);
finite!(diagonal_of_elementwise, (x = array![[1f64, 2.], [3., 4.]]), (square(&x) * 3.0).trace(0) =>
    ["specify_shape[2, 2]", "advanced_subtensor", "sum[0]", "multiply"]);
law!(diagonal_of_a_function, (x = array![[1f64, 2.], [3., 4.]]), square(&x).exp().diagonal(0, 0, 1) =>
    ["specify_shape[2, 2]", "advanced_subtensor", "exp"]);
law!(diagonal_of_what_may_broadcast_stays, (x = array![[1f64, 2.], [3., 4.]], y = array![[5f64, 6.], [7., 8.]]),
    (square(&x) * &y).diagonal(0, 0, 1) => ["specify_shape[2, 2]", "multiply", "advanced_subtensor"]);
law!(diagonal_beside_the_main_one_stays, (x = array![[1f64, 2.], [3., 4.]]), square(&x).exp().diagonal(1, 0, 1) =>
    ["specify_shape[2, 2]", "exp", "advanced_subtensor"]);

/// Extents that no type knows, square and not: the trace of a product is that of its elements.
#[test]
fn traces_of_any_shape() {
    let (x, y) = (matrix::<f64>("x"), tensor::<f64>("y", [Some(3), None]));
    let f = function([&x, &y]).output(x.specify_shape([None, Some(3)]).dot(&y).trace(0)).compile().unwrap();
    let left = array![[1f64, 2., 3.], [4., 5., 6.]];
    for columns in [1usize, 2, 4] {
        let right = Array2::from_shape_fn((3, columns), |(i, j)| (i * 4 + j) as f64 - 2.5);
        let want: f64 = (0..columns.min(2)).map(|d| left.row(d).dot(&right.column(d))).sum();
        for got in [f.call(args![left.clone(), right.clone()]), f.call_reference(args![left.clone(), right])]
        {
            let got = got.unwrap()[0].item::<f64>().unwrap();
            assert!((got - want).abs() < 1e-12 * want.abs(), "{got}, not {want}");
        }
    }
    assert!(f.call(args![left, Array2::<f64>::zeros((4, 2))]).is_err(), "they do not fit");
}
