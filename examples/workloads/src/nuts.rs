//! The No-U-Turn sampler (Hoffman and Gelman, 2014), in its iterative form (Phan and others, 2019; Lao and
//! others, 2020): a loop doubles a trajectory until it turns back, and a loop within goes through the leaves
//! of the new half, which keeps one point for each subtree of which the current leaf may be the end.

use crate::Device;
use workalike::Result;
use workalike::loops::While;
use workalike::prelude::*;

const SIZE: usize = 3;
/// A trajectory has at most two to this power steps.
const DEPTH: i64 = 6;
const STEP: f64 = 0.35;
/// An energy that rises by so much means that the steps are too long.
const DIVERGES: f64 = 1000.0;

/// Minus the logarithm of the density: normal, with these precisions.
struct Target {
    precision: Variable,
}

impl Target {
    fn energy(&self, q: &Variable, p: &Variable) -> Variable {
        (q * self.precision.dot(q)).sum(..) * 0.5 + p.sqr().sum(..) * 0.5
    }

    fn leapfrog(&self, q: &Variable, p: &Variable, step: &Variable) -> [Variable; 2] {
        let half = p - self.precision.dot(q) * step * 0.5;
        let q = q + &half * step;
        let p = half - self.precision.dot(&q) * step * 0.5;
        [q, p]
    }
}

/// Whether a trajectory of this sum of momenta turns back at either end.
fn turns(first: &Variable, last: &Variable, sum: &Variable) -> Variable {
    let dot = |p: &Variable| (p * sum).sum(over(-1));
    dot(first).less_equal(0.0).bitwise_or(dot(last).less_equal(0.0))
}

/// log(exp(a) + exp(b)).
fn joined(a: &Variable, b: &Variable) -> Variable {
    let most = a.maximum(b);
    &most + ((a - &most).exp() + (b - &most).exp()).log()
}

/// The number of ones in the binary form of small integers.
fn ones(n: &Variable) -> Variable {
    let bit = |at: i64| n.floor_divide(1i64 << at).remainder(2i64);
    (1..DEPTH).fold(bit(0), |sum, at| sum + bit(at))
}

/// The trajectory of `2^depth` more leaves from an end: its last point, a draw of its points, the logarithm
/// of their weight, the sum of the momenta, whether it must not be used, and the number of leaves.
fn subtree(
    target: &Target,
    streams: &RandomStreams,
    [q, p]: [&Variable; 2],
    depth: &Variable,
    step: &Variable,
    start: &Variable,
) -> Vec<Variable> {
    let leaves = constant(2f64).pow(depth.cast(DType::F64)).cast(DType::I64);
    let none = || constant(Array2::<f64>::zeros((DEPTH as usize + 1, SIZE)));
    let state = vec![
        q.clone(),
        p.clone(),
        q.clone(),
        constant(f64::NEG_INFINITY),
        zeros_like(p),
        constant(false),
        constant(0i64),
        none(),
        none(),
    ];
    let goes_on = |s: &Vec<Variable>| s[5].invert().bitwise_and(s[6].less(&leaves));
    let leaf = |s: Vec<Variable>| {
        let [q, p] = target.leapfrog(&s[0], &s[1], step);
        let change = start - target.energy(&q, &p);
        let weight = joined(&s[3], &change);
        let taken = streams.uniform::<f64>(()).log().less(&change - &weight);
        let sum = &s[4] + &p;
        // A leaf of even number begins subtrees; one of odd number ends as many as it has trailing ones.
        let n = &s[6];
        let level = ones(&n.floor_divide(2i64));
        let trailing = ones(&(n.bitwise_xor(n + 1i64))) - 1i64;
        let levels = arange(DEPTH + 1);
        let even = n.remainder(2i64).equal(0i64);
        let here = levels.equal(&level).bitwise_and(&even).expand_dims(1);
        let (firsts, sums) =
            (where_(&here, p.expand_dims(0), &s[7]), where_(&here, sum.expand_dims(0), &s[8]));
        let ends = levels
            .less_equal(&level)
            .bitwise_and(levels.greater(&level - &trailing))
            .bitwise_and(even.invert());
        let between = sum.expand_dims(0) - &sums + &firsts;
        let back = turns(&firsts, &p.expand_dims(0), &between).bitwise_and(ends).any(..);
        let wrong = back.bitwise_or(change.less(-DIVERGES));
        vec![q.clone(), p, where_(taken, &q, &s[2]), weight, sum, wrong, n + 1i64, firsts, sums]
    };
    While::new().named("leaves").run(state, goes_on, leaf).0
}

