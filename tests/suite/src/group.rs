//! Groups: many pure cases that share one Function.
//!
//! All Nests of a Program are one translation unit of a device, and PoCL builds one in about half a second.
//! So the cases of a family are outputs of one Function. They are compared one by one, each as its own test.
//! If the Function fails as a whole, each case runs alone, so that the failure has a name.
//!
//! Cases run strict, except those with ops that a device lacks: some elementwise ops have no form in the
//! device languages, and only the host and CUDA's libraries have linear algebra. These cases are a separate
//! Function, and only these ops may be its host nodes. Their results are counted separately (`[host node]`
//! before the name).

mod host_nodes;

use crate::devices::{Kind, Tested};
use crate::tolerance::{Tier, compare};
pub use host_nodes::WITHOUT_LIBRARIES;
use host_nodes::{Hosted, expected_host_nodes, has_libraries, hosted};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use workalike::Result;
use workalike::prelude::*;

/// If set, each run of a group prints its duration.
pub const TIMES: &str = "WORKALIKE_SUITE_TIMES";

/// If set, cases also run within a larger graph on every device, not on the host only; everything is compiled
/// twice.
pub const WITHIN: &str = "WORKALIKE_SUITE_WITHIN";

/// The expected value of a case.
#[derive(Clone, Debug)]
enum Oracle {
    /// The result of the ops' `perform`.
    Reference,
    /// Another expression over the same inputs, evaluated by the reference; it may be float64 for a narrower
    /// float.
    Expression(Variable),
    /// A known value.
    Golden(Value),
}

struct Case {
    name: String,
    output: Variable,
    oracle: Oracle,
    tier: Tier,
    hosted: Hosted,
}

/// Cases over common inputs.
pub struct Group {
    /// The family's name.
    pub name: String,
    inputs: Vec<(Variable, Value)>,
    cases: Vec<Case>,
    reference: OnceLock<Result<Reference, String>>,
    ran: Mutex<HashMap<String, Arc<OnceLock<Ran>>>>,
}

/// The results of the reference, per case.
struct Reference {
    plain: Vec<Value>,
    wanted: Vec<Value>,
    within: Vec<Option<Value>>,
}

