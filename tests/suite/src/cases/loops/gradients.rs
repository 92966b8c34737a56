//! Gradients through iterations, and gradients of these.

use super::{STEPS, at, reals, unrolled};
use crate::group::Group;
use workalike::Result;
use workalike::grad::Disconnected;
use workalike::loops::{Scan, fori, reduce, scan};
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![networks(), weights(), taps(), checkpoints(), truncated(), nested(), long()]
}

/// A cost of a loop's history.
type Cost<'a> = &'a dyn Fn(&Variable) -> Variable;

/// The inputs of a recurrent network.
struct Network {
    xs: Variable,
    h0: Variable,
    w: Variable,
    u: Variable,
}

impl Network {
    fn of(group: &mut Group) -> Result<Network> {
        let xs = reals(group, &[STEPS, 4, 3], 41)?;
        let h0 = reals(group, &[4, 5], 42)?;
        let w = reals(group, &[3, 5], 43)?;
        let u = reals(group, &[5, 5], 44)?;
        Ok(Network { xs, h0, w, u })
    }

    fn cell(&self, x: &Variable, h: &Variable) -> Variable {
        (x.dot(&self.w) + h.dot(&self.u) * 0.3).tanh()
    }

    /// The states, written out.
    fn written(&self) -> Variable {
        stack(unrolled(STEPS, &self.h0, |t, h| self.cell(&at(&self.xs, t), h)), 0)
    }
}

impl Group {
    /// Gradients of loops beside those of what they are, written out.
    fn slopes(&mut self, of: &str, names: &[&str], looped: Vec<Variable>, written: &[Variable]) {
        for ((name, looped), written) in names.iter().zip(looped).zip(written) {
            self.unrolled(&format!("{of}_by_{name}"), looped, written);
        }
    }
}

/// Loops that are recorded in blocks, of which the last is not full.
fn long() -> Result<Group> {
    let mut group = Group::new("loops_long_gradients");
    for steps in [1100usize, 2000] {
        let xs = reals(&mut group, &[steps, 3], 71)?;
        let h0 = reals(&mut group, &[3], 72)?;
        let history = scan(&xs, &h0, |x, h| h * 0.9 + &x * &x);
        let cost = at(&history, steps - 1).sum(..) + history.sum(..) * 0.001;
        let left = constant(steps as i64) - arange(steps as i64);
        let power = constant(0.9f64).pow(left.cast(DType::F64));
        let slope = &power / 0.9 + (1.0 - power) * 0.01;
        let by_x = grad(&cost, [&xs])?.remove(0);
        group.unrolled(&format!("{steps}"), by_x, &(&xs * 2.0 * slope.expand_dims(1)));
    }
    Ok(group)
}

