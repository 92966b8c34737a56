//! Sums of floats keep their bound, 2 log2(n) eps sum|x|, on data for which sequential addition loses every
//! term.

use workalike::prelude::*;

const COUNTS: [usize; 14] = [2, 9, 16, 17, 33, 64, 100, 191, 512, 1000, 2111, 4096, 8192, 70_001];
const OTHERS: [usize; 7] = [1, 2, 7, 16, 64, 65, 300];

/// A 1, followed by halves of its ulp: sequential addition rounds each of them away.
fn first_is_large(n: usize) -> Vec<f64> {
    let mut all = vec![f64::EPSILON / 2.0; n];
    all[0] = 1.0;
    all
}

#[track_caller]
fn keeps_the_bound(what: &str, sums: &Value, count: usize) {
    let (half, bound) = (f64::EPSILON / 2.0, 2.0 * (count as f64).log2() * f64::EPSILON);
    let small = (count - 1) as f64 * half;
    let total = 1.0 + small;
    for sum in sums.to_vec::<f64>().unwrap() {
        // The part above 1 is exact.
        let error = (sum - 1.0 - small).abs();
        assert!(
            error <= bound * total,
            "{what} of {count}: {sum:e} is off by {error:e}, more than {bound:e}"
        );
    }
}

fn call(f: &Function, args: Args) -> Value {
    f.optimize(Host::auto()).unwrap().call(args).unwrap()[0].clone()
}

#[test]
fn sums_down_and_along() {
    let x = matrix::<f64>("x");
    let down = function([&x]).output(x.sum(0)).compile().unwrap();
    let along = function([&x]).output(x.sum(1)).compile().unwrap();
    let all = function([&x]).output(x.sum(..)).compile().unwrap();
    for count in COUNTS {
        for other in OTHERS.into_iter().filter(|other| other * count < 1 << 21) {
            let one = first_is_large(count);
            let columns: Vec<f64> = one.iter().flat_map(|e| std::iter::repeat_n(*e, other)).collect();
            let value = Value::from_vec(&[count, other], columns).unwrap();
            keeps_the_bound(&format!("{other} sums down"), &call(&down, args![&value]), count);
            let rows: Vec<f64> = std::iter::repeat_n(&one, other).flatten().copied().collect();
            let value = Value::from_vec(&[other, count], rows).unwrap();
            keeps_the_bound(&format!("{other} sums along"), &call(&along, args![&value]), count);
            let flat = Value::from_vec(&[count * other, 1], first_is_large(count * other)).unwrap();
            keeps_the_bound("a sum of all", &call(&all, args![&flat]), count * other);
        }
    }
}

#[test]
fn sums_of_products() {
    let (x, y) = (matrix::<f64>("x"), vector::<f64>("y"));
    let along = function([&x, &y]).output(x.dot(&y)).compile().unwrap();
    let down = function([&x, &y]).output(y.dot(&x)).compile().unwrap();
    for count in COUNTS {
        for other in OTHERS.into_iter().filter(|other| other * count < 1 << 21) {
            let (one, ones) = (first_is_large(count), Value::from(vec![1.0; count]));
            let columns: Vec<f64> = one.iter().flat_map(|e| std::iter::repeat_n(*e, other)).collect();
            let value = Value::from_vec(&[count, other], columns).unwrap();
            keeps_the_bound(
                &format!("a vector by {other} columns"),
                &call(&down, args![&value, &ones]),
                count,
            );
            let rows: Vec<f64> = std::iter::repeat_n(&one, other).flatten().copied().collect();
            let value = Value::from_vec(&[other, count], rows).unwrap();
            keeps_the_bound(&format!("{other} rows by a vector"), &call(&along, args![&value, &ones]), count);
        }
    }
}
