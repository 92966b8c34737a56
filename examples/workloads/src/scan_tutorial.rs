//! Theano's tutorial on `scan`: powers, a polynomial, a network over a sequence forwards and backwards,
//! recurrences of several terms, a Jacobian, powers of two until a limit.

use crate::{Device, uniform};
use workalike::Result;
use workalike::loops::{Scan, While, map, reduce};
use workalike::prelude::*;

fn close(got: &Value, want: &[f64]) {
    let got = got.to_f64s();
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4 * (1.0 + b.abs());
    assert!(got.len() == want.len() && got.iter().zip(want).all(near), "{got:?}, expected {want:?}");
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let on = |f: Function, args: Args| -> Result<Outputs> { f.optimize(device.clone())?.call(args) };
    powers(&on)?;
    recurrences(&on)?;
    rows(&on)?;
    until(&on)?;
    Ok("eight loops of the tutorial give its numbers".into())
}

/// How the results of a Function are computed.
type Call<'c> = &'c dyn Fn(Function, Args) -> Result<Outputs>;

fn powers(call: Call<'_>) -> Result<()> {
    // A ** k, of each element.
    let (a, k) = (vector::<f32>("a"), scalar::<i64>("k"));
    let power = fori(&k, ones_like(&a), |_, product| product * &a);
    let f = function([&a, &k]).output(&power).compile()?;
    let numbers: Vec<f32> = (0..10u8).map(f32::from).collect();
    close(&call(f, args![numbers, 2i64])?[0], &(0..10).map(|n| f64::from(n * n)).collect::<Vec<_>>());
    // A polynomial: the sum of coefficients times powers.
    let (coefficients, x) = (vector::<f32>("coefficients"), scalar::<f32>("x"));
    let exponents = arange(coefficients.extent(0)).cast(DType::F32);
    let terms = map((&coefficients, &exponents), |(c, e)| c * x.pow(e));
    let f = function([&coefficients, &x]).output(terms.sum(..)).compile()?;
    close(&call(f, args![vec![1f32, 0.0, 2.0], 3f32])?[0], &[19.0]);
    Ok(())
}

fn recurrences(call: Call<'_>) -> Result<()> {
    // tanh(h W + x U), where the second sequence is read backwards.
    let (xs, ys) = (matrix::<f32>("xs"), matrix::<f32>("ys"));
    let [w, u, v] = [(5, 2), (6, 2), (7, 2)].map(|(seed, n)| uniform(seed, &[n, n], -0.5, 0.5));
    let (w, u, v) = (constant(w?), constant(u?), constant(v?));
    let backwards = ys.flip(0);
    let states = scan((&xs, &backwards), zeros_like(xs.index(idx![0])), |(x, y), h| {
        (h.dot(&w) + x.dot(&u) + y.dot(&v)).tanh()
    });
    let f = function([&xs, &ys]).output(&states).compile()?;
    let inputs = (uniform(1, &[5, 2], -1.0, 1.0)?, uniform(2, &[5, 2], -1.0, 1.0)?);
    let want = f.call_reference(args![&inputs.0, &inputs.1])?[0].to_f64s();
    close(&call(f, args![&inputs.0, &inputs.1])?[0], &want);
    // x(t) = x(t - 2) + x(t - 1).
    let first = vector::<i64>("first");
    let sums = Scan::new().steps(8).recurrent_taps(&first, [-2, -1]).run(|taps| vec![&taps[0] + &taps[1]]);
    let f = function([&first]).output(sums.history(0)).compile()?;
    close(&call(f, args![vec![0i64, 1]])?[0], &[1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0]);
    Ok(())
}

fn rows(call: Call<'_>) -> Result<()> {
    // The norms of lines, and the trace.
    let m = matrix::<f32>("m");
    let norms = map(&m, |row| row.sqr().sum(..).sqrt());
    let trace = reduce(arange(m.extent(0)), constant(0f32), |i, sum| sum + m.index(idx![&i, &i]));
    let f = function([&m]).output(&norms).output(&trace).compile()?;
    let results = call(f, args![array![[3f32, 4.0], [6.0, 8.0]]])?;
    close(&results[0], &[5.0, 10.0]);
    close(&results[1], &[11.0]);
    // The Jacobian of tanh(v A), row by row.
    let (row, full) = (vector::<f32>("row"), array![[1f32, -0.5], [0.25, 2.0]]);
    let y = row.dot(constant(&full)).tanh();
    let rows = map(arange(y.extent(0)), |i| {
        grad(y.index(idx![i]), [&row]).map_or_else(Variable::poison, |mut g| g.remove(0))
    });
    let f = function([&row]).output(&rows).compile()?;
    let at: [f64; 2] = [0.5, -1.0];
    let slope = |j: usize| {
        let column = full.column(j).mapv(f64::from);
        let (t, c) = ((column[0] * at[0] + column[1] * at[1]).tanh(), column);
        [(1.0 - t * t) * c[0], (1.0 - t * t) * c[1]]
    };
    close(&call(f, args![vec![0.5f32, -1.0]])?[0], &[slope(0), slope(1)].concat());
    Ok(())
}

fn until(call: Call<'_>) -> Result<()> {
    // Powers of two until one exceeds a limit.
    let limit = scalar::<i64>("limit");
    let (last, steps) = While::new().run(constant(1i64), |p| p.less_equal(&limit), |p| p * 2i64);
    let f = function([&limit]).output(&last).output(&steps).compile()?;
    let results = call(f, args![45i64])?;
    assert_eq!((results[0].item::<i64>()?, results[1].item::<i64>()?), (64, 6));
    Ok(())
}
