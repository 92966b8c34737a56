//! Compositions and derivatives of rows of the table: as Variables, and as values for the reference.

use super::{cast, elemwise};
use crate::error::{Error, Result};
use crate::graph::{Operand, Variable};
use crate::value::{Value, shrunk};
use workalike_kernels::ops::{Build, Ex, OpBody, ScalarOp};
use workalike_kernels::{DType, Scalar};

/// Builds derivatives (and compositions) as Variables.
pub(super) struct Symbolic {
    pub(super) variables: Vec<Variable>,
}

impl Symbolic {
    pub(super) fn push(&mut self, variable: Variable) -> Ex {
        self.variables.push(variable);
        self.variables.len() - 1
    }
}

impl Build for Symbolic {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let operands = args.iter().map(|&a| Operand::Variable(self.variables[a].clone())).collect();
        let result = elemwise(op, operands).unwrap_or_else(Variable::poison);
        self.push(result)
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let scalar = Scalar::from_f64(self.variables[like].dtype(), value);
        self.push(Variable::constant(Value::scalar(scalar)))
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        let result = cast(&self.variables[value], dtype).unwrap_or_else(Variable::poison);
        self.push(result)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.variables[value].dtype()
    }
}

/// Computes on whole host arrays of register dtypes and one shape: the reference.
pub(super) struct Eager {
    pub(super) values: Vec<Value>,
    pub(super) error: Option<Error>,
}

impl Eager {
    pub(super) fn push(&mut self, value: Result<Value>) -> Ex {
        let value = value.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            self.values[0].clone()
        });
        self.values.push(value);
        self.values.len() - 1
    }
}

impl Build for Eager {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let given: Vec<DType> = args.iter().map(|&a| self.values[a].dtype()).collect();
        let Some(signature) = op.signature(&given) else {
            return self.push(Err(Error::Internal(format!("{op:?} does not accept {given:?}"))));
        };
        let args: Vec<Ex> =
            args.iter().zip(&signature.args).map(|(&a, &d)| self.cast(a, d.register())).collect();
        match (&op.row().body, op.tiles(&signature)) {
            (OpBody::Composition(compose), _) => compose(self, &args),
            (_, Some(tiles)) => {
                let inputs: Vec<Value> = args.iter().map(|&a| self.values[a].clone()).collect();
                let result = run_tile(tiles.plain, &inputs, signature.result.register());
                self.push(result)
            }
            (_, None) => self.push(Err(Error::Internal(format!("{op:?} has no loop for {given:?}")))),
        }
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let like = &self.values[like];
        let scalar = Value::scalar(Scalar::from_f64(like.dtype(), value));
        let whole = scalar.broadcast_to(like.shape()).and_then(|v| v.contiguous());
        self.push(whole)
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        if self.values[value].dtype() == dtype {
            return value;
        }
        let cast = self.values[value].cast(dtype);
        self.push(cast)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.values[value].dtype()
    }
}

/// One primitive over contiguous arrays of one shape and of register dtypes.
fn run_tile(tile: workalike_kernels::ops::TileFn, inputs: &[Value], result: DType) -> Result<Value> {
    const LANES: usize = 512;
    let shape = inputs.first().map_or(&[][..], Value::shape);
    let is_whole = |v: &Value| v.contiguous_bytes().is_some_and(|bytes| bytes.len() == v.byte_len());
    if !inputs.iter().all(is_whole) {
        return Err(shrunk());
    }
    let mut whole = true;
    let value = Value::filled(result, shape, |out| {
        let mut args = vec![vec![0u64; LANES]; inputs.len()];
        let mut lanes = vec![0u64; LANES];
        let len = out.len() / result.size();
        for start in (0..len).step_by(LANES) {
            let n = LANES.min(len - start);
            for (arg, value) in args.iter_mut().zip(inputs) {
                let size = value.dtype().size();
                let bytes = value.contiguous_bytes().unwrap_or(&[]);
                let part = bytes.get(start * size..(start + n) * size).unwrap_or(&[]);
                whole &= part.len() == n * size;
                bytemuck::cast_slice_mut::<u64, u8>(arg)[..part.len()].copy_from_slice(part);
            }
            let views: Vec<&[u8]> = args.iter().map(|arg| bytemuck::cast_slice(arg)).collect();
            tile(&views, bytemuck::cast_slice_mut(&mut lanes), n);
            let size = result.size();
            let done = &bytemuck::cast_slice::<u64, u8>(&lanes)[..n * size];
            out[start * size..(start + n) * size].copy_from_slice(done);
        }
    })?;
    // Memory that changes its length between two reads is an error of its owner.
    if whole { Ok(value) } else { Err(shrunk()) }
}
