//! Kernels of a source with grids and arguments, as a library op.

use super::interpret;
use super::signature::{Param, ParamKind};
use super::source::{KernelSource, Language};
use crate::dtype::DType;
use crate::library::{Definition, DefinitionError, LibraryError, LibraryOp, ParameterCheck};
use crate::nest::Operand;
use crate::print::Target;
use crate::print::library::{LaunchArg, OperandPart, Routine, RoutineLaunch};
use crate::scalar::Scalar;
use std::sync::Arc;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelArg {
    /// The operand of this number.
    Array(usize),
    /// A number, of the parameter's dtype.
    Scalar(Scalar),
    /// Bytes of memory of each group.
    Local(u64),
}

/// A launch of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelCall {
    /// The kernel's name.
    pub kernel: String,
    /// Groups in each dimension; nothing runs if one is 0.
    pub grid: [u64; 3],
    /// Work items of a group in each dimension.
    pub group: [u32; 3],
    /// Its arguments, in the order of its parameters.
    pub args: Vec<KernelArg>,
}

/// Launches of kernels of a source, one after another, over the same operands. Without calls the source is
/// only compiled.
///
/// A kernel may read and write any element of an operand that it is given.
#[derive(Clone, Debug)]
pub struct CustomLaunch {
    /// The source.
    pub source: Arc<KernelSource>,
    /// The arrays: inputs first, then arrays that are written. Any strides.
    pub operands: Vec<Operand>,
    /// The launches.
    pub calls: Vec<KernelCall>,
    /// Whether the operands that are written hold values before, which kernels may read.
    pub initialized: bool,
}

/// A number as one of a parameter's dtype: an integer that holds it, or a float of another size.
pub fn fitted(number: Scalar, to: DType) -> Option<Scalar> {
    let from = number.dtype();
    if from.is_float() || to.is_float() {
        return (to.is_float()).then(|| number.cast(to));
    }
    let cast = number.cast(to);
    (cast.to_i128() == number.to_i128()).then_some(cast)
}

/// Bytes from an operand's first element to the end of its last.
fn bytes(operand: &Operand) -> u64 {
    if operand.shape.contains(&0) {
        return 0;
    }
    let reach = |(extent, stride): (&u64, &i64)| (extent - 1).saturating_mul(stride.unsigned_abs());
    let last = operand.shape.iter().zip(&operand.strides).map(reach).fold(0u64, u64::saturating_add);
    last.saturating_add(1).saturating_mul(operand.dtype.size() as u64)
}

/// An argument as errors name it.
pub(super) fn text_of(operands: &[Operand], arg: &KernelArg) -> String {
    match arg {
        KernelArg::Array(at) => match operands.get(*at) {
            Some(operand) if operand.written => format!("an array of {}", operand.dtype),
            Some(operand) => format!("an array of {} that is only read", operand.dtype),
            None => format!("operand {at} of {}", operands.len()),
        },
        KernelArg::Scalar(scalar) => format!("a number of {}", scalar.dtype()),
        KernelArg::Local(bytes) => format!("{bytes} bytes of local memory"),
    }
}

impl CustomLaunch {
    fn params(&self, call: &KernelCall) -> &[Param] {
        self.source.signature(&call.kernel).map_or(&[], |signature| &signature.params)
    }

    /// Checks an argument against its parameter.
    fn check_arg(
        &self,
        check: &ParameterCheck<'_>,
        param: &Param,
        arg: &KernelArg,
    ) -> Result<(), LibraryError> {
        let expected = || (format!("{} for `{}`", param.kind, param.name), text_of(&self.operands, arg));
        let fits = match (param.kind, arg) {
            (ParamKind::Array { dtype, written }, KernelArg::Array(at)) => {
                self.operands.get(*at).is_some_and(|operand| {
                    dtype.is_none_or(|dtype| dtype == operand.dtype) && (operand.written || !written)
                })
            }
            (ParamKind::Scalar(dtype), KernelArg::Scalar(scalar)) => scalar.dtype() == dtype,
            (ParamKind::Local, KernelArg::Local(_)) => true,
            _ => false,
        };
        check.require(fits, "args", expected)
    }

