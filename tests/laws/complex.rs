//! Laws of complex numbers that are made of parts, and of views.

use super::*;

fn numbers() -> Array1<Complex<f64>> {
    array![Complex::new(1.0, -0.0), Complex::new(f64::NAN, 4.0), Complex::new(-2.0, f64::INFINITY)]
}

law!(real_of_complex, (x = array![1f64, -0.], y = array![f64::NAN, 4.]), {
    let z = complex(&x, &y);
    z.real() + z.imag()
} => ["add", "broadcast_like", "broadcast_like", "add"]);
law!(imag_of_complex, (x = array![[1f64, -0.], [3., 4.]]), {
    let z = view_as_complex(x.specify_shape([None, Some(2)]));
    z.imag() - z.real()
} => ["specify_shape[?, 2]", "subtensor", "subtensor", "subtract"]);
law!(parts_of_unknown_pairs_stay, (x = array![[1f64, -0.], [3., 4.]]), view_as_complex(&x).real() => ["view_as_complex", "real_part"]);
law!(reals_of_complex, (x = array![[1f64, -0.], [3., 4.]]), view_as_real(view_as_complex(x.specify_shape([None, Some(2)]))) =>
    ["specify_shape[?, 2]"]);
law!(complex_of_parts, (z = numbers()), complex(z.real(), z.imag()) => []);
law!(complex_of_reals, (z = numbers()), view_as_complex(view_as_real(&z)) => []);
law!(conjugates_of_conjugates, (z = numbers()), z.conj().conj() => []);
law!(parts_of_products, (z = numbers()), (&z * 2.0).real() => ["real_part", "multiply"]);
law!(scaled_numbers_stay_pairs, (z = numbers()), (&z * 2.0) / (1.0 + z.abs()) => ["real_part", "imag_part", "hypot", "add",
    "view_as_real", "multiply", "dimshuffle[0,x]", "true_divide", "view_as_complex"]);
law!(sums_stay_pairs, (z = numbers(), w = numbers()), &z + &w => ["view_as_real", "view_as_real", "add", "view_as_complex"]);
law!(products_come_apart, (z = numbers(), w = numbers()), &z * &w => ["real_part", "real_part", "multiply", "imag_part", "imag_part",
    "multiply", "subtract", "multiply", "multiply", "add", "complex"]);
law!(pairs_of_an_array_stay_pairs, (x = array![[1f64, -0.], [3., 4.]]), {
    view_as_complex(x.specify_shape([None, Some(2)])) * 2.0
} => ["specify_shape[?, 2]", "multiply", "view_as_complex"]);
law!(broadcast_numbers_stay_pairs, (z = numbers(), x = array![[1f64], [-0.]]), &z * &x =>
    ["view_as_real", "dimshuffle[x,0,1]", "dimshuffle[0,1,x]", "multiply", "view_as_complex"]);
law!(numbers_read_twice_come_apart, (z = numbers()), {
    let doubled = z.real() * 2.0;
    complex(&doubled, z.imag() * 2.0).imag() + doubled.exp() + complex(&doubled, z.imag() * 2.0).abs()
} => ["real_part", "multiply", "imag_part", "multiply", "exp", "add", "hypot", "add"]);
law!(a_single_number_stays_a_pair, (z = ndarray::arr0(Complex::new(1.0, -2.0))), &z * 2.0 => ["view_as_real", "multiply", "view_as_complex"]);

/// A chain of ops that is deeper than a stack.
#[test]
fn deep_chains_of_numbers_are_rewritten() {
    let z = vector::<Complex<f64>>("z");
    let mut chain = z.clone();
    for step in 0..20_000 {
        chain = if step % 2 == 0 { &chain + &z } else { &chain * 0.5 };
    }
    let f = function([&z]).output(&chain).compile().unwrap();
    let got = f.call(args![array![Complex::new(1.0, -2.0)]]).unwrap()[0].to_vec::<Complex<f64>>().unwrap();
    assert!((got[0] - Complex::new(1.0, -2.0)).norm() < 1e-9, "{got:?}");
}
