//! Functions in expressions: a Function's graph, loaded or compiled here, as Variables again.

use super::callable::{Function, InputSpec};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{SharedVariable, VarId, Variable};
use crate::list::IntoList;
use crate::ops::elemwise::Cast;
use crate::ops::specify_shape::SpecifyShape;
use std::ops::Index;
use std::sync::Arc;

/// An input for [`Function::apply`]: a Variable for the next position, or `(name, Variable)`.
#[derive(Clone, Debug)]
pub struct Given {
    name: Option<String>,
    variable: Variable,
}

impl<V: Into<Variable>> From<V> for Given {
    fn from(variable: V) -> Given {
        Given { name: None, variable: variable.into() }
    }
}

impl<V: Into<Variable>> From<(&str, V)> for Given {
    fn from((name, variable): (&str, V)) -> Given {
        Given { name: Some(name.into()), variable: variable.into() }
    }
}

/// The result of [`Function::apply_with_updates`]: outputs by position or name, and updates for
/// [`FunctionBuilder::updates`](super::FunctionBuilder::updates).
#[derive(Clone, Debug)]
pub struct Applied {
    /// The outputs, in order.
    pub outputs: Vec<Variable>,
    /// The new values of the shared variables that the Function updates.
    pub updates: Vec<(SharedVariable, Variable)>,
    names: Vec<Option<String>>,
}

impl Applied {
    /// The output of this name.
    pub fn get(&self, name: &str) -> Option<&Variable> {
        let position = self.names.iter().position(|n| n.as_deref() == Some(name))?;
        self.outputs.get(position)
    }
}

impl Index<usize> for Applied {
    type Output = Variable;

    /// # Panics
    /// If there is no such output.
    fn index(&self, position: usize) -> &Variable {
        &self.outputs[position]
    }
}

impl Index<&str> for Applied {
    type Output = Variable;

    /// # Panics
    /// If there is no output of this name; [`Applied::get`] asks first.
    fn index(&self, name: &str) -> &Variable {
        let known: Vec<&str> = self.names.iter().flatten().map(String::as_str).collect();
        // Indexing is documented to panic, as of any map.
        self.get(name).unwrap_or_else(|| {
            panic!("there is no output {name}; the named outputs are {}", known.join(", "))
        })
    }
}

/// The Variables that replace a graph's inputs and shared variables.
struct Leaves {
    inputs: Vec<Variable>,
    shared: Vec<Variable>,
}