    fn launch(&self, call: &KernelCall) -> RoutineLaunch {
        let arg = |(param, arg): (&Param, &KernelArg)| match *arg {
            KernelArg::Array(at) => {
                let bytes = self.operands.get(at).map_or(0, bytes);
                let written = matches!(param.kind, ParamKind::Array { written: true, .. });
                LaunchArg::Memory(OperandPart { arg: at, offset: 0, bytes, written })
            }
            KernelArg::Scalar(scalar) => LaunchArg::Scalar(scalar),
            KernelArg::Local(bytes) => LaunchArg::Local(bytes),
        };
        let args = self.params(call).iter().zip(&call.args).map(arg).collect();
        RoutineLaunch { name: call.kernel.clone(), grid: call.grid, group: call.group, args, waits: false }
    }
}

impl LibraryOp for CustomLaunch {
    fn name(&self) -> String {
        let of_call = self.calls.first().map(|call| call.kernel.clone());
        let first = || self.source.signatures().next().map(|signature| signature.name.clone());
        of_call.or_else(first).unwrap_or_default()
    }

    fn dtype(&self) -> DType {
        self.operands.first().map_or(DType::F32, |operand| operand.dtype)
    }

    fn extents(&self) -> Vec<u64> {
        self.calls.first().map_or(vec![], |call| call.grid.to_vec())
    }

    fn operands(&self) -> Vec<Operand> {
        self.operands.clone()
    }

    fn reads_outputs(&self) -> bool {
        self.initialized
    }

    fn starts_anywhere(&self) -> bool {
        true
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        for operand in &self.operands {
            check.size("operands", operand.dtype, &operand.shape)?;
            let ranks = [operand.shape.len(), operand.strides.len()];
            check.require(ranks[0] == ranks[1], "operands", || ("a stride per extent".into(), ranks[1]))?;
        }
        let sorted = self.operands.iter().is_sorted_by_key(|operand| operand.written);
        check.require(sorted, "operands", || ("inputs first".into(), "another order"))?;
        for call in &self.calls {
            let Some(signature) = self.source.signature(&call.kernel) else {
                let names: Vec<&str> = self.source.signatures().map(|s| s.name.as_str()).collect();
                let expected = format!("one of the kernels {}", names.join(", "));
                return check.require(false, "kernel", || (expected, &call.kernel));
            };
            let (expected, found) = (signature.params.len(), call.args.len());
            check.require(expected == found, "args", || (format!("{expected} arguments"), found))?;
            for (param, arg) in signature.params.iter().zip(&call.args) {
                self.check_arg(&check, param, arg)?;
            }
            let texts = || ("at least one work item".into(), format!("{:?}", call.group));
            check.require(!call.group.contains(&0), "group", texts)?;
        }
        Ok(())
    }

    fn flops(&self) -> f64 {
        0.0
    }

    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        self.source.is_for(target.dialect).then_some(0)
    }

    fn routine(&self, target: &Target) -> Option<Routine> {
        let text = self.source.printed(target)?;
        let launches = self.calls.iter().map(|call| self.launch(call)).collect();
        Some(Routine { text, units: vec![], scratch: 0, launches })
    }

    fn definition(&self) -> Option<Result<Definition, DefinitionError>> {
        self.has_definition().then(|| interpret::definition(self))
    }

    fn has_definition(&self) -> bool {
        self.source.language() == Language::Dialect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_convert_where_they_stay_the_same() {
        let of = |dtype, value| Scalar::from_i128(dtype, value);
        assert_eq!(fitted(of(DType::I32, 7), DType::U64), Some(of(DType::U64, 7)));
        assert_eq!(fitted(of(DType::I32, -7), DType::U64), None);
        assert_eq!(fitted(of(DType::I64, 300), DType::U8), None);
        let half = Scalar::from_f64(DType::F64, 0.5);
        assert_eq!(fitted(half, DType::F32), Some(Scalar::from_f64(DType::F32, 0.5)));
        assert_eq!(fitted(half, DType::I32), None);
        assert_eq!(fitted(of(DType::I32, 3), DType::F32), Some(Scalar::from_f64(DType::F32, 3.0)));
    }
}
