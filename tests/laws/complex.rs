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
