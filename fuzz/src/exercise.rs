//! Exercises a mutant, as a user may exercise a file of any origin. It is loaded, shown, saved and loaded
//! again. Each of its Functions is called on the host, by the reference and by a Simulator, and the results
//! are compared.

use crate::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use workalike::graph::shapes::{Demand, ShapeInputs, Shapes, infer};
use workalike::graph::{Def, FunctionGraph, Node, debugprint, dot};
use workalike::ops::{Attr, set_print_hook};
use workalike::prelude::*;
use workalike::{Error, Result};

/// A Function with more elements in all its Vars is not called, so that a slow call is a finding.
const MOST: usize = 100_000;
/// The most iterations of a loop that decides shapes.
const TRIPS: usize = 1_000;

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) tried: u64,
    pub(crate) loaded: u64,
    pub(crate) called: u64,
    pub(crate) compared: u64,
}

/// The device for Simulators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum On {
    Host,
    OpenCl,
}

/// Panics since the last check, on any thread, caught by the library or not.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Installs a hook that records panics, and discards the output of `print` ops.
pub(crate) fn watch() {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("{info}");
        PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
    }));
    set_print_hook(Some(Arc::new(|_, _| {})));
}

/// One run over mutants.
pub(crate) struct Exercise {
    pub(crate) on: On,
    pub(crate) count: Count,
    /// The findings, in words.
    pub(crate) found: Vec<String>,
    /// Whether to print each step.
    pub(crate) loud: bool,
}

impl Exercise {
    pub(crate) fn new(on: On) -> Exercise {
        Exercise { on, count: Count::default(), found: Vec::new(), loud: false }
    }

    /// Exercises a file; every panic is a finding.
    pub(crate) fn run(&mut self, file: &[u8], seed: u64) {
        self.count.tried += 1;
        let mut r = Random::new(seed ^ 0x5555);
        let caught = catch_unwind(AssertUnwindSafe(|| self.file(file, &mut r)));
        let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
        self.found.extend(panics.into_iter().map(|panic| format!("it panicked: {panic}")));
        if caught.is_err() && self.found.is_empty() {
            self.found.push("it panicked".into());
        }
    }

    fn file(&mut self, file: &[u8], r: &mut Random) {
        // The host has no compiler of C: kernels that are allowed are read there and not run. Mutants of
        // kernels must not run anywhere.
        let options = LoadOptions::new().allow_kernels(self.on == On::Host);
        let bundle = match Bundle::from_bytes_with(file, options) {
            Ok(bundle) => bundle,
            Err(error) => return self.say(&format!("refused: {error}")),
        };
        self.count.loaded += 1;
        match bundle.to_bytes().map(|bytes| Bundle::from_bytes(&bytes)) {
            Ok(Err(error)) => self.found.push(format!("a file saved again does not load: {error}")),
            Ok(Ok(_)) => {}
            Err(error) => self.say(&format!("not saved: {error}")),
        }
        for (name, function) in bundle.iter() {
            let shown = [debugprint(function.graph()), dot(function.graph()), format!("{function:?}")];
            self.say(&format!("{name}: {}", shown[0]));
            for calm in [true, false] {
                self.function(name, function, r, calm);
            }
        }
    }

    fn say(&self, text: &str) {
        if self.loud {
            println!("{}", workalike::printable::printable_lines(text));
        }
    }

    fn function(&mut self, name: &str, function: &Function, r: &mut Random, calm: bool) {
        let Some(args) = arguments(function, r, calm) else { return };
        match is_small(function, &args) {
            Some(true) => {}
            Some(false) => return,
            None => {
                if function.call(fed(&args)).is_ok() && function.call_reference(fed(&args)).is_err() {
                    self.say("shapes are refused, but a call is not: it does not need the wrong part");
                }
                return;
            }
        }
        self.count.called += 1;
        let before = state(function);
        let outcome = function.call_reference(fed(&args));
        let reference = outcome.map(|outputs| (outputs, state(function)));
        restore(function, &before);
        let outcome = function.call(fed(&args));
        let called = outcome.map(|outputs| (outputs, state(function)));
        restore(function, &before);
        let given = largest(&args);
        self.judge(name, function.graph(), given, &reference, &called, "call");
        if let Err(error) = &called {
            self.say(&format!("{name}: {error}"));
        }
        self.simulators(name, function, &args, r, &reference);
        restore(function, &before);
    }