/// Gradients of what a body uses in all forms: sums of products, which are made after the loop, and others.
fn weights() -> Result<Group> {
    type Cell = fn(&Variable, &Variable, &Variable, &Variable) -> Variable;
    let cells: [(&str, Cell); 9] = [
        ("twice", |x, h, w, b| (x.dot(w) + h.dot(w) * 0.5 + b).tanh()),
        ("transposed", |x, h, w, b| (x.dot(w.t()) * 0.5 + h + b).tanh()),
        ("two_layers", |x, h, w, b| (h.dot(w).tanh().dot(w) * 0.2 + x * b).tanh()),
        ("joined", |x, h, w, b| (concatenate([x, h], 1).dot(concatenate([w, w], 0)) * 0.3 + b).tanh()),
        ("element_by_element", |x, h, w, b| (x + h * b + w.index(idx![0]) * h).tanh()),
        ("a_part", |x, h, w, b| (x * w.index(idx![1..2, ..]) + h.dot(w.index(idx![.., ..])) + b).tanh()),
        ("at_positions", |x, h, w, b| {
            let at = constant(vec![2i64, 0]);
            (x + b).set_index(idx![.., &at], h.dot(w).index(idx![.., ..2])).tanh()
                + h.index(idx![.., &at]).sum(..) * 0.1
        }),
        ("by_the_sum", |x, h, w, b| (x + h.dot(w) * (h.sum(..) * 0.01).cos() + b).tanh()),
        ("loop_within", |x, h, w, b| fori(2, h, |_, h| (x + h.dot(w) * 0.4 + b).tanh())),
    ];
    let mut group = Group::new("loops_weights");
    let xs = reals(&mut group, &[STEPS, 4, 3], 71)?;
    let h0 = reals(&mut group, &[4, 3], 72)?;
    let (w, b) = (reals(&mut group, &[3, 3], 73)?, reals(&mut group, &[3], 74)?);
    let names = ["w", "b", "xs"];
    for (name, cell) in cells {
        let states = scan(&xs, &h0, |x, h| cell(&x, &h, &w, &b));
        let written = stack(unrolled(STEPS, &h0, |t, h| cell(&at(&xs, t), h, &w, &b)), 0);
        let slopes = |states: &Variable| grad(states.sqr().sum(..), [&w, &b, &xs]);
        group.slopes(name, &names, slopes(&states)?, &slopes(&written)?);
    }
    // One state at a time: the gradient of the weights is a sum of outer products.
    let rows = reals(&mut group, &[STEPS, 3], 75)?;
    let first = reals(&mut group, &[3], 76)?;
    let cell = |x: &Variable, h: &Variable| (x + h.dot(&w) + x.dot(w.t()) + &b).tanh();
    let states = scan(&rows, &first, |x, h| cell(&x, &h));
    let written = stack(unrolled(STEPS, &first, |t, h| cell(&at(&rows, t), h)), 0);
    let slopes = |states: &Variable| grad(states.sqr().sum(..), [&w, &b, &rows]);
    group.slopes("vectors", &names, slopes(&states)?, &slopes(&written)?);
    let again = |states: &Variable| {
        let slope = grad(states.sqr().sum(..), [&w])?.remove(0);
        grad(slope.sqr().sum(..), [&w, &b, &rows])
    };
    group.slopes("vectors_again", &names, again(&states)?, &again(&written)?);
    Ok(group)
}

/// Costs of all states and of some, and the gradient of a gradient.
fn networks() -> Result<Group> {
    let mut group = Group::new("loops_gradients");
    let net = Network::of(&mut group)?;
    let Network { xs, h0, w, u } = &net;
    let states = scan(xs, h0, |x, h| net.cell(&x, &h));
    let written = net.written();
    let weights = (arange(STEPS as i64).cast(DType::F64) + 1.0).reshape([-1, 1, 1]);
    let costs: [(&str, Cost); 3] = [
        ("all", &|h| (h * &weights).sqr().sum(..)),
        ("last", &|h| h.index(idx![-1]).sqr().sum(..)),
        ("some", &|h| h.index(idx![1..3]).sqr().sum(..)),
    ];
    for (cost_name, cost) in costs {
        let [looped, written] = [&states, &written].map(|states| grad(cost(states), [xs, h0, w, u]));
        group.slopes(cost_name, &["xs", "h0", "w", "u"], looped?, &written?);
    }
    let slopes = |states: &Variable| grad(states.sqr().sum(..), [u]).map(|mut g| g.remove(0));
    let second = |states: &Variable| grad((slopes(states)? * u).sum(..), [u, h0]);
    group.slopes("second", &["u", "h0"], second(&states)?, &second(&written)?);
    Ok(group)
}

/// Carried values of two iterations before, and results that are not carried.
fn taps() -> Result<Group> {
    let mut group = Group::new("loops_gradients_of_taps");
    let xs = reals(&mut group, &[STEPS, 4, 3], 41)?;
    let two = reals(&mut group, &[2, 5], 45)?;
    let step = |x: &Variable, a: &Variable, b: &Variable| (x.sum(..) + a * b).sin();
    let taps = Scan::new()
        .sequence(&xs)
        .recurrent_taps(&two, [-2, -1])
        .run(|v| vec![step(&v[0], &v[1], &v[2]), v[0].sqr().sum(..) * &v[1]]);
    let mut values = vec![at(&two, 0), at(&two, 1)];
    for t in 0..STEPS {
        values.push(step(&at(&xs, t), &values[t], &values[t + 1]));
    }
    let rest = (0..STEPS).map(|t| at(&xs, t).sqr().sum(..) * &values[t]).collect::<Vec<_>>();
    let cost = |history: &Variable, rest: &Variable| history.sqr().sum(..) + rest.sum(..);
    let looped = grad(cost(&taps.history(0), &taps.result(0)), [&xs, &two])?;
    let expected = grad(cost(&stack(&values[2..], 0), &stack(&rest, 0)), [&xs, &two])?;
    group.slopes("taps", &["xs", "initial"], looped, &expected);
    Ok(group)
}

