//! Launches of kernels, with sizes in terms of the shapes of inputs and outputs.

use super::body::check_no_kernels;
use super::grid::Grid;
use super::imported;
use crate::error::Result;
use crate::graph::shapes::{Demand, ShapeInputs, output_values};
use crate::graph::{FunctionGraph, IntoOperand, Operand, Variable, rebuild};
use crate::lower::Abilities;
use crate::ops::op_from_graph::{pairs, stand_ins};
use std::sync::Arc;
use workalike_device::Properties;
use workalike_kernels::custom::{
    CustomLaunch, KernelArg, KernelCall, KernelSource, Language, Param, ParamKind, fitted,
};
use workalike_kernels::nest::Operand as Array;
use workalike_kernels::{DType, Scalar};

/// An argument of a launch, or an extent.
#[derive(Clone, Debug)]
pub enum LaunchInput {
    /// An array, or a number: see [`KernelOp::launch`](super::KernelOp::launch).
    Operand(Operand),
    /// See [`Local`].
    Local(Operand),
}

/// Memory of each group of a launch: its bytes, as a number or a 0-d integer Variable.
#[derive(Clone, Copy, Debug)]
pub struct Local<T>(pub T);

impl<T: IntoOperand> From<T> for LaunchInput {
    fn from(operand: T) -> LaunchInput {
        LaunchInput::Operand(operand.into_operand())
    }
}

impl<T: IntoOperand> From<Local<T>> for LaunchInput {
    fn from(local: Local<T>) -> LaunchInput {
        LaunchInput::Local(local.0.into_operand())
    }
}

/// Variables of an operand: a constant for a number.
fn variable(operand: Operand) -> Variable {
    match operand {
        Operand::Variable(variable) => variable,
        number => Operand::resolve(vec![number]).remove(0),
    }
}

/// Extents of this many axes, as 0-d integer Variables.
pub(super) fn extents(list: Vec<LaunchInput>, rank: usize) -> Result<Vec<Variable>, String> {
    if list.len() != rank {
        return Err(format!("{} extents for {rank} axes", list.len()));
    }
    let extent = |input| match input {
        LaunchInput::Operand(operand) => integer(&variable(operand)),
        LaunchInput::Local(_) => Err("local memory is no extent".into()),
    };
    list.into_iter().map(extent).collect()
}

/// The Variable, if it is a 0-d integer.
fn integer(size: &Variable) -> Result<Variable, String> {
    let ty = size.checked().map_err(|e| e.to_string())?.ty();
    match ty.ndim() == 0 && ty.dtype.is_integer() {
        true => Ok(size.clone()),
        false => Err(format!("expected a 0-d integer as a size, got {ty}")),
    }
}

/// The text of a source, and the source where it may be compiled.
#[derive(Clone, Debug)]
pub(super) struct SourceText {
    pub(super) language: Language,
    pub(super) text: String,
    pub(super) types: Vec<(String, DType)>,
    pub(super) constants: Vec<(String, Vec<Scalar>)>,
    pub(super) source: Option<Arc<KernelSource>>,
}

impl SourceText {
    fn of(source: KernelSource) -> SourceText {
        let (language, text, types) = (source.language(), source.text().into(), source.types().to_vec());
        let constants = source.constants().to_vec();
        SourceText { language, text, types, constants, source: Some(Arc::new(source)) }
    }
}

/// Memory for launches to exchange values. Its extents are positions of sizes.
#[derive(Clone, Debug)]
pub(super) struct ScratchSpec {
    pub(super) dtype: DType,
    pub(super) extents: Vec<usize>,
}

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaunchArgument {
    Input(usize),
    Output(usize),
    Scratch(usize),
    /// The number at this position of the sizes.
    Number(usize),
    /// So many bytes of local memory.
    Local(usize),
}

/// A launch; sizes are positions.
#[derive(Clone, Debug)]
pub(super) struct LaunchSpec {
    pub(super) kernel: String,
    pub(super) grid: Grid<usize>,
    pub(super) args: Vec<LaunchArgument>,
}

/// The launches of an op.
#[derive(Clone, Debug, Default)]
pub(super) struct Launches {
    pub(super) codes: Vec<SourceText>,
    pub(super) scratch: Vec<ScratchSpec>,
    pub(super) calls: Vec<LaunchSpec>,
    /// From inputs and outputs to 0-d numbers, which depend on their shapes alone.
    pub(super) sizes: Arc<FunctionGraph>,
}

/// The extents of arrays at a call.
pub(super) struct LaunchExtents<'a> {
    pub(super) inputs: &'a [Vec<usize>],
    pub(super) outputs: &'a [Vec<usize>],
}

impl Launches {
    /// The source that a device compiles.
    pub(super) fn source_for(&self, device: &Abilities<'_>) -> Option<&Arc<KernelSource>> {
        self.codes.iter().filter_map(|code| code.source.as_ref()).find(|source| device.compiles(source))
    }