    /// Calls the Function on a Simulator in several ways.
    fn simulators(
        &mut self,
        name: &str,
        function: &Function,
        args: &[Value],
        r: &mut Random,
        reference: &Ran,
    ) {
        let options = Options { fuse: r.percent(80), deterministic: r.percent(80), ..Options::default() };
        let made = match self.on {
            On::Host => function.optimize(Host::threads(1 + r.below(2)).with_options(options)),
            On::OpenCl => function.optimize(workalike::opencl::OpenCl::auto().with_options(options)),
        };
        let mut simulator = match made {
            Ok(simulator) => simulator,
            Err(error) => return self.internal(name, "optimize", &error),
        };
        let called = simulator.call(fed(args)).and_then(|outputs| {
            simulator.sync_to_parent()?;
            Ok((outputs, state(function)))
        });
        self.judge(name, function.graph(), largest(args), reference, &called, "simulator");
        let more: [Result<()>; 4] = [
            simulator.run_n(3, fed(args)).map(drop),
            simulator.plan(fed(args)).map(|plan| drop(plan.to_string())),
            simulator
                .call_device(fed(args))
                .and_then(|all| all.iter().try_for_each(|a| a.to_value().map(drop))),
            simulator.submit(fed(args)).and_then(|pending| pending.wait().map(drop)),
        ];
        for error in more.into_iter().filter_map(std::result::Result::err) {
            self.internal(name, "simulator", &error);
        }
    }

    /// Records internal errors of the library.
    fn internal(&mut self, name: &str, how: &str, error: &Error) {
        let text = error.to_string();
        if matches!(error, Error::Internal(_)) || text.contains("please report") || text.contains("panicked")
        {
            self.found.push(format!("{how} of {name}: {text}"));
        }
    }

    /// `given` is the largest magnitude among the arguments.
    fn judge(
        &mut self,
        name: &str,
        graph: &FunctionGraph,
        given: f64,
        reference: &Ran,
        called: &Ran,
        how: &str,
    ) {
        for error in [reference, called].into_iter().filter_map(|ran| ran.as_ref().err()) {
            self.internal(name, how, error);
        }
        let (Ok((expected, states)), Ok((got, new_states))) = (reference, called) else { return };
        self.count.compared += 1;
        if expected.len() != got.len() {
            return self.found.push(format!("{how} of {name}: {} outputs for {}", got.len(), expected.len()));
        }
        if is_vague(graph) {
            return;
        }
        let outputs = expected.iter().zip(got.iter()).map(|((_, x), (_, y))| (x, y));
        for (x, y) in outputs.chain(states.iter().zip(new_states)) {
            if let Some(what) = difference(graph, given, x, y) {
                self.found.push(format!("{how} of {name}: {what}"));
            }
        }
    }
}

/// The results of a call, and the state after it.
type Ran = Result<(Outputs, Vec<Value>)>;

fn state(function: &Function) -> Vec<Value> {
    function.cells().iter().filter_map(|cell| cell.get_value().ok()).collect()
}

fn restore(function: &Function, before: &[Value]) {
    for (cell, value) in function.cells().iter().zip(before) {
        let _ = cell.set_value(value.clone());
    }
}

fn fed(values: &[Value]) -> Args {
    values.iter().fold(Args::new(), |args, value| args.with(value.clone()))
}

/// Values for the inputs; `None` if they would be too large.
fn arguments(function: &Function, r: &mut Random, calm: bool) -> Option<Vec<Value>> {
    let base = [6, 6, 6, 6, 1, 2, 3, 0, 17, 33][r.below(10)];
    let mixed = r.percent(20);
    let mut left = MOST;
    let specs = function.inputs().iter();
    let values = specs.map(|spec| {
        let other = |r: &mut Random| [0, 1, 2, 3, 6, 17, 64][r.below(7)];
        let extents = spec.ty.shape.iter();
        let shape: Vec<usize> =
            extents.map(|e| e.unwrap_or_else(|| if mixed { other(r) } else { base })).collect();
        let count = shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent))?;
        left = left.checked_sub(count)?;
        // Long axes of empty arrays count too.
        shape.iter().all(|extent| *extent <= MOST).then(|| value(r, spec.ty.dtype, &shape, count, calm))?
    });
    values.collect()
}

fn value(r: &mut Random, dtype: DType, shape: &[usize], count: usize, calm: bool) -> Option<Value> {
    let whole = if dtype.is_float() {
        let number = |r: &mut Random| match r.below(30) {
            0 if !calm => f64::NAN,
            1 if !calm => f64::INFINITY,
            2 => 0.0,
            3 => 1.0,
            _ => (r.below(2000) as f64 - 1000.0) / 250.0,
        };
        Value::from_vec(shape, (0..count).map(|_| number(r)).collect::<Vec<f64>>())
    } else {
        let number = |r: &mut Random| if calm || r.percent(90) { r.below(5) as i64 - 1 } else { r.number() };
        Value::from_vec(shape, (0..count).map(|_| number(r)).collect::<Vec<i64>>())
    };
    whole.and_then(|value| value.cast(dtype)).ok()
}