/// Loops whose gradient computes the states again, block by block.
fn checkpoints() -> Result<Group> {
    let mut group = Group::new("loops_gradients_of_blocks");
    let net = Network::of(&mut group)?;
    let Network { xs, h0, u, .. } = &net;
    let plain = net.written();
    let costs = |states: &Variable| states.sqr().sum(..) + states.index(idx![-1]).sin().sum(..);
    let written = grad(costs(&plain), [xs, h0, u])?;
    for block in [1, 2, 4, 6, 9] {
        let blocks = Scan::new().sequence(xs).recurrent(h0).checkpoint(block);
        let scanned = blocks.run(|v| vec![net.cell(&v[0], &v[1]), v[1].sum(..)]);
        group.unrolled(&format!("blocks_of_{block}"), scanned.history(0), &plain);
        let before = concatenate([h0.expand_dims(0), plain.index(idx![..-1])], 0);
        group.unrolled(&format!("sums_of_{block}"), scanned.result(0), &before.sum(over([1, 2])));
        let looped = grad(costs(&scanned.history(0)), [xs, h0, u])?;
        group.slopes(&format!("blocks_of_{block}"), &["xs", "h0", "u"], looped, &written);
    }
    Ok(group)
}

/// Gradients through the last iterations alone.
fn truncated() -> Result<Group> {
    let mut group = Group::new("loops_gradients_of_the_last");
    let net = Network::of(&mut group)?;
    let Network { xs, h0, u, .. } = &net;
    for last in [0, 2, STEPS, STEPS + 3] {
        let short = Scan::new().sequence(xs).recurrent(h0).truncate_gradient(last);
        let states = short.run(|v| vec![net.cell(&v[0], &v[1])]).history(0);
        // What comes before the last iterations is constant.
        let before = STEPS.saturating_sub(last);
        let mut h = h0.clone();
        let mut values = Vec::new();
        for t in 0..STEPS {
            h = net.cell(&at(xs, t), &h);
            if t < before {
                h = consider_constant(&h);
            }
            values.push(h.clone());
        }
        let looped = Grad::of(&states.sqr().sum(..)).disconnected(Disconnected::Zero).wrt([xs, h0, u])?;
        let written = stack(&values, 0).sqr().sum(..);
        let written = Grad::of(&written).disconnected(Disconnected::Zero).wrt([xs, h0, u])?;
        group.slopes(&format!("last_{last}"), &["xs", "h0", "u"], looped, &written);
    }
    Ok(group)
}

/// Loops in loops, numbered loops, and a Jacobian.
fn nested() -> Result<Group> {
    let mut group = Group::new("loops_gradients_of_others");
    let xs = reals(&mut group, &[STEPS, 4, 3], 41)?;
    let h0 = reals(&mut group, &[4, 5], 42)?;
    let row = at(&h0, 0);
    let power = fori(STEPS as i64, ones_like(&row), |_, p| p * &row);
    group.unrolled(
        "power",
        grad(power.sum(..), [&row])?.remove(0),
        &(row.pow(STEPS as f64 - 1.0) * STEPS as f64),
    );
    let nested = reduce(&xs, &h0, |x, h| reduce(x.t(), &h, |c, h| (h * c.expand_dims(1)).sin()));
    let mut h = h0.clone();
    for t in 0..STEPS {
        for c in 0..3 {
            h = (h * xs.index(idx![t as i64, .., c as i64]).expand_dims(1)).sin();
        }
    }
    let looped = grad(nested.sum(..), [&xs, &h0])?;
    let expected = grad(h.sum(..), [&xs, &h0])?;
    group.slopes("nested", &["xs", "h0"], looped, &expected);
    let column = at(&h0, 0);
    let jacobian_of = |y: &Variable| jacobian(y, [&column]).map(|mut rows| rows.remove(0));
    let looped = jacobian_of(&fori(3i64, &column, |_, h| (h * 0.9).sin()))?;
    let written = jacobian_of(&unrolled(3, &column, |_, h| (h * 0.9).sin())[2])?;
    group.unrolled("jacobian", looped, &written);
    Ok(group)
}