impl Function {
    /// The outputs for these inputs as Variables over the Function's shared variables, to compute with
    /// further: to compose Functions, to differentiate, to compile again. It works for loaded Functions too,
    /// and runs nothing.
    ///
    /// Inputs are given in order, or by name as `("lr", &lr)`. An omitted input is its default, as a
    /// constant; an omitted input with a value of its own ([`In::update`](super::In::update)) is its shared
    /// variable. Dtypes are converted as in a call, if no information is lost.
    ///
    /// The expressions are those of the compiled graph, including `consider_constant`, `grad_clip` and
    /// similar ops. The gradient given to an [`OpFromGraph`](crate::ops::OpFromGraph) is lost: its body's
    /// nodes have replaced it. No updates are made, not even those of random streams: see
    /// [`Function::apply_with_updates`].
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, w) = (vector::<f64>("x"), shared("w", vec![1.0, 2.0]));
    /// let bytes = Bundle::new().with("predict", &function([&x]).output(&x * &w).compile()?).to_bytes()?;
    ///
    /// let predict = &Bundle::from_bytes(&bytes)?["predict"]; // what it was written with is gone
    /// let (x, w) = (vector::<f64>("x"), predict.shared("w")?);
    /// let cost = predict.apply([&x])?[0].sqr().sum(..);
    /// let g = grad(&cost, [&w])?;
    /// let train = function([&x]).output(&cost).update(&w, &w - 0.25 * &g[0]).compile()?;
    /// train.call(args![vec![1.0, 1.0]])?;
    /// assert_eq!(predict.call(args![vec![1.0, 1.0]])?[0].to_vec::<f64>()?, [0.5, 1.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an input is missing, given twice, ill-typed or does not fit; the error says where `apply` was
    /// written.
    #[track_caller]
    pub fn apply<Form>(&self, inputs: impl IntoList<Given, Form>) -> Result<Vec<Variable>> {
        let _scope = source_location::enter();
        let inputs = self.given(inputs.into_list())?;
        self.graph().expressions(&inputs.inputs, &inputs.shared, &self.graph().outputs)
    }

    /// [`Function::apply`], with the new values of the shared variables that the Function updates, including
    /// those of random streams.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (n, x) = (shared("n", 0i64), scalar::<i64>("x"));
    /// let add = function([&x]).output_named("n", &n).update(&n, &n + &x).compile()?;
    /// let y = scalar::<i64>("y");
    /// let applied = add.apply_with_updates([&(2i64 * &y)])?;
    /// let add_twice = function([&y]).output(&applied["n"]).updates(applied.updates).compile()?;
    /// add_twice.call(args![3i64])?;
    /// assert_eq!(n.get_value()?.item::<i64>()?, 6);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Function::apply`].
    #[track_caller]
    pub fn apply_with_updates<Form>(&self, inputs: impl IntoList<Given, Form>) -> Result<Applied> {
        let _scope = source_location::enter();
        let inputs = self.given(inputs.into_list())?;
        let graph = self.graph();
        let roots: Vec<VarId> = graph.roots().collect();
        let mut outputs = graph.expressions(&inputs.inputs, &inputs.shared, &roots)?;
        let values = outputs.split_off(graph.outputs.len());
        let cells = graph.updates.iter().filter_map(|(at, _)| self.cells().get(*at as usize));
        let updates = cells.map(SharedVariable::from).zip(values).collect();
        Ok(Applied { outputs, updates, names: self.output_names().to_vec() })
    }

    /// One Variable of the declared type for each input and shared variable.
    fn given(&self, given: Vec<Given>) -> Result<Leaves> {
        let (specs, states) = (self.inputs(), self.state_inputs());
        let names = || specs.iter().map(|s| &s.name).chain(states.iter().map(|s| &s.name));
        let mut bound: Vec<Option<Variable>> = vec![None; specs.len() + states.len()];
        let mut next = 0;
        for Given { name, variable } in given {
            let position = match &name {
                None => next,
                Some(name) => match names().position(|known| known.as_ref() == Some(name)) {
                    Some(position) => position,
                    None => {
                        let known: Vec<&str> = names().flatten().map(String::as_str).collect();
                        return Err(self.misapplied(format!(
                            "it has no input {name}; its inputs are {}",
                            known.join(", ")
                        )));
                    }
                },
            };
            next += usize::from(name.is_none());
            match bound.get_mut(position) {
                None => return Err(self.misapplied(format!("it takes {} inputs, got more", names().count()))),
                Some(Some(_)) => {
                    let what =
                        names().nth(position).cloned().flatten().unwrap_or_else(|| position.to_string());
                    return Err(self.misapplied(format!("input {what} is given twice")));
                }
                Some(place) => *place = Some(variable),
            }
        }
        let own = bound.split_off(specs.len());
        let fitted = bound.into_iter().zip(specs).enumerate().map(|(position, (variable, spec))| {
            let variable = variable.or_else(|| spec.default.clone().map(Variable::constant));
            let missing =
                || self.misapplied(format!("input {} ({}) is missing", self.input_name(position), spec.ty));
            self.fitted(&self.input_name(position), spec, &variable.ok_or_else(missing)?)
        });
        let inputs = fitted.collect::<Result<_>>()?;
        let mut shared: Vec<Variable> =
            self.cells().iter().map(|cell| (*SharedVariable::from(cell)).clone()).collect();
        for (state, variable) in states.iter().zip(own) {
            let (Some(variable), Some(place)) = (variable, shared.get_mut(state.shared)) else { continue };
            let name = state.name.clone().unwrap_or_else(|| place.name().unwrap_or("").into());
            let spec = InputSpec::new(None, place.ty().clone(), None);
            *place = self.fitted(&name, &InputSpec { conversion: state.conversion, ..spec }, &variable)?;
        }
        Ok(Leaves { inputs, shared })
    }

    /// A Variable as an input of the declared type: converted if no information is lost, and with the
    /// declared extents, which are checked at each call unless they are known.
    fn fitted(&self, name: &str, spec: &InputSpec, given: &Variable) -> Result<Variable> {
        let (want, have) = (&spec.ty, given.checked()?.ty());
        let refuse =
            |advice: &str| self.misapplied(format!("input {name}: expected {want}, got {have}{advice}"));
        let contradicts =
            |(a, b): (&Option<usize>, &Option<usize>)| matches!((a, b), (Some(a), Some(b)) if a != b);
        if want.ndim() != have.ndim() || want.shape.iter().zip(&have.shape).any(contradicts) {
            return Err(refuse(""));
        }
        let mut variable = given.clone();
        if have.dtype != want.dtype {
            let converted = match given.constant_value() {
                Some(value) => spec.conversion.convert(value, want.dtype, value.ndim())?,
                None => None,
            };
            variable = match converted {
                Some(value) => Variable::constant(value),
                None if spec.conversion.takes(have.dtype, want.dtype) => one(Variable::apply_at(
                    Arc::new(Cast { dtype: want.dtype }),
                    &[variable],
                    source_location::here(),
                )?)?,
                None => return Err(refuse("; convert it first with .cast(..)")),
            };
        }
        if want.shape.iter().zip(&have.shape).any(|(want, have)| want.is_some() && have.is_none()) {
            let op = SpecifyShape { extents: want.shape.clone() };
            variable = one(Variable::apply_at(Arc::new(op), &[variable], source_location::here())?)?;
        }
        Ok(variable)
    }

    /// An error that says where `apply` was written.
    fn misapplied(&self, message: String) -> Error {
        Error::Expression { op: format!("apply of {}", self.name()), message, place: source_location::here() }
    }
}

fn one(mut outputs: Vec<Variable>) -> Result<Variable> {
    outputs.pop().ok_or_else(|| Error::Internal("an op has no output".into()))
}