/// Whether all Vars of a call are small; `None` if its shapes are refused.
fn is_small(function: &Function, args: &[Value]) -> Option<bool> {
    let graph = function.graph();
    let shapes = |values: &[Value]| values.iter().map(|v| v.shape().to_vec()).collect::<Vec<_>>();
    let states = state(function);
    let (inputs, shared) = (shapes(args), shapes(&states));
    let (of_input, of_shared) = (|i: usize| args.get(i).cloned(), |i: usize| states.get(i).cloned());
    let given =
        ShapeInputs { inputs: &inputs, shared: &shared, input_values: &of_input, shared_values: &of_shared };
    // Finding the shapes runs the loops that decide them.
    let endless = |id: &u32| match graph.var(*id).def {
        Def::Output { node, .. } => limit(&graph.nodes[node as usize]).is_some_and(|most| most > TRIPS),
        _ => false,
    };
    let loops = Demand::knowing(graph, |node| !node.op.bodies().is_empty());
    if loops.known.iter().any(endless) {
        return Some(false);
    }
    let found = infer(graph, &Demand::of(graph), &given).ok()?;
    Some(work(graph, &found).is_some_and(|work| work <= MOST))
}

/// Elements of all Vars, those of bodies for each iteration; `None` if they are far too many.
fn work(graph: &FunctionGraph, found: &Shapes) -> Option<usize> {
    let count = |shape: &Vec<usize>| {
        let fits = shape.iter().all(|extent| *extent <= MOST);
        shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent)).filter(|_| fits)
    };
    let mut sum = found.shapes.iter().try_fold(0usize, |sum, shape| sum.checked_add(count(shape)?))?;
    for (node, bodies) in graph.nodes.iter().enumerate().map(|(at, node)| (node, found.bodies.get(&at))) {
        let rows = node.outputs.iter().filter_map(|&id| found.shapes[id as usize].first()).max();
        let trips = match node.op.id() {
            "while" => limit(node)?,
            "scan" => rows.copied().unwrap_or_default(),
            _ => 1,
        };
        for (body, shapes) in node.op.bodies().into_iter().zip(bodies.into_iter().flatten()) {
            sum = sum.checked_add(work(body, shapes)?.max(1).checked_mul(trips)?)?;
        }
    }
    Some(sum)
}

/// The most iterations of a loop with a condition.
fn limit(node: &Node) -> Option<usize> {
    let attributes = node.op.attributes();
    let most = attributes.iter().find(|(name, _)| name == "most")?;
    if let Attr::Int(most) = most.1 { usize::try_from(most).ok() } else { None }
}

/// Whether results may legitimately differ: searches in unsorted vectors, and floats that become integers or
/// bools.
fn is_vague(graph: &FunctionGraph) -> bool {
    graph.nodes.iter().any(|node| {
        let float = |id: &u32| graph.var(*id).ty.dtype.is_float();
        let crosses = node.inputs.iter().any(float) && !node.outputs.iter().all(float);
        let names = node.op.attributes();
        let sums = names.iter().any(|(_, a)| matches!(a, Attr::Type(dtype) if dtype.is_float()));
        node.op.bodies().into_iter().any(|body| is_vague(body))
            || node.op.id() == "searchsorted"
            || crosses
            || (sums && !node.outputs.iter().all(float))
    })
}

/// The largest magnitude among arguments.
fn largest(args: &[Value]) -> f64 {
    let finite = |v: &f64| v.is_finite();
    args.iter().flat_map(Value::to_f64s).filter(finite).fold(1f64, |most, v| most.max(v.abs()))
}

/// How two results differ. Numbers that are not finite, or far smaller than their neighbours or the
/// arguments, are ignored: sums of large numbers cancel.
fn difference(graph: &FunctionGraph, given: f64, x: &Value, y: &Value) -> Option<String> {
    if (x.dtype(), x.shape()) != (y.dtype(), y.shape()) {
        return Some(format!("{:?}{:?}, and not {:?}{:?}", y.dtype(), y.shape(), x.dtype(), x.shape()));
    }
    let (xs, ys) = (x.to_f64s(), y.to_f64s());
    let at = if x.dtype().is_float() {
        let finite = |v: f64| v.is_finite() && v.abs() < 1e6;
        if !xs.iter().chain(&ys).all(|v| finite(*v)) {
            return None;
        }
        // Intermediate results may be far larger than the final ones.
        let most = xs.iter().fold(given, |most, v| most.max(v.abs()));
        let tolerance = if graph.vars.iter().any(|v| v.ty.dtype.is_half()) { 0.25 } else { 1e-2 };
        xs.iter().zip(&ys).position(|(x, y)| (x - y).abs() > tolerance * most)?
    } else {
        xs.iter().zip(&ys).position(|(x, y)| x != y)?
    };
    Some(format!("{} at {at} of {}{:?}, and not {}", ys[at], y.dtype(), y.shape(), xs[at]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_found() {
        let x = vector::<f32>("x");
        let f = function([&x]).output(x.exp()).compile().unwrap();
        let vector = |values: &[f32]| Value::from(values.to_vec());
        let differ = |x: &[f32], y: &[f32]| difference(f.graph(), 1.0, &vector(x), &vector(y)).is_some();
        assert!(!differ(&[1.0, 2.0], &[1.0, 2.0]));
        assert!(differ(&[1.0, 2.0], &[1.0, 3.0]));
        assert!(differ(&[1.0, 2.0], &[1.0]));
        assert!(difference(f.graph(), 1.0, &Value::from(vec![1i64]), &Value::from(vec![2i64])).is_some());
    }
}