/// Outputs of a device for each variant of the Function: the original, the saved and loaded one, and the
/// larger graph.
type Ran = Result<Vec<(&'static str, Vec<Value>)>, String>;

impl Group {
    /// An empty group.
    pub fn new(name: &str) -> Group {
        Group {
            name: name.into(),
            inputs: vec![],
            cases: vec![],
            reference: OnceLock::new(),
            ran: Mutex::default(),
        }
    }

    /// Adds an input of the Function with this value. Axes of extent 1 broadcast, others are of unknown
    /// extent.
    pub fn input(&mut self, value: impl Into<Value>) -> Variable {
        let value = value.into();
        let shape: Vec<Option<usize>> = value.shape().iter().map(|&e| (e == 1).then_some(1)).collect();
        let name = format!("i{}", self.inputs.len());
        let variable = Variable::input(&name, TensorType::new(value.dtype(), shape));
        self.inputs.push((variable.clone(), value));
        variable
    }

    /// Adds an existing Variable as an input of the Function with this value.
    pub fn adopt(&mut self, variable: &Variable, value: &Value) {
        self.inputs.push((variable.clone(), value.clone()));
    }

    fn add(&mut self, name: impl Into<String>, output: &Variable, oracle: Oracle, tier: Tier) {
        let hosted = if output.checked().is_ok() { hosted(output) } else { Hosted::default() };
        self.cases.push(Case { name: name.into(), output: output.clone(), oracle, tier, hosted });
    }

    /// A case that is compared with the ops' `perform`.
    pub fn case(&mut self, name: impl Into<String>, output: impl Into<Variable>, tier: Tier) {
        self.add(name, &output.into(), Oracle::Reference, tier);
    }

    /// A case that must equal the ops' `perform`.
    pub fn exact(&mut self, name: impl Into<String>, output: impl Into<Variable>) {
        self.case(name, output, Tier::Exact);
    }

    /// A case that is compared with another expression.
    pub fn against(
        &mut self,
        name: impl Into<String>,
        output: impl Into<Variable>,
        other: &Variable,
        tier: Tier,
    ) {
        self.add(name, &output.into(), Oracle::Expression(other.clone()), tier);
    }

    /// A case whose value is known.
    pub fn golden(&mut self, name: impl Into<String>, output: impl Into<Variable>, value: Value, tier: Tier) {
        self.add(name, &output.into(), Oracle::Golden(value), tier);
    }

    /// The cases' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|c| c.name.as_str())
    }

    /// Whether a case is compared with another value than its own reference.
    pub fn has_oracle(&self, case: usize) -> bool {
        !matches!(self.cases[case].oracle, Oracle::Reference)
    }

    /// Whether a case has host nodes on a device.
    pub fn has_host_node(&self, case: usize, device: &Tested) -> bool {
        let hosted = self.cases[case].hosted;
        (hosted.on_other_devices && !device.is_host()) || (hosted.without_libraries && !has_libraries(device))
    }

    /// Inputs renamed by position: adopted Variables may share a name.
    fn named_inputs(&self) -> impl Iterator<Item = In> {
        self.inputs.iter().enumerate().map(|(i, (variable, _))| In::new(variable).name(&format!("i{i}")))
    }

    fn function(&self, cases: &[usize]) -> Result<Function> {
        let good = |i: &&usize| self.cases[**i].output.checked().is_ok();
        let outputs = cases.iter().filter(good).map(|&i| &self.cases[i].output);
        function(self.named_inputs()).name(&self.name).allow_unused_inputs().outputs(outputs).compile()
    }

    fn args(&self) -> Args {
        self.inputs.iter().fold(Args::new(), |args, (_, value)| args.with(value))
    }

    fn reference(&self) -> Result<&Reference, String> {
        let reference = self.reference.get_or_init(|| {
            let good = |v: &&Variable| v.checked().is_ok();
            let mut outputs: Vec<&Variable> = self.cases.iter().map(|c| &c.output).filter(good).collect();
            for case in &self.cases {
                outputs.extend(match &case.oracle {
                    Oracle::Expression(other) => Some(other),
                    _ => None,
                });
                outputs.extend(match &case.tier {
                    Tier::Within(bound) => Some(bound),
                    _ => None,
                });
            }
            let all = function(self.named_inputs()).allow_unused_inputs().outputs(outputs);
            let values = all.compile().and_then(|f| f.call_reference(self.args()));
            let mut values =
                values.map_err(|e| format!("the reference failed: {e}"))?.into_values().into_iter();
            let next = |values: &mut dyn Iterator<Item = Value>| values.next().ok_or("an output is missing");
            let mut reference = Reference { plain: vec![], wanted: vec![], within: vec![] };
            for case in &self.cases {
                // A poisoned case keeps its position; it fails before the value is used.
                let good = case.output.checked().is_ok();
                reference.plain.push(if good { next(&mut values)? } else { Value::from(0f64) });
            }
            for (case, plain) in self.cases.iter().zip(&reference.plain) {
                reference.wanted.push(match &case.oracle {
                    Oracle::Reference => plain.clone(),
                    Oracle::Expression(_) => next(&mut values)?,
                    Oracle::Golden(value) => value.clone(),
                });
                reference.within.push(match &case.tier {
                    Tier::Within(_) => Some(next(&mut values)?),
                    _ => None,
                });
            }
            Ok(reference)
        });
        reference.as_ref().map_err(Clone::clone)
    }

    /// Compares the reference with the expected value of a case.
    ///
    /// # Errors
    /// What differs.
    pub fn check_reference(&self, case: usize) -> Result<(), String> {
        let value = &self.reference()?.plain;
        self.judge(case, &value[case], true)
    }

    fn judge(&self, position: usize, got: &Value, on_host: bool) -> Result<(), String> {
        let case = &self.cases[position];
        let reference = self.reference()?;
        if got.dtype() != case.output.dtype() {
            return Err(format!("dtype: expected {}, got {}", case.output.dtype(), got.dtype()));
        }
        let bound = case.tier.bound(got.dtype(), on_host, reference.within[position].as_ref());
        compare(got, &reference.wanted[position], &bound)
    }

    /// Runs the group on a device, unless it has run there, and compares one case.
    ///
    /// # Errors
    /// What differs, or what failed.
    pub fn check(&self, case: usize, device: &Tested) -> Result<(), String> {
        self.cases[case].output.checked().map_err(|e| e.to_string())?;
        let cell = {
            let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
            ran.entry(device.id.clone()).or_default().clone()
        };
        let all: Vec<usize> = (0..self.cases.len()).collect();
        let (position, alone);
        let outputs = match cell.get_or_init(|| crate::runner::caught(|| self.run(&all, device))) {
            Ok(outputs) => {
                // Poisoned cases have no output.
                let before = self.cases[..case].iter().filter(|c| c.output.checked().is_ok());
                position = before.count();
                outputs
            }
            Err(_) => {
                position = 0;
                alone = self.run(&[case], device)?;
                &alone
            }
        };
        outputs.iter().try_for_each(|(how, values)| {
            self.judge(case, &values[position], device.is_host()).map_err(|e| format!("{how}{e}"))
        })
    }

    fn run(&self, cases: &[usize], device: &Tested) -> Ran {
        let start = Instant::now();
        let ran = self.run_timed(cases, device);
        if std::env::var_os(TIMES).is_some() {
            eprintln!("{}::{}: {} cases in {:.1?}", device.id, self.name, cases.len(), start.elapsed());
        }
        ran
    }

    fn run_timed(&self, cases: &[usize], device: &Tested) -> Ran {
        let (hosted, native): (Vec<usize>, Vec<usize>) =
            cases.iter().partition(|&&case| self.has_host_node(case, device));
        if hosted.is_empty() {
            return self.run_part(&native, device, false);
        }
        let part = |part: &[usize], with_host_nodes| match part {
            [] => Ok(vec![]),
            part => self.run_part(part, device, with_host_nodes),
        };
        let (mut native, mut hosted) = (part(&native, false)?, part(&hosted, true)?);
        let ways = native.iter().chain(&hosted).map(|(how, _)| *how).collect::<BTreeSet<_>>();
        let good: Vec<usize> =
            cases.iter().copied().filter(|&case| self.cases[case].output.checked().is_ok()).collect();
        let next = |part: &mut Vec<(&str, Vec<Value>)>, how: &str| {
            let (_, values) = part.iter_mut().find(|(own, _)| *own == how)?;
            (!values.is_empty()).then(|| values.remove(0))
        };
        let all = ways.into_iter().map(|how| {
            let values = good.iter().map(|&case| {
                let part = if self.has_host_node(case, device) { &mut hosted } else { &mut native };
                next(part, how).ok_or("an output is missing")
            });
            Ok((how, values.collect::<Result<Vec<_>, _>>()?))
        });
        all.collect()
    }

    fn run_part(&self, cases: &[usize], device: &Tested, with_host_nodes: bool) -> Ran {
        let direct = self.function(cases).map_err(|e| e.to_string())?;
        let bytes = Bundle::new().with(&self.name, &direct).to_bytes().map_err(|e| format!("saving: {e}"))?;
        let bundle = Bundle::from_bytes(&bytes).map_err(|e| format!("loading: {e}"))?;
        let loaded = bundle.get(&self.name).ok_or("the loaded bundle lacks the function")?;
        let mut ran = vec![("", self.call(&direct, &self.args(), device, with_host_nodes)?)];
        let mut more = |how: &'static str, function: &Function, args: &Args| {
            let values = self.call(function, args, device, with_host_nodes);
            ran.push((how, values.map_err(|e| format!("{how}{e}"))?));
            Ok::<_, String>(())
        };
        more("after save and load: ", loaded, &self.args())?;
        if device.kind == Kind::Host || std::env::var_os(WITHIN).is_some() {
            let larger = self.larger(cases).map_err(|e| format!("a larger graph: {e}"))?;
            more("within a larger graph: ", &larger, &self.args().with(true))?;
        }
        Ok(ran)
    }

    /// The cases within a larger graph: each input and each output passes through an elementwise op that
    /// keeps its value, so that other kernels are fused.
    fn larger(&self, cases: &[usize]) -> Result<Function> {
        let keep = Variable::input("keep", TensorType::new(DType::Bool, []));
        // Arithmetic ops, because a pure move may be fused as bits.
        let kept = |x: &Variable| match x.dtype() {
            DType::Bool => (x & &keep).checked().cloned(),
            dtype => (x * keep.cast(dtype)).checked().cloned(),
        };
        let (mut inputs, mut givens) = (vec![], vec![]);
        for (at, (variable, _)) in self.inputs.iter().enumerate() {
            let input = Variable::input(&format!("i{at}"), variable.ty().clone());
            givens.push((variable.clone(), kept(&input)?));
            inputs.push(input);
        }
        let good = cases.iter().map(|&i| &self.cases[i].output).filter(|output| output.checked().is_ok());
        let outputs: Vec<Variable> = good.map(kept).collect::<Result<_>>()?;
        let givens = givens.iter().map(|(from, to)| (from, to));
        function(inputs.iter().chain([&keep]))
            .name(&self.name)
            .allow_unused_inputs()
            .outputs(&outputs)
            .givens(givens)
            .compile()
    }

    /// Calls twice: the second call replays the recording of the first, and must return the same bits.
    fn call(
        &self,
        function: &Function,
        args: &Args,
        device: &Tested,
        with_host_nodes: bool,
    ) -> Result<Vec<Value>, String> {
        let simulator = if with_host_nodes {
            device.optimize_with_host_nodes(function)
        } else {
            device.optimize(function)
        };
        let mut simulator = simulator.map_err(|e| e.to_string())?;
        let first = simulator.call(args.clone()).map_err(|e| e.to_string())?.into_values();
        let second = simulator.call(args.clone()).map_err(|e| format!("second call: {e}"))?.into_values();
        if with_host_nodes {
            expected_host_nodes(&simulator.explain())?;
        }
        let differing = first.iter().zip(&second).position(|(a, b)| a != b);
        match differing {
            Some(output) => Err(format!("output {output} differs between two equal calls")),
            None => Ok(first),
        }
    }
}
