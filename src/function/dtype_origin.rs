//! Finds where an expression was promoted to a dtype that its author did not mean.

use crate::graph::source_location::Place;
use crate::graph::{Kind, TensorType, Variable};
use crate::ops::DimShuffle;
use crate::ops::elemwise::Cast;

/// A text that names the node that introduced the dtype of `value`, and its operands: the last node up the
/// graph none of whose arguments is computed in that dtype. Empty if `value` is not computed.
pub(super) fn dtype_origin(value: &Variable) -> String {
    let dtype = value.dtype();
    let mut node = value.clone();
    loop {
        let Some((apply, _)) = node.owner() else { return String::new() };
        let arguments: Vec<&Variable> = apply.inputs.iter().map(|v| as_written(v, apply.place)).collect();
        let wide = arguments.iter().find(|v| v.dtype() == dtype && v.owner().is_some());
        match wide.map(|v| (*v).clone()) {
            Some(next) => node = next,
            None => {
                let types: Vec<String> = arguments.iter().map(|v| described(v)).collect();
                let (op, of) = (apply.op.label(), types.join(" and "));
                return format!("; {dtype} came in at {op} of {of} (written at {})", apply.place);
            }
        }
    }
}

/// The operand before the op at `place` converted and reshaped it.
fn as_written(argument: &Variable, place: Place) -> &Variable {
    let mut v = argument;
    while let Kind::Output { apply, .. } = v.kind() {
        let op = apply.op.as_ref();
        if apply.place != place || (op.downcast::<Cast>().is_none() && op.downcast::<DimShuffle>().is_none())
        {
            break;
        }
        v = &apply.inputs[0];
    }
    v
}

fn described(v: &Variable) -> String {
    let ty: &TensorType = v.ty();
    v.name().map_or_else(|| ty.to_string(), |name| format!("{name} {ty}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{constant, scalar, vector};

    #[test]
    fn the_wider_argument_is_named_with_its_line() {
        let (x, n) = (vector::<f32>("x"), scalar::<i64>("n"));
        let line = line!() + 1;
        let mean = x.sum(..) / &n;
        let text = dtype_origin(&(&x - (mean.exp() * 2.0)).tanh());
        assert!(
            text.starts_with("; float64 came in at true_divide of float32() and n int64() (written at "),
            "{text}"
        );
        assert!(text.contains(&format!("dtype_origin.rs:{line}:")), "{text}");
        let text = dtype_origin(&(&x * constant(vec![1.0, 2.0])).exp());
        assert!(text.contains("multiply of x float32(?,) and float64(2,)"), "{text}");
        assert_eq!(dtype_origin(&x), "");
    }

    #[test]
    fn a_cast_is_named_where_it_alone_widens() {
        let x = vector::<f32>("x");
        let text = dtype_origin(&x.cast(workalike_kernels::DType::F64).exp());
        assert!(text.contains("came in at cast_float64 of x float32(?,)"), "{text}");
    }
}
