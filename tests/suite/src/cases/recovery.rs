//! After a call that failed, in whatever way, the next good call is good: on a Function, a Simulator and
//! contexts, by every kind of call. No part of the failed call reports its error again.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, fails, wrong};
use std::sync::Arc;
use workalike::engine::device::Device;
use workalike::graph::TensorType;
use workalike::ops::{Attributes, Gradient, Known, Op};
use workalike::prelude::*;
use workalike::{Error, Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 4] = [
        ("one_call_after_another", calls),
        ("iterations_after_a_failed_one", iterations),
        ("results_on_the_device", device_results),
        ("a_reset_after_calls_that_nobody_waited_for", reset),
    ];
    family("recovery", &stories)
}

/// The identity of a number. It refuses a negative one, and panics at a NaN.
#[derive(Debug)]
struct Picky;

impl Op for Picky {
    fn id(&self) -> &'static str {
        "suite.picky"
    }
    fn attributes(&self) -> Attributes {
        vec![]
    }
    fn types(&self, inputs: &[&TensorType]) -> std::result::Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }
    fn shapes(&self, inputs: &[Known]) -> std::result::Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }
    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }
    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let number = inputs[0].item::<f32>()?;
        if number.is_nan() {
            // As `panic!`, without the hook that prints it.
            std::panic::resume_unwind(Box::new("picky met a NaN"));
        }
        if number < 0.0 {
            return Err(Error::mismatch("picky", "a positive number", number.to_string()));
        }
        Ok(inputs.to_vec())
    }
}

/// Arguments of a call: an index, a number that is asserted to be positive, one for the host node.
type Given = (i64, f32, f32);

const GOOD: Given = (1, 1.0, 2.0);

/// Bad arguments, and a word of the error. Where several parts fail, any of them may be named.
const BAD: [(Given, &str); 9] = [
    ((7, 1.0, 2.0), "out of range"),
    ((1, -1.0, 2.0), "positive"),
    ((1, 1.0, -2.0), "positive"),
    ((1, 1.0, f32::NAN), "node"),
    ((7, -1.0, 2.0), "node"),
    ((7, 1.0, -2.0), "node"),
    ((7, 1.0, f32::NAN), "node"),
    ((1, -1.0, -2.0), "node"),
    ((7, -1.0, f32::NAN), "node"),
];

/// A Function with an index that the device checks, a condition, and a host node: a user's op, or a Cholesky
/// factor, which is a host node on OpenCL. `placed`: half of it is in the context `dev1`.
fn program(users: bool, placed: bool) -> Result<Function> {
    let (i, a, h) = (scalar::<i64>("i"), scalar::<f32>("a"), scalar::<f32>("h"));
    let table = shared("table", vec![1f32, 2.0, 3.0, 4.0]);
    let offset = shared("offset", 0i64);
    let total = shared("total", 0f32);
    let total = if placed { total.on("dev1") } else { total };
    let row = table.index(idx![&(&*offset + &i)]);
    let sound = a.assert(a.greater(0.0), "a is positive");
    let checked = match users {
        true => Variable::apply(Picky, std::slice::from_ref(&h))?.swap_remove(0),
        false => linalg::cholesky(h.reshape([1, 1])).sum(..),
    };
    let new = &*total + &row + &sound + &checked;
    let f = function((&i, &a, &h)).output(&row * 2.0).output(&new).update(&table, &*table * 1.5);
    f.update(&total, &new).compile()
}

/// What is called.
enum Callee {
    Function(Function),
    Simulator(Box<Simulator>),
}

/// A way to call, or many at once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Call,
    Borrowed,
    Submitted,
    Iterations(u64),
}

impl Callee {
    /// All forms of a Function; each over shared variables of its own.
    fn all(stage: &Stage, users: bool) -> Result<Vec<(&'static str, Callee)>> {
        let make = |placed: bool| -> Result<Function> {
            let f = program(users, placed)?;
            // Files hold no ops of users.
            if users { Ok(f) } else { stage.function(&f) }
        };
        let on = |f: &Function| f.optimize(stage.open()?).map(Box::new);
        let placed = |names: &[&'static str], placed| -> Result<Callee> {
            let devices = names.iter().map(|&name| Ok((name, stage.open()?))).collect::<Result<Vec<_>>>()?;
            let contexts = contexts::<Arc<dyn Device>>(devices);
            Ok(Callee::Simulator(Box::new(make(placed)?.optimize(contexts)?)))
        };
        Ok(vec![
            ("a Function", Callee::Function(make(false)?)),
            ("a Simulator", Callee::Simulator(on(&make(false)?)?)),
            ("one context", placed(&["dev0"], false)?),
            ("two contexts", placed(&["dev0", "dev1"], true)?),
        ])
    }

    /// Makes one call, or many with the last arguments bad or not.
    fn make(&mut self, way: Way, (i, a, h): Given) -> Result<()> {
        let args = || args![i, a, h];
        match (self, way) {
            (Callee::Function(f), Way::Iterations(n)) => f.run_n(n, args()).map(drop),
            (Callee::Simulator(sim), Way::Iterations(n)) => sim.run_n(n, args()).map(drop),
            (Callee::Simulator(sim), Way::Borrowed) => {
                let borrowed = sim.call_borrowed(args())?;
                borrowed.to_value(0).map(drop)
            }
            (Callee::Simulator(sim), Way::Submitted) => sim.submit(args())?.wait().map(drop),
            (Callee::Function(f), _) => f.call(args()).map(drop),
            (Callee::Simulator(sim), _) => sim.call(args()).map(drop),
        }
    }