    /// The sizes depend on shapes alone.
    pub(super) fn check_sizes(&self) -> Result<(), String> {
        let sizes = &self.sizes;
        check_no_kernels(sizes)?;
        if let Some(&at) = Demand::of_outputs(sizes).inputs.first() {
            return Err(format!(
                "a size or number depends on the value of {}; sizes depend on shapes, and a kernel reads values from arrays",
                sizes.inputs.get(at).map_or(String::new(), |&id| sizes.describe(id))
            ));
        }
        match sizes.outputs.iter().find(|&&id| sizes.var(id).ty.ndim() > 0) {
            Some(&id) => Err(format!("a size is {}", sizes.var(id).ty)),
            None => Ok(()),
        }
    }

    /// The sizes at a call.
    pub(super) fn sizes_at(&self, extents: &LaunchExtents<'_>) -> Result<Vec<Scalar>, String> {
        let shapes: Vec<Vec<usize>> = extents.inputs.iter().chain(extents.outputs).cloned().collect();
        let given =
            ShapeInputs { inputs: &shapes, shared: &[], input_values: &|_| None, shared_values: &|_| None };
        let demand = Demand::of_outputs(&self.sizes);
        let values = output_values(&self.sizes, &demand, &given).map_err(|e| e.to_string())?;
        values.iter().map(|value| value.to_scalar().ok_or_else(|| "a size is no number".into())).collect()
    }

    /// Extents of scratch memory.
    pub(super) fn scratch_at(&self, sizes: &[Scalar]) -> Result<Vec<(DType, Vec<u64>)>, String> {
        let memory = |scratch: &ScratchSpec| {
            let extents = scratch.extents.iter().map(|&at| size(sizes, at)).collect::<Result<_, _>>()?;
            Ok((scratch.dtype, extents))
        };
        self.scratch.iter().map(memory).collect()
    }

    /// The launches over arrays: the inputs, then outputs and scratch memory.
    pub(super) fn custom(
        &self,
        source: &Arc<KernelSource>,
        sizes: &[Scalar],
        arrays: Vec<Array>,
        device: &Properties,
    ) -> Result<CustomLaunch, String> {
        let inputs = arrays.iter().filter(|array| !array.written).count();
        let outputs = arrays.len() - inputs - self.scratch.len();
        let mut calls = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            let (grid, group) = call.grid.try_map(|&at| size(sizes, at))?.on(device);
            let params = source.signature(&call.kernel).map_or(&[][..], |signature| &signature.params);
            let arg = |(arg, param): (&LaunchArgument, &Param)| match *arg {
                LaunchArgument::Input(at) => Ok(KernelArg::Array(at)),
                LaunchArgument::Output(at) => Ok(KernelArg::Array(inputs + at)),
                LaunchArgument::Scratch(at) => Ok(KernelArg::Array(inputs + outputs + at)),
                LaunchArgument::Local(at) => Ok(KernelArg::Local(size(sizes, at)?)),
                LaunchArgument::Number(at) => {
                    let number = *sizes.get(at).ok_or("a number is missing")?;
                    let ParamKind::Scalar(dtype) = param.kind else {
                        return Err(format!("`{}` is no number", param.name));
                    };
                    let fits = fitted(number, dtype).map(KernelArg::Scalar);
                    fits.ok_or_else(|| format!("`{}`: {number} is no {dtype}", param.name))
                }
            };
            let args = call.args.iter().zip(params).map(arg).collect::<Result<_, String>>()?;
            calls.push(KernelCall { kernel: call.kernel.clone(), grid, group, args });
        }
        Ok(CustomLaunch { source: source.clone(), operands: arrays, calls, initialized: false })
    }
}

/// The size at a position.
fn size(sizes: &[Scalar], at: usize) -> Result<u64, String> {
    let number = sizes.get(at).ok_or("a size is missing")?.to_i128();
    u64::try_from(number).map_err(|_| format!("a size is {number}"))
}

/// Launches while they are added.
#[derive(Clone, Debug, Default)]
pub(super) struct Builder {
    pub(super) launches: Launches,
    /// The Variables of the sizes.
    sizes: Vec<Variable>,
    /// The Variables that stand for scratch memory.
    scratch: Vec<Variable>,
}

/// The arrays of an op.
pub(super) struct Arrays<'a> {
    pub(super) inputs: &'a [Variable],
    pub(super) outputs: &'a [Variable],
}

fn position(list: &[Variable], of: &Variable) -> Option<usize> {
    list.iter().position(|v| v.key() == of.key())
}

impl Builder {
    pub(super) fn of(source: KernelSource) -> Builder {
        Builder {
            launches: Launches { codes: vec![SourceText::of(source)], ..Launches::default() },
            ..Builder::default()
        }
    }

    /// Adds a source with the same kernels.
    pub(super) fn add_source(&mut self, source: KernelSource) -> Result<(), String> {
        let Some(first) = self.launches.codes.first().and_then(|code| code.source.as_ref()) else {
            return Err("an elementwise op has no further source".into());
        };
        for expected in first.signatures() {
            if source.signature(&expected.name) != Some(expected) {
                let name = &expected.name;
                return Err(format!("the further source has no kernel {name} with the same parameters"));
            }
        }
        self.launches.codes.push(SourceText::of(source));
        Ok(())
    }

