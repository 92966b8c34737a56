//! Laws of the rules for numerical stability.

use super::*;

stable!(log_softmax, (x = array![[1f32, 2.], [3., 5.]]), softmax(&x, 1).log() => ["log_softmax[1]"]);
stable!(softmax_stays_where_it_is_used_twice, (x = array![[1f32, 2.]]), softmax(&x, 1).log() + softmax(&x, 1)
    => ["softmax[1]", "log_softmax[1]", "add"]);
stable!(log_one_plus, (x = array![1e-20f64, 2.]), (&x + 1.0).log() => ["log1p"]);
stable!(log_one_minus, (x = array![1e-20f64, 0.5]), (1.0 - &x).log() => ["negative", "log1p"]);
stable!(exp_minus_one, (x = array![1e-20f64, 2.]), x.exp() - 1.0 => ["expm1"]);
stable!(minus_one_and_exp, (x = array![1e-20f64, 2.]), -1.0 + x.exp() => ["expm1"]);
stable!(log_exp, (x = array![1e5f64, -2.]), x.exp().log() => []);
stable!(softplus_is_found, (x = array![1e4f64, -50., 0.3]), (x.exp() + 1.0).log() => ["softplus"]);
stable!(log1p_exp, (x = array![1e4f64, -50., 0.3]), x.exp().log1p() => ["softplus"]);
stable!(log_sigmoid, (x = array![1e4f64, -1e4, 0.3]), x.sigmoid().log() => ["negative", "softplus", "negative"]);
stable!(log_of_one_less_sigmoid, (x = array![1e4f64, -1e4, 0.3]), (1.0 - x.sigmoid()).log() => ["softplus", "negative"]);
stable!(log1p_negative, (x = array![1e4f64, -1e4, 0.3]), (-x.sigmoid()).log1p() => ["softplus", "negative"]);
stable!(logistic_reciprocal, (x = array![1e4f64, -1e4, 0.3]), 1.0 / ((-&x).exp() + 1.0) => ["sigmoid"]);
stable!(logistic_quotient, (x = array![1e4f64, -1e4, 0.3]), x.exp() / (x.exp() + 1.0) => ["sigmoid"]);
stable!(one_minus, (x = array![50f64, -1e4, 0.3]), 1.0 - x.sigmoid() => ["negative", "sigmoid"]);
stable!(one_less_erf, (x = array![6f64, -1.]), 1.0 - x.erf() => ["erfc"]);
stable!(log_of_one_less_exp, (x = array![-1e-20f64, -2.]), (1.0 - x.exp()).log() => ["log1mexp"]);
stable!(log_sum_exp, (x = array![[1e4f64, 1.], [-1e4, -1e4]]), x.exp().sum(1).log() =>
    ["max[1]", "absolute", "less", "where", "consider_constant", "dimshuffle[0,x]", "subtract", "exp", "sum[1]", "log", "add"]);
stable!(log_sqrt, (x = array![1e-300f64, 2.]), x.sqrt().log() => ["log", "multiply"]);
stable!(log_negative_expm1, (x = array![-1e-20f64, -2.]), (-x.expm1()).log() => ["log1mexp"]);
stable!(log1p_expm1, (x = array![1e-20f64, 5.]), x.expm1().log1p() => []);
stable!(log_erfc, (x = array![-1f64, 30.]), x.erfc().log() =>
    ["maximum", "erfcx", "log", "sqr", "subtract", "minimum", "erf", "negative", "log1p", "greater", "where"]);
stable!(log_of_one_less_erf, (x = array![-1f64, 30.]), (1.0 - x.erf()).log() =>
    ["maximum", "erfcx", "log", "sqr", "subtract", "minimum", "erf", "negative", "log1p", "greater", "where"]);

// Inverses.
law!(exp_log, (x = array![1e-3f64, 2.]), x.log().exp() => ["absolute", "greater_equal", "where"]);
law!(exp_log1p, (x = array![1e-3f64, 2.]), x.log1p().exp() => ["add", "greater_equal", "where"]);
law!(exp_log1mexp, (x = array![-1e-20f64, -2.]), x.log1mexp().exp() => ["expm1", "absolute", "less_equal", "where"]);
law!(exp_softplus, (x = array![-50f64, 0.3]), x.softplus().exp() => ["exp", "add"]);
law!(expm1_log, (x = array![1e-3f64, 2.]), x.log().expm1() => ["subtract", "greater_equal", "where"]);
law!(expm1_log1p, (x = array![1e-20f64, 2.]), x.log1p().expm1() => ["greater_equal", "where"]);
law!(expm1_log1mexp, (x = array![-1e-20f64, -2.]), x.log1mexp().expm1() => ["exp", "negative", "less_equal", "where"]);
law!(expm1_softplus, (x = array![-50f64, 0.3]), x.softplus().expm1() => ["exp"]);
law!(sqr_sqrt, (x = array![1e-3f64, 2.]), x.sqrt().sqr() => ["absolute", "greater_equal", "where"]);
law!(product_of_roots, (x = 2f64), x.sqrt() * x.sqrt() => ["absolute", "greater_equal", "where"]);

/// The original is -inf, and its gradient NaN; the result is finite.
#[test]
fn log_erfc_of_large_numbers_has_a_value_and_a_gradient() {
    let x = vector::<f64>("x");
    let y = x.erfc().log();
    let gradient = grad(y.sum(..), [&x]).unwrap().remove(0);
    let f = function([&x]).output(&y).output(&gradient).compile().unwrap();
    let got = f.call(args![vec![-40.0, 0.5, 30.0]]).unwrap();
    // log(erfc(x)) and -2 exp(-x * x) / (sqrt(pi) erfc(x)), for the largest x by the asymptotic series of
    // erfcx.
    for (value, want) in got[0].to_f64s().into_iter().zip([std::f64::consts::LN_2, -0.7350111, -903.9741167])
    {
        assert!((value - want).abs() < 1e-6 * want.abs(), "{value} {want}");
    }
    for (value, want) in got[1].to_f64s().into_iter().zip([0.0, -1.8327056, -60.0332964]) {
        assert!((value - want).abs() < 1e-6 * want.abs() + 1e-12, "{value} {want}");
    }
}
