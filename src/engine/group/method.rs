//! A method of a group: the parts of it that members run, and how they compute a call.

use super::together::no_members;
use crate::engine::division;
use crate::engine::simulator::Simulator;
use crate::error::{Error, Result, array_text, shape_text};
use crate::function::{ArgSignature, Function, HostArg, HostArgs, Outputs, PartFunction};
use crate::graph::Cell;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The most signatures of which it is known how calls are computed.
const KNOWN: usize = 256;

/// How members compute a call.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Each computes its part, and they exchange arrays.
    Divided,
    /// Each computes all of it, by the method at this position among those of its Simulator.
    Repeated(Arc<[usize]>),
}

/// A method, and the parts of it that members run.
#[derive(Debug)]
pub(super) struct GroupMethod {
    name: String,
    whole: Function,
    parts: PartFunction,
    /// Whether one member alone computes the same from whole inputs.
    repeatable: bool,
    /// The members' methods that compute all of a call, once there are some.
    repeated: Option<Arc<[usize]>>,
    /// How calls of these signatures are computed.
    ways: HashMap<Vec<ArgSignature>, Way>,
}

impl GroupMethod {
    pub(super) fn of(name: &str, function: &Function, group: &str) -> Result<GroupMethod> {
        Ok(GroupMethod {
            name: name.into(),
            whole: function.clone(),
            parts: function.of_parts(group)?,
            repeatable: function.only_divides(group),
            repeated: None,
            ways: HashMap::new(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The Function of a member, in terms of its parts.
    pub(super) fn part(&self) -> &Function {
        &self.parts.function
    }

    /// The shared variables that it updates.
    pub(super) fn updated(&self) -> Vec<Arc<Cell>> {
        let positions = self.whole.graph().updates.iter().map(|(at, _)| *at as usize);
        positions.filter_map(|at| self.whole.cells().get(at).cloned()).collect()
    }

    /// How members on devices of one kind compute a call.
    pub(super) fn way(&mut self, members: &mut [Simulator], args: &HostArgs) -> Result<Way> {
        if !self.repeatable || members.len() < 2 {
            return Ok(Way::Divided);
        }
        let signature = args.signature();
        if let Some(known) = self.ways.get(&signature) {
            return Ok(known.clone());
        }
        let way = self.faster_way(members, &args.stand_ins()?)?;
        if self.ways.len() >= KNOWN {
            self.ways.clear();
        }
        self.ways.insert(signature, way.clone());
        Ok(way)
    }

    fn faster_way(&mut self, members: &mut [Simulator], args: &HostArgs) -> Result<Way> {
        let size = members.len();
        let (Some(first), part) = (members.first(), self.args(args, 0, size)?) else {
            return Ok(Way::Divided);
        };
        let properties = first.properties().clone();
        let Some(part) = first.drafted(first.find(&self.name)?, part.into())? else {
            return Ok(Way::Divided);
        };
        if division::pays(&part, None, &properties, size) == Some(true) {
            return Ok(Way::Divided);
        }
        let repeated = match &self.repeated {
            Some(known) => known.clone(),
            None => {
                let added = members.iter_mut().map(|member| member.add_repeated(&self.name, &self.whole));
                self.repeated.insert(added.collect::<Result<_>>()?).clone()
            }
        };
        let whole = members[0].drafted(repeated[0], args.clone().into())?;
        let repeats = whole.is_some_and(|whole| {
            let pays = division::pays(&part, Some(&whole), &properties, size);
            pays == Some(false) && division::repeats(&whole)
        });
        Ok(if repeats { Way::Repeated(repeated) } else { Way::Divided })
    }

    /// The arguments of each member.
    pub(super) fn given(&self, way: &Way, args: &HostArgs, size: usize) -> Result<Vec<HostArgs>> {
        match way {
            Way::Divided => (0..size).map(|rank| self.args(args, rank, size)).collect(),
            Way::Repeated(_) => Ok(vec![args.clone(); size]),
        }
    }

    /// A member's part of the arguments.
    fn args(&self, args: &HostArgs, rank: usize, size: usize) -> Result<HostArgs> {
        let PartFunction { function, divided, .. } = &self.parts;
        args.changed(function, |input, arg| {
            let Some(axis) = divided[input] else { return Ok(arg.clone()) };
            self.check_shape(input, arg)?;
            let what = || format!("{}: input {}", function.name(), function.input_name(input));
            Ok(match arg {
                HostArg::Value(value) => HostArg::Value(part_of(value, axis, [rank, size], what)?),
                // The first axis is that of iterations.
                HostArg::Each(value) => HostArg::Each(part_of(value, axis + 1, [rank, size], what)?),
            })
        })
    }

    /// Checks the extents of a whole input, of which members know their parts' alone.
    fn check_shape(&self, input: usize, arg: &HostArg) -> Result<()> {
        let spec = &self.whole.inputs()[input];
        let (dtype, shape) = match arg {
            HostArg::Value(value) => (value.dtype(), value.shape()),
            HostArg::Each(value) => (value.dtype(), value.shape().get(1..).unwrap_or(&[])),
        };
        if spec.ty.admits_shape(shape) {
            return Ok(());
        }
        let what = format!("{}: input {}", self.whole.name(), self.whole.input_name(input));
        Err(Error::mismatch(what, spec.ty.to_string(), array_text(dtype, shape)))
    }

    /// The outputs of all members as those of the Function.
    pub(super) fn outputs(&self, way: &Way, members: Vec<Outputs>) -> Result<Outputs> {
        if let Way::Repeated(_) = way {
            return members.into_iter().next().ok_or_else(no_members);
        }
        let first = members.first().ok_or_else(no_members)?;
        let values = first.iter().enumerate().map(|(at, (_, value))| match self.parts.joined[at] {
            true => joined(members.iter().map(|outputs| &outputs[at])),
            false => Ok(value.clone()),
        });
        Ok(self.parts.function.outputs_of(values.collect::<Result<_>>()?))
    }
}

/// A member's part of an array.
fn part_of(value: &Value, axis: usize, [rank, size]: [usize; 2], what: impl Fn() -> String) -> Result<Value> {
    let extent = value.shape().get(axis).filter(|extent| extent.is_multiple_of(size));
    let count = extent.map(|extent| extent / size).ok_or_else(|| {
        let expected = format!("a multiple of {size} along axis {axis}, the number of members");
        Error::mismatch(what(), expected, shape_text(value.shape()))
    })?;
    value.range(axis, rank * count, count)
}

/// Rows one after another.
fn joined<'v>(parts: impl Iterator<Item = &'v Value>) -> Result<Value> {
    let parts = parts.map(Value::contiguous).collect::<Result<Vec<_>>>()?;
    let first = parts.first().ok_or_else(|| Error::Internal("no rows to join".into()))?;
    let mut shape = first.shape().to_vec();
    if let Some(rows) = shape.first_mut() {
        *rows = parts.iter().map(|part| part.shape().first().copied().unwrap_or(1)).sum();
    }
    Value::filled(first.dtype(), &shape, |bytes| {
        let mut start = 0;
        for rows in parts.iter().filter_map(Value::contiguous_bytes) {
            bytes[start..start + rows.len()].copy_from_slice(rows);
            start += rows.len();
        }
    })
}