    pub(super) fn add_scratch(&mut self, memory: &Variable, list: Vec<LaunchInput>) -> Result<(), String> {
        let ty = memory.checked().map_err(|e| e.to_string())?.ty();
        let extents = extents(list, ty.ndim())?.into_iter().map(|extent| self.size(extent)).collect();
        self.scratch.push(memory.clone());
        self.launches.scratch.push(ScratchSpec { dtype: ty.dtype, extents });
        Ok(())
    }

    /// Adds a launch, checked against the kernel's parameters.
    pub(super) fn add(
        &mut self,
        kernel: &str,
        grid: &Grid<Variable>,
        args: Vec<LaunchInput>,
        arrays: &Arrays<'_>,
    ) -> Result<(), String> {
        let Some(source) = self.launches.codes.first().and_then(|code| code.source.clone()) else {
            return Err("an elementwise op has no launches".into());
        };
        let Some(signature) = source.signature(kernel) else {
            let names: Vec<&str> = source.signatures().map(|s| s.name.as_str()).collect();
            return Err(format!("expected one of the kernels {}", names.join(", ")));
        };
        let names: Vec<&str> = signature.params.iter().map(|param| param.name.as_str()).collect();
        if names.len() != args.len() {
            let (names, count) = (names.join(", "), names.len());
            return Err(format!("expected {count} arguments ({names}), got {}", args.len()));
        }
        let grid = grid.try_map(|extent| integer(extent).map(|extent| self.size(extent)))?;
        let args = signature.params.iter().zip(args);
        let args = args.map(|(param, arg)| {
            self.arg(param, arg, arrays)
                .map_err(|why| format!("`{}`: expected {}, {why}", param.name, param.kind))
        });
        let args = args.collect::<Result<_, String>>()?;
        self.launches.calls.push(LaunchSpec { kernel: kernel.into(), grid, args });
        Ok(())
    }

    fn arg(
        &mut self,
        param: &Param,
        arg: LaunchInput,
        arrays: &Arrays<'_>,
    ) -> Result<LaunchArgument, String> {
        let operand = match (param.kind, arg) {
            (ParamKind::Local, LaunchInput::Local(bytes)) => {
                return integer(&variable(bytes)).map(|bytes| LaunchArgument::Local(self.size(bytes)));
            }
            (_, LaunchInput::Local(_)) => return Err("got local memory".into()),
            (ParamKind::Local, _) => return Err("got no Local(..)".into()),
            (_, LaunchInput::Operand(operand)) => operand,
        };
        let given = variable(operand);
        let ty = given.checked().map_err(|e| e.to_string())?.ty().clone();
        match param.kind {
            ParamKind::Array { dtype, written } => {
                let found =
                    if written { None } else { position(arrays.inputs, &given).map(LaunchArgument::Input) };
                let found = found.or_else(|| position(arrays.outputs, &given).map(LaunchArgument::Output));
                let found = found.or_else(|| position(&self.scratch, &given).map(LaunchArgument::Scratch));
                let known = if written { "output" } else { "input, output" };
                let found =
                    found.ok_or_else(|| format!("got {given:?}, which is no {known} or scratch memory"))?;
                match dtype.is_none_or(|dtype| dtype == ty.dtype) {
                    true => Ok(found),
                    false => Err(format!("got {given:?} of {ty}")),
                }
            }
            ParamKind::Scalar(dtype) => {
                let number = ty.ndim() == 0 && (ty.dtype.is_float() == dtype.is_float() || dtype.is_float());
                match number {
                    true => Ok(LaunchArgument::Number(self.size(given))),
                    false => Err(format!("got {given:?} of {ty}")),
                }
            }
            ParamKind::Local => Err("got no Local(..)".into()),
        }
    }

    /// The position of a size.
    fn size(&mut self, size: Variable) -> usize {
        let constant = |v: &Variable| v.constant_value().and_then(|value| value.to_scalar());
        let same = |known: &Variable| {
            known.key() == size.key() || (constant(known).is_some() && constant(known) == constant(&size))
        };
        self.sizes.iter().position(same).unwrap_or_else(|| {
            self.sizes.push(size);
            self.sizes.len() - 1
        })
    }

    /// Makes the graph of the sizes.
    pub(super) fn import(&mut self, name: &str, arrays: &Arrays<'_>) -> Result<()> {
        // In terms of the outputs, not of what computes them.
        let outputs = stand_ins(arrays.outputs);
        let sizes = rebuild(&self.sizes, &mut pairs(arrays.outputs, &outputs), |_, _| Ok(None))?;
        let inputs: Vec<Variable> = arrays.inputs.iter().cloned().chain(outputs).collect();
        self.launches.sizes = Arc::new(imported(name, &inputs, &sizes)?);
        self.launches.check_sizes().map_err(|why| super::fail(name, why))
    }
}