    fn state(&mut self) -> Result<Vec<Value>> {
        let names = ["table", "offset", "total"];
        let get = |name: &str| match self {
            Callee::Function(f) => f.shared(name)?.get_value(),
            Callee::Simulator(sim) => sim.get_value(name),
        };
        names.map(get).into_iter().collect()
    }
}

/// The state of the reference after good calls.
fn after(calls: usize) -> Result<Vec<Value>> {
    let f = program(true, false)?;
    for _ in 0..calls {
        f.call_reference(args![GOOD.0, GOOD.1, GOOD.2])?;
    }
    ["table", "offset", "total"].map(|name| f.shared(name)?.get_value()).into_iter().collect()
}

fn near(what: &str, got: &[Value], want: &[Value]) -> Result<()> {
    let numbers = |values: &[Value]| values.iter().flat_map(Value::to_f64s).collect::<Vec<_>>();
    let (got, want) = (numbers(got), numbers(want));
    let is_near =
        got.len() == want.len() && got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs());
    ensure(is_near, || format!("{what}: the state is {got:?}, expected {want:?}"))
}

/// A host node that computes its Cholesky factor gives the root of its number.
fn good_for(users: bool) -> Given {
    if users { GOOD } else { (GOOD.0, GOOD.1, GOOD.2 * GOOD.2) }
}

fn calls(stage: &Stage) -> Result<()> {
    for users in [true, false] {
        // A file does not say where its expressions were written.
        let place = if users || !stage.is_loaded() { "(written at tests/suite" } else { "" };
        for (what, mut callee) in Callee::all(stage, users)? {
            let mut made = 0;
            for way in [Way::Call, Way::Borrowed, Way::Submitted, Way::Iterations(1)] {
                for (bad, word) in BAD.iter().filter(|(bad, _)| users || !bad.2.is_nan()) {
                    let here = format!("{what}, {way:?}, {bad:?}, a user's op: {users}");
                    let before = callee.state()?;
                    let word = if !users && bad.2 < 0.0 { "node" } else { word };
                    fails(&here, callee.make(way, *bad), &[word, place, "changed nothing"])?;
                    ensure(callee.state()? == before, || format!("{here}: it changed the state"))?;
                    callee
                        .make(way, good_for(users))
                        .map_err(|error| wrong(format!("{here}, then: {error}")))?;
                    made += 1;
                    // Table and total grow.
                    if made % 10 == 0 {
                        near(&here, &callee.state()?, &after(made)?)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn iterations(stage: &Stage) -> Result<()> {
    const N: u64 = 12;
    for (what, mut callee) in Callee::all(stage, true)? {
        let mut made = 0;
        for (bad, _) in BAD {
            for at in [0, 5, N - 1] {
                let here = format!("{what}, {bad:?} at {at}");
                let given = (0..N).map(|k| if k == at { bad } else { GOOD });
                let i: Vec<i64> = given.clone().map(|g| g.0).collect();
                let a: Vec<f32> = given.clone().map(|g| g.1).collect();
                let h: Vec<f32> = given.map(|g| g.2).collect();
                let args = args![each(i), each(a), each(h)];
                let ran = match &mut callee {
                    Callee::Function(f) => f.run_n(N, args),
                    Callee::Simulator(sim) => sim.run_n(N, args),
                };
                fails(&here, ran, &["node", &format!("iteration {at} of {N}")])?;
                callee.make(Way::Call, GOOD).map_err(|error| wrong(format!("{here}, then: {error}")))?;
                made += at as usize + 1;
                near(&here, &callee.state()?, &after(made)?)?;
                if made > 40 {
                    callee = fresh(stage, what)?;
                    made = 0;
                }
            }
        }
    }
    Ok(())
}

/// The same form again, from the start.
fn fresh(stage: &Stage, what: &str) -> Result<Callee> {
    let found = Callee::all(stage, true)?.into_iter().find(|(name, _)| *name == what);
    found.map(|(_, callee)| callee).ok_or_else(|| wrong("no such form"))
}

/// Nobody reads the results of the failed call.
fn device_results(stage: &Stage) -> Result<()> {
    for (what, _) in Callee::all(stage, true)? {
        for (bad, _) in BAD {
            let here = format!("{what}, {bad:?}");
            let args = |(i, a, h): Given| args![i, a, h];
            let Callee::Simulator(mut sim) = fresh(stage, what)? else { continue };
            let failed = sim.call_device(args(bad)).and_then(|results| results[0].to_value());
            fails(&here, failed, &["node"])?;
            // The error may be reported once more, by the call behind it; then never again.
            let _ = sim.call_device(args(GOOD)).and_then(|results| results[0].to_value());
            let _ = sim.synchronize();
            sim.call(args(GOOD)).map_err(|error| wrong(format!("{here}, then: {error}")))?;
        }
    }
    Ok(())
}

/// `reset` forgets the errors of calls that nobody has waited for, with what they would have changed.
fn reset(stage: &Stage) -> Result<()> {
    let bad = |i: i64| args![i, 1f32, 2f32];
    for what in ["a Simulator", "one context"] {
        let Callee::Simulator(mut sim) = fresh(stage, what)? else { return Err(wrong("form")) };
        for _ in 0..3 {
            sim.call_device(bad(7))?;
            sim.call_device(bad(1))?;
            sim.reset()?;
            sim.call(args![GOOD.0, GOOD.1, GOOD.2])?;
            near(what, &Callee::Simulator(Box::new(sim.fork()?)).state()?, &after(1)?)?;
            sim.reset()?;
        }
    }
    Ok(())
}
