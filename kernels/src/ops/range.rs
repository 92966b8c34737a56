//! The range of an op's results: by the rule of its row, or from those of its parts.

use super::{Build, Ex, OpBody, ScalarOp};
use crate::dtype::DType;
use crate::interval::Interval;
use crate::scalar::Scalar;

impl ScalarOp {
    /// A range of its results, in the result's dtype, for arguments of the dtypes in which it takes them;
    /// all values of the dtype if nothing is known.
    pub fn interval(self, args: &[Interval]) -> Interval {
        let dtypes: Vec<DType> = args.iter().map(|arg| arg.dtype).collect();
        // Nothing computes what has no signature.
        let Some(signature) = self.signature(&dtypes) else { return Interval::of_dtype(DType::F64) };
        let args: Vec<Interval> = args.iter().zip(&signature.args).map(|(arg, &to)| arg.cast(to)).collect();
        let result = signature.result;
        match (&self.row().interval, &self.row().body) {
            (Some(rule), _) => rule(&args, result),
            (None, OpBody::Composition(compose)) => {
                let mut values = Values { values: args.clone() };
                let of: Vec<Ex> = (0..args.len()).collect();
                let last = compose(&mut values, &of);
                values.values[last].cast(result)
            }
            (None, OpBody::Primitive { .. }) => Interval::of_dtype(result),
        }
    }
}

/// Builds intervals in place of values.
struct Values {
    values: Vec<Interval>,
}

impl Values {
    fn push(&mut self, value: Interval) -> Ex {
        self.values.push(value);
        self.values.len() - 1
    }
}

impl Build for Values {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let args: Vec<Interval> = args.iter().map(|&arg| self.values[arg]).collect();
        self.push(op.interval(&args))
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let dtype = self.values[like].dtype;
        self.push(Interval::of(Scalar::from_f64(dtype, value)))
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        let cast = self.values[value].cast(dtype);
        self.push(cast)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.values[value].dtype
    }
}