/// A draw, from the one before, and the number of steps that it took.
fn draw(target: &Target, streams: &RandomStreams, q: &Variable) -> [Variable; 2] {
    let p = streams.normal::<f64>([SIZE]);
    let start = target.energy(q, &p);
    let state = vec![
        q.clone(),
        p.clone(),
        q.clone(),
        p.clone(),
        q.clone(),
        constant(0f64),
        p.clone(),
        constant(true),
        constant(0i64),
        constant(0i64),
    ];
    let goes_on = |s: &Vec<Variable>| s[7].bitwise_and(s[8].less(DEPTH));
    let double = |s: Vec<Variable>| {
        let right = streams.uniform::<f64>(()).less(0.5);
        let step = where_(&right, STEP, -STEP);
        let end = [where_(&right, &s[2], &s[0]), where_(&right, &s[3], &s[1])];
        let half = subtree(target, streams, [&end[0], &end[1]], &s[8], &step, &start);
        let good = half[5].invert();
        // Of the newer half rather than in proportion to its weight.
        let taken = streams.uniform::<f64>(()).log().less(&half[3] - &s[5]).bitwise_and(&good);
        let left = [where_(&right, &s[0], &half[0]), where_(&right, &s[1], &half[1])];
        let last = [where_(&right, &half[0], &s[2]), where_(&right, &half[1], &s[3])];
        let sum = &s[6] + &half[4];
        let on = good.bitwise_and(turns(&left[1], &last[1], &sum).invert());
        let [left_q, left_p] = left;
        let [last_q, last_p] = last;
        vec![
            left_q,
            left_p,
            last_q,
            last_p,
            where_(taken, &half[2], &s[4]),
            joined(&s[5], &half[3]),
            sum,
            on,
            &s[8] + 1i64,
            &s[9] + &half[6],
        ]
    };
    let (last, _) = While::new().named("doubling").run(state, goes_on, double);
    [last[4].clone(), last[9].clone()]
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let covariance = [[1.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]];
    let rows: Vec<f64> = covariance.iter().flatten().copied().collect();
    let covariances = constant(Value::from_vec(&[SIZE, SIZE], rows)?);
    let target = Target { precision: linalg::inv(&covariances) };
    let at = shared("position", vec![0f64; SIZE]);
    let [next, steps] = draw(&target, &RandomStreams::new(91), &at);
    let f = function(()).output(&next).output(&steps).update(&at, &next).compile()?;
    let mut simulator = f.optimize(device.clone())?;
    let draws = 600;
    let outputs = simulator.run_n_collect(draws as u64, args![])?;
    let (points, steps) = (outputs[0].to_f64s(), outputs[1].to_f64s());
    let mean = |of: &dyn Fn(&[f64]) -> f64| points.chunks(SIZE).map(of).sum::<f64>() / draws as f64;
    for i in 0..SIZE {
        let own = mean(&|x| x[i]);
        assert!(own.abs() < 0.15, "coordinate {i} has the mean {own}");
        for j in 0..=i {
            let both = mean(&|x| x[i] * x[j]);
            assert!(
                (both - covariance[i][j]).abs() < 0.2,
                "coordinates {i} and {j} have the covariance {both}"
            );
        }
    }
    let length = steps.iter().sum::<f64>() / draws as f64;
    assert!((3.0..40.0).contains(&length), "a draw takes {length} steps");
    Ok(format!("{draws} draws of {length:.1} steps each have the target's means and covariances"))
}
